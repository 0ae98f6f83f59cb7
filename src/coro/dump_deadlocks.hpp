// src/coro/dump_deadlocks.hpp: tasks that wait for each other in a cycle, by locks, futures and scopes.
#pragma once

#include <braid/coro/detail/awaiter_base.hpp>
#include <braid/coro/detail/task_walk.hpp>

#include <span>
#include <string>
#include <vector>

namespace braid::detail {

/// A cycle of waits, as a sentence.
struct seen_deadlock {
  std::string text;
  std::vector<needed_task> waits = {};  ///< of the cycle; equal in two looks: each lock was held throughout
  bool is_across_homes = false;         ///< homes are looked at one after the other: it may have been seen wrongly

  auto operator==(const seen_deadlock&) const -> bool = default;
};

/// Returns the cycles that no task of these homes can end: each wait of a cycle is for a lock of the next task, its
/// value or its end. Tasks that were not seen, because they run or are away, may end any wait.
/// Errors: std::bad_alloc. Cost: linear in tasks and scopes.
[[nodiscard]] auto find_deadlocks(std::span<const seen_home* const> homes) -> std::vector<seen_deadlock>;

}  // namespace braid::detail
