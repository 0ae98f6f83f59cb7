// tests/support/scripted_home.hpp: a home without threads, in which a test plays the home's thread and all the others.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/intrusive_list.hpp>
#include <braid/base/detail/intrusive_queue.hpp>
#include <braid/base/timer_wheel.hpp>
#include <braid/coro/home.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/task.hpp>

#include <functional>

namespace braid::testing {

/// Threads: one, which is the home's except inside of `elsewhere`.
class scripted_home final : public home {
 public:
  manual_clock clock;
  std::function<void()> before_post;  ///< called by try_post, as if the home's thread did this at that moment
  bool closed = false;                ///< try_post refuses

  /// Does what another thread would do.
  template <typename Fn>
  void elsewhere(Fn&& fn) {
    current_ = false;
    fn();
    current_ = true;
  }

  /// Fires what is due and runs what is queued, until nothing is left.
  void run_all() {
    intrusive_list<timer> due;
    wheel_.advance(clock.now(), due);
    while (timer* item = due.pop_front()) item->fire();
    while (job* item = queue_.pop()) item->run();
  }

  /// Gives this thread a whole budget of awaits that complete at once, as each step from the queue of a home has.
  void refill_budget() {
    auto step = []() -> task<void> { co_await yield(); };
    root_.spawn(step());
    run_all();
  }

  [[nodiscard]] auto has_work() const noexcept -> bool { return !queue_.empty(); }
  [[nodiscard]] auto has_timers() const noexcept -> bool { return !wheel_.empty(); }

  [[nodiscard]] auto try_post(job& work) noexcept -> bool override {
    if (before_post) {
      current_ = true;
      before_post();
      current_ = false;
    }
    if (!closed) queue_.push(work);
    return !closed;
  }
  void post_resumption(job& step) noexcept override { queue_.push(step); }
  [[nodiscard]] auto is_current() const noexcept -> bool override { return current_; }
  [[nodiscard]] auto root() noexcept -> scope& override { return root_; }
  void arm(timer& item, time_point when) noexcept override { wheel_.arm(item, when); }
  void disarm(timer& item) noexcept override { wheel_.disarm(item); }
  [[nodiscard]] auto now() const noexcept -> time_point override { return clock.now(); }

 private:
  bool current_ = true;
  braid::detail::intrusive_queue<job> queue_;
  timer_wheel wheel_{clock.now()};
  scope root_{*this};
};

}  // namespace braid::testing
