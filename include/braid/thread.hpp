// braid/thread.hpp: threads with settings, CPU affinity, and the topology of the machine.
// It contains `thread`, `thread_view`, `thread_info` and `this_thread`; names, affinity, scheduling and profiles;
// `topology`; cgroups; and the number of workers that a machine or container allows. The registry of threads, its
// queries, and the disturbance of affinity for tests are in braid/threads.hpp.
#pragma once

#include <braid/thread/cgroup.hpp>
#include <braid/thread/cpu_set.hpp>
#include <braid/thread/detail/allowed_cpus.hpp>
#include <braid/thread/profile.hpp>
#include <braid/thread/scheduling.hpp>
#include <braid/thread/this_thread.hpp>
#include <braid/thread/thread.hpp>
#include <braid/thread/topology.hpp>
