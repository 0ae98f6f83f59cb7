// braid/task.hpp: thread pools, futures, fork-join and parallel algorithms.
// It contains `pool`, `blocking_pool`, `bounded_executor`, `manual_executor`; `post`, `spawn`, `future`, `promise` and
// combinations of futures; `fork_join`, `task_group`, `parallel_for`, `parallel_reduce`, scans and sorts; work that is
// scheduled for a time, after a delay or periodically. Separate headers contain job slabs (braid/slab.hpp) and the
// interface for user-defined schedulers (braid/task/basic_pool.hpp).
#pragma once

#include <braid/task/error_callbacks.hpp>
#include <braid/task/every_options.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/executors.hpp>
#include <braid/task/fork_join.hpp>
#include <braid/task/future.hpp>
#include <braid/task/inline_executor.hpp>
#include <braid/task/manual_executor.hpp>
#include <braid/task/parallel.hpp>
#include <braid/task/parallel_algorithms.hpp>
#include <braid/task/parallel_options.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/quiesce.hpp>
#include <braid/task/scheduled.hpp>
#include <braid/task/spawn.hpp>
#include <braid/task/when_all.hpp>
