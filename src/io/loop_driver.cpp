// src/io/loop_driver.cpp: lets a worker sleep in its event loop, and runs the loop's iterations between jobs.
#include <braid/io/detail/loop_driver.hpp>

#include <braid/base/config.hpp>
#include <braid/sync/detail/futex.hpp>
#include <braid/sync/detail/user_code.hpp>
#include <braid/task/detail/fork_exchange.hpp>
#include <braid/task/worker.hpp>

#include <climits>

namespace braid::detail {

void loop_driver::begin() {
  loop_->enter();
  if (loop_->status() == loop::state::stopped) note_end();
}

void loop_driver::end() noexcept {
  if (has_ended_) return;
  loop_->stop();
  worker* const self = detail::worker_of_thread;  // null without a pool
  const std::uint32_t position = self != nullptr ? self->forks.position() : 0;
  for (bool more = true; more;) {
    more = loop_->step(loop::blocking::forbidden);
    if (self != nullptr && self->forking.leaves_forks) detail::run_left_forks(*self, position);
    if (!more || is_ready() || !loop_->try_arm()) continue;
    const user_code_pause waiting(outermost_code_marker());
    loop_->wait(time_point::max());
  }
  note_end();
}

void loop_driver::note_end() noexcept {
  loop_->leave();
  has_ended_ = true;
  has_stopped_.store(1, release);  // edge loop_driver.stopped: publish, the waiting thread sees the end of the loop
  futex_wake(has_stopped_, INT_MAX);
}

void loop_driver::await_end() noexcept {
  // edge loop_driver.stopped: observe, all writes of the loop's thread are seen
  while (has_stopped_.load(acquire) == 0) futex_wait(has_stopped_, 0);
}

/// Returns true if the worker had a permit. Otherwise marks the worker as asleep, and returns false. `sleeping` says
/// whether the worker sleeps alone or in its loop.
auto loop_driver::take_or_announce(std::uint32_t sleeping) noexcept -> bool {
  std::uint32_t seen = none;
  if (permit_.compare_exchange_strong(seen, sleeping, relaxed, relaxed)) return false;
  permit_.exchange(none, acquire);  // edge loop_driver.permit: observe, what came before the unpark is seen
  return true;
}

void loop_driver::park() noexcept { static_cast<void>(park_until(time_point::max())); }

auto loop_driver::park_until(time_point deadline) noexcept -> bool {
  if (take_or_announce(alone)) return true;
  while (permit_.load(relaxed) == alone && futex_wait(permit_, alone, deadline) != futex_wait_status::timed_out) {}
  // edge loop_driver.permit: observe, all writes before the unpark are seen
  return permit_.exchange(none, acquire) == given;
}

void loop_driver::unpark() noexcept {
  // edge loop_driver.permit: publish, the woken worker sees all earlier writes
  const std::uint32_t before = permit_.exchange(given, release);
  if (before == in_loop) loop_->backend().wake();
  if (before == alone) futex_wake(permit_, 1);
}

/// Sleeps in the loop until there is a permit, work or the deadline. A wake-up without a permit and without work was
/// meant for an earlier sleep, so the worker continues to sleep.
auto loop_driver::sleep_until(time_point deadline) noexcept -> wake_reason {
  if (has_ended_) return driver::sleep_until(deadline);
  while (true) {
    if (take_or_announce(in_loop)) return wake_reason::permit;
    const bool blocks = !is_ready() && loop_->try_arm();
    if (blocks) loop_->wait(deadline);
    // edge loop_driver.permit: observe, all writes before the unpark are seen
    const bool has_permit = permit_.exchange(none, acquire) == given;
    if (has_permit) return wake_reason::permit;
    if (deadline != time_point::max() && steady_time().now() >= deadline) return wake_reason::deadline;
    if (!blocks || is_ready()) return wake_reason::work;
  }
}

auto loop_driver::is_due() noexcept -> bool { return !has_ended_ && (++looks_ >= max_polls || loop_->now() >= due_); }

void loop_driver::work() noexcept {
  if (has_ended_) return;
  if (!loop_->step(loop::blocking::forbidden)) return note_end();
  looks_ = 0;
  due_ = loop_->now() + between_iterations;
}

}  // namespace braid::detail
