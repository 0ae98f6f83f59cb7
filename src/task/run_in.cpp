// src/task/run_in.cpp: the way into a pool and back.
#include <braid/task/pool.hpp>

#include <braid/task/detail/blocking_wait.hpp>
#include <braid/task/detail/outside_region.hpp>
#include <braid/task/worker.hpp>

#include <system_error>

namespace braid::detail {

void run_root(pool& pool, job& root, end_signal& ended) {
  ++calls_handed_over;
  if (!pool.try_post(root)) throw std::system_error(make_error_code(errc::closed), "the pool takes nothing more");
  // When `wait_idle` returns, the call has been run or dropped, here or by another thread.
  if (!pool.has_threads()) static_cast<void>(pool.wait_idle());
  // In an iteration of a loop the thread does not help: a job of its pool may be the first step of another task.
  if (thread_runs_a_loop)
    ended.wait();
  else
    block_until_set(ended, pool.id());
}

}  // namespace braid::detail
