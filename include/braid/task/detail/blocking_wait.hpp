// braid/task/detail/blocking_wait.hpp: blocks a thread; other jobs of a blocked worker continue on a spare thread.
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
  /// Blocks until the wait is over, or until `deadline`. This function may also return earlier.
  virtual void sleep(std::optional<time_point> deadline) noexcept = 0;

 protected:
  ~blocking_wait() = default;
};

/// Blocks until `wait` is over. Returns false if `deadline` passes first. On a worker, the other work of its pool
/// continues: a spare thread takes over the worker's context. If there is no spare thread, the calling thread runs the
/// other work on its own stack. `awaited` is the job that is waited for, or null; if the job is in the worker's
/// context, the worker runs it itself. `executor` is the executor that will end the wait, if that executor is known. If
/// that executor has no threads, its jobs run on this thread. A thread that is not a worker also runs the jobs of
/// manual executors that it has created. Protocol: docs/design/future.md
BRAID_API auto block(blocking_wait& wait, job* awaited = nullptr, std::optional<time_point> deadline = std::nullopt,
                     executor_id executor = {}) noexcept -> bool;

/// Blocks as `block` does, until `ended` is set.
BRAID_API void block_until_set(end_signal& ended, executor_id executor = {}) noexcept;

/// Makes the calling thread run the jobs of this executor, which has no threads of its own, whenever the thread waits.
/// Any thread can call `end_run_while_waiting` to end this. Errors: std::bad_alloc.
BRAID_API void run_while_waiting(executor_id executor);
BRAID_API void end_run_while_waiting(executor_id executor) noexcept;

/// Returns whether the calling thread would run other jobs while it waits for work of `executor`: see `block`.
[[nodiscard]] BRAID_API auto runs_while_waiting(executor_id executor) noexcept -> bool;

/// Throws if the calling thread must not block. Errors: std::system_error with errc::would_deadlock and the message
/// `sentence` on a thread that also waits for I/O.
BRAID_API void expect_to_block(const char* sentence);

/// Blocks as `block` does, until `holds()` returns true. No thread signals the condition, so it is polled, with pauses
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
