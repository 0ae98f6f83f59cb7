// braid/task/detail/threadless.hpp: the base class of executors without threads. It counts the threads that run jobs of
// the executor.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/event_count.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/job.hpp>

#include <cstdint>
#include <exception>
#include <stop_token>
#include <utility>

namespace braid::detail {

/// Returns the executor without threads whose job the calling thread runs, or null if there is no such job. If such
/// jobs are nested, returns the executor of the innermost job.
[[nodiscard]] BRAID_API auto threadless_here() noexcept -> executor*;

/// Returns whether the calling thread runs a job of an executor without threads. Forks of such a job are called at
/// once, unless the thread is a worker.
[[nodiscard]] inline auto runs_inline() noexcept -> bool { return threadless_here() != nullptr; }

/// An executor without threads of its own. It runs its jobs on threads that call its functions.
class BRAID_API threadless : public executor {
 public:
  [[nodiscard]] auto is_current() const noexcept -> bool override;
  [[nodiscard]] auto stop_token() const noexcept -> std::stop_token override { return stop_.get_token(); }
  void report(std::exception_ptr error) noexcept override;

 protected:
  class stay;

  /// Constructs the executor. Errors: std::bad_alloc, when the executor gets its id.
  explicit threadless(error_callback on_error) : on_error_(std::move(on_error)) { static_cast<void>(id()); }

  void run(job& work) noexcept;
  void request_stop() { stop_.request_stop(); }

  /// Counts a thread that uses the executor. Returns false if `close_entry` was called before. The thread is counted
  /// even if this returns false.
  auto enter() noexcept -> bool { return (inside_.fetch_add(1, relaxed) & closed) == 0; }
  void leave() noexcept;

  void close_entry() noexcept { inside_.fetch_or(closed, relaxed); }
  [[nodiscard]] auto is_entry_closed() const noexcept -> bool { return (inside_.load(relaxed) & closed) != 0; }

  /// Blocks until no thread uses the executor. Returns false if `deadline` passes first.
  auto await_leaves(time_point deadline) noexcept -> bool;

 private:
  friend auto threadless_here() noexcept -> executor*;
  static constexpr std::uint32_t closed = std::uint32_t{1} << 31U;

  const error_callback on_error_;
  std::stop_source stop_;
  atomic<std::uint32_t> inside_{0};  // the number of threads inside, and the bit `closed`, which stays set
  event_count left_;
};

}  // namespace braid::detail
