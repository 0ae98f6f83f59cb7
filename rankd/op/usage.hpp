// rankd/op/usage.hpp: what the nodes of one request have made so far, compared with the budget of its plan.
#pragma once

#include <rankd/registry/budgets.hpp>

#include <braid/sync/atomic.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rankd {

/// Amounts of rows and bytes, by the position of their nodes in the order of the plan. A bound is on the sums of the
/// nodes from the first one on: a node has broken it if the sum up to the node is above it. So the node that broke it
/// is the same whatever the timing, although nodes run side by side. Protocol: docs/design/budgets.md Threads: any;
/// each position one at a time. Cost: `claim` takes a few nanoseconds while no bound is near.
class usage {
 public:
  enum class kind : std::uint8_t { rows, bytes };

  struct amounts {
    std::uint64_t rows = 0;
    std::uint64_t bytes = 0;
  };

  /// The first node that went over a bound.
  struct breach {
    std::uint32_t position = 0;
    kind what = kind::rows;
    std::uint64_t made = 0;  ///< by all nodes up to this one, as far as it came
    std::uint64_t bound = 0;
  };

  /// Allocates memory for the nodes if the budget bounds rows or bytes.
  usage(const plan_budget& budget, std::size_t nodes);

  [[nodiscard]] auto is_bounded() const noexcept -> bool { return !nodes_.empty(); }
  [[nodiscard]] auto bounds_bytes() const noexcept -> bool { return bounds_[1] != none; }

  /// Marks a node that may fail without the request failing. So its amounts count against others only in the end, and
  /// theirs against it. Called before any claim.
  void mark_replaceable(std::uint32_t position) { replaceable_[position] = true; }

  /// Marks a node that a fallback has replaced: its amounts, so far and later, do not count. Called on the thread that
  /// calls `first_breach`.
  void withdraw(std::uint32_t position) noexcept { withdrawn_[position] = true; }

  /// States how much the node at `position` makes in all, as far as it knows; an amount below an earlier one is
  /// ignored. Returns false if the nodes up to it have broken a bound: then there will be no candidates, and the node
  /// may end.
  [[nodiscard]] auto claim(std::uint32_t position, amounts made) noexcept -> bool;

  /// Returns the first of the first `count` nodes that has broken a bound. Requires that all of them have ended or were
  /// withdrawn, and that the object knows this.
  [[nodiscard]] auto first_breach(std::size_t count) const noexcept -> std::optional<breach>;

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  static constexpr std::size_t kinds = 2;
  using counters = std::array<braid::atomic<std::uint64_t>, kinds>;

  [[nodiscard]] auto is_over(std::size_t what, std::uint32_t position) const noexcept -> bool;

  std::array<std::uint64_t, kinds> bounds_;
  std::vector<counters> nodes_;    // by position: what it reported; written by its worker
  counters sums_{};                // the sums of these; written by all of them
  std::vector<bool> replaceable_;  // by position: claims do not change it
  std::vector<bool> withdrawn_;    // by position: written and read in the home of the run
};

}  // namespace rankd
