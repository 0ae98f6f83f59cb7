// braid/task/detail/blocking_wait.hpp: how a thread blocks; a worker lets a spare thread run its other jobs.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/task/detail/end_signal.hpp>
#include <braid/task/detail/executor_id.hpp>
#include <braid/task/job.hpp>

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

namespace braid::detail {

/// A condition that a thread waits for.
class blocking_wait {
 public:
  [[nodiscard]] virtual auto is_over() const noexcept -> bool = 0;
  /// Blocks until it is over, or until `deadline`. May return earlier than either.
  virtual void sleep(std::optional<time_point> deadline) noexcept = 0;

 protected:
  ~blocking_wait() = default;
};

/// Blocks until `wait` is over, or until `deadline`, and then returns false. On a worker the other work of its pool
/// continues meanwhile: in its context, which it leaves, or on its stack if no other thread can take over the context.
/// `awaited` is the job that is waited for, if it is one; the worker runs it itself if it is in its context. `executor`
/// is the executor that will end the wait, if it is known. If that executor has no threads, its jobs run here; on a
/// thread that is not a worker, so do the jobs of manual executors that this thread has created. Protocol:
/// docs/design/future.md
BRAID_API auto block(blocking_wait& wait, job* awaited = nullptr, std::optional<time_point> deadline = std::nullopt,
                     executor_id executor = {}) noexcept -> bool;

/// Blocks as `block` does, until `ended` is set.
BRAID_API void block_until_set(end_signal& ended, executor_id executor = {}) noexcept;

/// Makes the calling thread run the jobs of this executor, which has no threads of its own, whenever it waits.
/// `end_run_while_waiting`, from any thread, ends this. Errors: std::bad_alloc.
BRAID_API void run_while_waiting(executor_id executor);
BRAID_API void end_run_while_waiting(executor_id executor) noexcept;

/// Returns whether the calling thread has jobs to run while it waits for the work of `executor`, or for something else:
/// see `block`.
[[nodiscard]] BRAID_API auto runs_while_waiting(executor_id executor) noexcept -> bool;

/// Errors: std::system_error with errc::would_deadlock and `sentence` on a thread that waits for I/O as well.
BRAID_API void expect_to_block(const char* sentence);

/// Blocks as `block` does, until `holds()` returns true: a condition that no thread signals. It is polled, with pauses
/// that grow to a millisecond.
template <typename Fn>
void block_until(Fn holds, executor_id executor = {}) noexcept {
  class polled final : public blocking_wait {
   public:
    explicit polled(Fn& fn) noexcept : fn_(fn) {}

    [[nodiscard]] auto is_over() const noexcept -> bool override { return fn_(); }
    void sleep(std::optional<time_point> /*deadline*/) noexcept override {
      std::this_thread::sleep_for(std::exchange(pause_, std::min(2 * pause_, duration(1ms))));
    }

   private:
    Fn& fn_;
    duration pause_ = 1us;
  } wait(holds);
  block(wait, nullptr, std::nullopt, executor);
}

}  // namespace braid::detail
