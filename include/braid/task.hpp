// braid/task.hpp: thread pools, futures, fork-join and parallel algorithms.
// In it: `pool`, `blocking_pool`, `bounded_executor`, `manual_executor`; `post`, `spawn`, `future`, `promise` and what
// combines them; `fork_join`, `task_group`, `parallel_for`, `parallel_reduce`, scans and sorts; work at a time, after a
// time or periodically. Job slabs are a part of their own (braid/slab.hpp); schedulers of a
// program's own have a header of their own (braid/task/basic_pool.hpp).
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
