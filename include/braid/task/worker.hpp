// braid/task/worker.hpp: one thread of a pool, as schedulers see it.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/sync/parker.hpp>
#include <braid/task/driver.hpp>

#include <cstddef>
#include <cstdint>

namespace braid {

class executor;

/// A thread that runs the jobs of one pool. Lives as long as its pool.
struct alignas(cache_line) worker {
  worker(executor& owner, std::size_t number) noexcept : pool(&owner), index(number) {}

  executor* pool;              ///< whose jobs it runs
  std::size_t index;           ///< from 0, within its pool
  std::uint64_t jobs_run = 0;  ///< written by the worker only
  bool moved_jobs = false;     ///< set by its scheduler when jobs have changed their seat; the pool clears it
  time_point watch_due;        ///< when it looks, as the one who watches, whether others are held up; unset: not yet
  parker sleep;                ///< its driver: what it blocks in when there is nothing to do
};

static_assert(driver<parker>, "a worker of a pool without loops sleeps in a parker");

/// The worker that the calling thread is, or null. Not inlined, because the answer must not be kept across a
/// suspension that may change the thread.
[[nodiscard]] BRAID_API auto current_worker() noexcept -> worker*;

namespace detail {

/// Makes the calling thread `self` for as long as it lives.
class BRAID_API worker_scope {
 public:
  explicit worker_scope(worker& self) noexcept;
  worker_scope(const worker_scope&) = delete;
  auto operator=(const worker_scope&) -> worker_scope& = delete;
  ~worker_scope();
};

}  // namespace detail
}  // namespace braid
