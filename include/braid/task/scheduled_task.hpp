// braid/task/scheduled_task.hpp: the handle of work that runs at its time, once or again and again.
#pragma once

#include <braid/task/detail/scheduled_state.hpp>

#include <cstdint>
#include <utility>

namespace braid {

/// A piece of scheduled work, to be cancelled or asked. Copies mean the same work. Dropping it detaches: the work goes
/// on. Its members need a handle that has work, as `post_at` and its kind give it; one without is never active.
/// Threads: any, but one at a time for one handle.
class scheduled_task {
 public:
  /// No work.
  scheduled_task() noexcept = default;

  scheduled_task(const scheduled_task& other) noexcept : state_(other.state_) {
    if (state_ != nullptr) state_->keep();
  }
  scheduled_task(scheduled_task&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  auto operator=(scheduled_task other) noexcept -> scheduled_task& {
    std::swap(state_, other.state_);
    return *this;
  }
  ~scheduled_task() {
    if (state_ != nullptr) state_->let_go();
  }

  /// No run begins after this, and the captures are destroyed as soon as none uses them: the result says when. Unless
  /// it is `after_run`, the timers have done with the executor as well, which may then be destroyed.
  /// Threads: any, the function itself included.
  /// Blocks: while the timers hand the work to its executor on another thread, unless it is `after_run`.
  auto cancel() const noexcept -> cancellation {
    if (state_ == nullptr) return cancellation::too_late;
    const scheduled_task kept(*this);  // this handle may be among the captures
    return kept.state_->cancel();
  }

  /// Once it is not active, the captures have been destroyed.
  [[nodiscard]] auto status() const noexcept -> schedule_status {
    return state_ == nullptr ? schedule_status::cancelled : state_->status();
  }
  [[nodiscard]] auto is_active() const noexcept -> bool { return status() == schedule_status::active; }

  /// How many runs have begun, the one that runs at this moment included.
  [[nodiscard]] auto runs() const noexcept -> std::uint64_t { return state_ == nullptr ? 0 : state_->runs(); }

  /// For the scheduling functions: a handle that takes over one reference.
  static auto adopt(detail::scheduled_state& owned) noexcept -> scheduled_task { return scheduled_task(owned); }

 private:
  explicit scheduled_task(detail::scheduled_state& owned) noexcept : state_(&owned) {}

  detail::scheduled_state* state_ = nullptr;
};

}  // namespace braid
