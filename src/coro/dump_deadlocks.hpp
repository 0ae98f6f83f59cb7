// src/coro/dump_deadlocks.hpp: finds tasks that wait for each other in a cycle, through locks, futures and scopes.
#pragma once

#include <braid/coro/detail/awaiter_base.hpp>
#include <braid/coro/detail/task_walk.hpp>

#include <span>
#include <string>
#include <vector>

namespace braid::detail {

/// A cycle of waits, described by a sentence.
struct seen_deadlock {
  std::string text;
  std::vector<needed_task> waits = {};  ///< the waits of the cycle; equal in two looks: each lock was held throughout
  bool is_across_homes = false;         ///< homes are queried one after the other, so the cycle may not be real

  auto operator==(const seen_deadlock&) const -> bool = default;
};

/// Returns the cycles that no task of these home executors can end. In a cycle, each task waits for the next task: for
/// a lock that the next task holds, for its value or for its end. Running tasks and tasks on other executors were not
/// seen, and may end any wait.
/// Errors: std::bad_alloc. Cost: linear in tasks and scopes.
[[nodiscard]] auto find_deadlocks(std::span<const seen_home* const> homes) -> std::vector<seen_deadlock>;

}  // namespace braid::detail
