// braid/task/blocking_pool.hpp: a blocking pool: threads for jobs that block in files, name look-ups or foreign locks.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/base/detail/intrusive_queue.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/error_callback.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/job.hpp>
#include <braid/task/pool_options.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <list>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

namespace braid {

namespace detail {
struct metrics_reader;
}

/// How many threads a blocking pool may have, and how long they stay.
struct blocking_pool_options {
  std::size_t max_threads = 64;   ///< at once; jobs beyond that wait for one of them
  duration linger = 10s;          ///< how long a thread without a job stays
  std::string name = "blocking";  ///< threads are called name-0, name-1, … in the order of their start
  error_callback on_error = {};   ///< receives what a posted job throws; without it the message goes to stderr
};

/// Blocking pool: an executor whose jobs may block for as long as they like. Each job gets an idle thread or a new one,
/// so that it holds up neither a worker nor, up to `max_threads`, another such job. Jobs begin in the order of posts.
/// `spawn`, `then` and `offload` take it as they take a pool. Where all threads are in use, jobs that wait for others
/// of the pool could wait for ever: a wait for a future of the pool on one of its threads is refused with
/// errc::would_deadlock.
/// Threads: any, but `shutdown` and the destructor not from its own. Cost: a lock a job; a new thread some 20 µs.
class BRAID_API blocking_pool final : public executor {
 public:
  /// Starts no thread yet. Requires that `max_threads` is not 0.
  explicit blocking_pool(blocking_pool_options options = {});
  /// Drains.
  ~blocking_pool() override;

  /// False also when there is no thread and the system gives none.
  [[nodiscard]] auto try_post(job& work) noexcept -> bool override;
  [[nodiscard]] auto is_current() const noexcept -> bool override;
  [[nodiscard]] auto stop_token() const noexcept -> std::stop_token override { return stop_.get_token(); }
  void ran_late() noexcept override { late_.fetch_add(1, relaxed); }
  void report(std::exception_ptr error) noexcept override;

  /// How many threads there are at the moment.
  [[nodiscard]] auto threads() const -> std::size_t;

  /// How many functions have ended after their waiter had given up.
  [[nodiscard]] auto late() const noexcept -> std::uint64_t { return late_.load(relaxed); }

  /// Refuses new jobs, deals with pending ones as `mode` says, and joins the threads. May be called again, and from
  /// several threads: all return after the threads have ended.
  /// Errors: would_deadlock on a thread of this pool.
  [[nodiscard]] auto shutdown(shutdown_mode mode) -> result<void>;

  /// As a shutdown that drains, for so long at most. When the time is over pending jobs are dropped, a stop is
  /// requested, and the call returns while the last jobs still run; the destructor, or a `shutdown`, waits for them.
  /// Errors: deadline_exceeded when the time was over first; would_deadlock as `shutdown`.
  [[nodiscard]] auto shutdown_for(duration limit) -> result<void>;

 private:
  friend struct detail::metrics_reader;
  using thread_list = std::list<std::thread>;

  void start_thread();
  void work(thread_list::iterator self, std::size_t number) noexcept;
  [[nodiscard]] auto next(std::unique_lock<std::mutex>& lock) -> job*;
  void drop_all();

  const blocking_pool_options options_;
  std::stop_source stop_;
  atomic<std::uint64_t> late_{0};  // written by its threads
  std::mutex join_mutex_;          // one thread joins them all
  mutable std::mutex mutex_;
  // Under mutex_:
  std::condition_variable arrived_;
  detail::intrusive_queue<job> queue_;
  std::size_t queued_ = 0;
  std::size_t idle_ = 0;     // threads that wait for a job, those among them that were notified included
  std::size_t started_ = 0;  // ever
  std::uint64_t begun_ = 0;  // jobs
  std::size_t at_work_ = 0;  // threads that have not come to their end
  std::condition_variable none_at_work_;
  bool closed_ = false;
  thread_list running_;
  thread_list ended_;  // threads that ended because there were no jobs, and are still to be joined
};

}  // namespace braid
