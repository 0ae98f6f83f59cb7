// braid/task/pool.hpp: a pool of worker threads that run posted jobs, with the scheduler as a parameter.
#pragma once

#include <braid/base/assert.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/event_count.hpp>
#include <braid/task/detail/idle_set.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/shared_queue.hpp>
#include <braid/task/worker.hpp>
#include <braid/thread/name.hpp>
#include <braid/thread/worker_count.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace braid {

/// What a scheduler supplies to `basic_pool`: where work from elsewhere goes, where a worker looks when it has
/// nothing, and the second look before it sleeps. Everything else is the same for all schedulers. A `place` or `close`
/// and a `may_park` happen one after the other: either `may_park` knows of it, or whoever called `place` or `close`
/// sees everything that the worker did before `may_park` (docs/design/pool.md).
template <typename P>
concept scheduling_policy = requires(P& policy, worker& self, job& work) {
  { P::local_first } -> std::convertible_to<bool>;
  { P::steals } -> std::convertible_to<bool>;
  { policy.place(work) } noexcept -> std::same_as<bool>;
  { policy.refill(self) } noexcept -> std::same_as<job*>;
  { policy.tick(self) } noexcept -> std::same_as<job*>;
  { policy.may_park(self) } noexcept -> std::same_as<bool>;
  { policy.empty() } noexcept -> std::same_as<bool>;
  { policy.close() } noexcept;
  { policy.take_all() } noexcept -> std::same_as<intrusive_queue<job>>;
};

struct pool_options {
  unsigned workers = 0;        ///< 0: default_worker_count()
  std::string name = "braid";  ///< threads are called name-0, name-1, …
  /// Receives what a posted job throws; without it, and when it throws itself, the message goes to stderr. Called on
  /// the worker.
  std::function<void(std::exception_ptr)> on_error = {};
};

/// What happens to jobs that were accepted and have not started.
enum class shutdown_mode : std::uint8_t {
  drain,         ///< they run first
  drop_pending,  ///< they are dropped: waiters fail with errc::dropped
};

/// Worker threads that run posted jobs. The destructor drains.
/// Threads: every member may be called from any thread; `wait_idle`, `shutdown` and the destructor not from a worker.
template <scheduling_policy Policy>
class basic_pool final : public executor {
 public:
  /// Starts the workers. Errors: std::system_error when a thread cannot be started.
  explicit basic_pool(pool_options options = {});
  ~basic_pool() override;

  [[nodiscard]] auto try_post(job& work) noexcept -> bool override;
  [[nodiscard]] auto is_current() const noexcept -> bool override;

  [[nodiscard]] auto size() const noexcept -> std::size_t { return workers_.size(); }

  /// Blocks until no job is queued or running. Every capture of the jobs that ran has been destroyed by then.
  /// Errors: would_deadlock on a worker of this pool.
  auto wait_idle() -> result<void>;

  /// Refuses new jobs, deals with pending ones as `mode` says, and joins the workers. May be called again, and from
  /// several threads: all return after the workers have stopped.
  /// Errors: would_deadlock on a worker of this pool, which stays usable.
  auto shutdown(shutdown_mode mode) -> result<void>;

 private:
  enum class phase : std::uint8_t { running, stopping };
  enum class wake_cause : std::uint8_t {
    own,     // it did not sleep, because there is work
    picked,  // a post or a shutdown picked it, and counted it as searching
    stop,    // the pool stops and nothing is left to do
  };

  void start_threads();
  void work(worker& self) noexcept;
  void run(worker& self, job& item) noexcept;
  auto next_job(worker& self) noexcept -> job*;
  void wake_one() noexcept;
  void wake(worker& picked) noexcept;
  void end_search(const job* found) noexcept;
  auto sleep(worker& self) noexcept -> wake_cause;
  void stop_and_join() noexcept;

  pool_options options_;
  Policy policy_;
  std::vector<std::unique_ptr<worker>> workers_;
  detail::idle_set idle_;
  event_count became_idle_;
  atomic<std::uint32_t> searching_{0};   // workers that are awake without a job; a post then need not wake one
  atomic<phase> phase_{phase::running};  // written by shutdown, once
  std::mutex join_mutex_;                // one thread joins, the others wait for it
  std::vector<std::thread> threads_;
};

/// The pool of programs that do not choose.
using pool = basic_pool<shared_queue>;

}  // namespace braid

#include <braid/task/detail/pool_impl.hpp>

namespace braid {

extern template class BRAID_API basic_pool<shared_queue>;

}  // namespace braid
