// braid/task.hpp: thread pools, futures, fork-join and parallel algorithms.
// In it: `pool`, `blocking_pool`, `strand` and `bounded_executor`; `post`, `spawn`, `future`, `promise` and what
// combines them; `fork_join`, `task_group`, `parallel_for`, `parallel_reduce`, scans and sorts; work at a time, after a
// time or periodically. Job slabs (braid/task/job_slab.hpp) and schedulers of a program's own
// (braid/task/basic_pool.hpp) have headers of their own.
#pragma once

#include <braid/task/batch.hpp>
#include <braid/task/blocking_pool.hpp>
#include <braid/task/bounded_executor.hpp>
#include <braid/task/error_callback.hpp>
#include <braid/task/every_options.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/fork_join.hpp>
#include <braid/task/future.hpp>
#include <braid/task/observed_executor.hpp>
#include <braid/task/parallel_algorithms.hpp>
#include <braid/task/parallel_for.hpp>
#include <braid/task/parallel_for_each.hpp>
#include <braid/task/parallel_options.hpp>
#include <braid/task/parallel_reduce.hpp>
#include <braid/task/parallel_scan.hpp>
#include <braid/task/parallel_sort.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/pool_options.hpp>
#include <braid/task/priority.hpp>
#include <braid/task/promise.hpp>
#include <braid/task/run_in.hpp>
#include <braid/task/scheduled.hpp>
#include <braid/task/scheduled_task.hpp>
#include <braid/task/shared_future.hpp>
#include <braid/task/spawn.hpp>
#include <braid/task/strand.hpp>
#include <braid/task/task_group.hpp>
#include <braid/task/timer_thread.hpp>
#include <braid/task/when_all.hpp>
#include <braid/task/when_any.hpp>
