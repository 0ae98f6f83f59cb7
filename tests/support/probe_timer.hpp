// tests/support/probe_timer.hpp: a timer that counts what becomes of it, and does what the test says when it fires.
#pragma once

#include <braid/base/timer_wheel.hpp>
#include <braid/sync/atomic.hpp>

#include <functional>
#include <utility>

namespace braid::testing {

struct probe_timer : droppable_timer {
  explicit probe_timer(std::function<void()> on_fire = {}, std::function<void()> on_drop = {})
      : droppable_timer(&fire, &drop), fire_action(std::move(on_fire)), drop_action(std::move(on_drop)) {}

  static void fire(timer& self) noexcept {
    auto& mine = static_cast<probe_timer&>(self);
    if (mine.fire_action) mine.fire_action();
    mine.fired.fetch_add(1, release);  // edge test.fired: publish
  }

  static void drop(timer& self) noexcept {
    auto& mine = static_cast<probe_timer&>(self);
    if (mine.drop_action) mine.drop_action();
    mine.dropped.fetch_add(1, release);  // edge test.fired: publish
  }

  [[nodiscard]] auto has_fired() const -> bool { return fired.load(acquire) != 0; }  // edge test.fired: observe

  std::function<void()> fire_action;
  std::function<void()> drop_action;
  atomic<int> fired{0};
  atomic<int> dropped{0};
};

}  // namespace braid::testing
