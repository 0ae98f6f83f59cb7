// tests/support/nested_steps.hpp: a task that begins inside of the first steps of many others.
#pragma once

#include <braid/coro/scope.hpp>
#include <braid/coro/task.hpp>

#include <utility>

namespace braid::testing {

/// As many as a thread nests before it queues the next one is somewhere between both.
inline constexpr int fewest_nested = 60;
inline constexpr int max_nested = 66;

/// Runs `innermost` in the last of so many tasks, each of which spawns the next one into `in` in its first step.
inline auto nested(scope& in, int steps, task<void> innermost) -> task<void> {
  if (steps > 1) {
    in.spawn(nested(in, steps - 1, std::move(innermost)));
    co_return;
  }
  co_await std::move(innermost);
}

}  // namespace braid::testing
