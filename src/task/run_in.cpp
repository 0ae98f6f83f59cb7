// src/task/run_in.cpp: runs a function in a pool, and waits for its end on the calling thread.
#include <braid/task/pool.hpp>

#include <braid/task/detail/blocking_wait.hpp>
#include <braid/task/detail/outside_region.hpp>
#include <braid/task/worker.hpp>

#include <system_error>

namespace braid::detail {

void run_root(executor& executor, job& root, end_signal& ended) {
  ++calls_handed_over;
  if (!executor.try_post(root)) throw std::system_error(make_error_code(errc::closed), "the pool accepts no more work");
  // A thread that runs an iteration of an event loop does not run other jobs while it waits, because such a job may be
  // the first step of an unrelated task.
  if (thread_runs_a_loop && !executor.needs_polls())
    ended.wait();
  else
    block_until_set(ended, executor.id());
}

}  // namespace braid::detail
