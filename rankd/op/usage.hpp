// rankd/op/usage.hpp: the rows and bytes that the nodes of one request have produced, compared with the budget of its
// plan.
#pragma once

#include <rankd/registry/budgets.hpp>

#include <braid/sync/atomic.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rankd {

/// Counts the rows and bytes of each node. A node is identified by its position in the order of the plan. A node
/// exceeds a bound if the sum over all nodes up to this node is above the bound. So the reported node does not depend
/// on timing, although nodes run in parallel. docs/design/budgets.md describes the protocol.
/// Threads: any, but only one thread at a time for each position. Cost: `claim` takes a few nanoseconds while no bound
/// is near.
class usage {
 public:
  enum class kind : std::uint8_t { rows, bytes };

  struct amounts {
    std::uint64_t rows = 0;
    std::uint64_t bytes = 0;
  };

  /// The first node that exceeded a bound.
  struct breach {
    std::uint32_t position = 0;
    kind what = kind::rows;
    std::uint64_t made = 0;  ///< by all nodes up to this one, as far as they have been counted
    std::uint64_t bound = 0;
  };

  /// Allocates counters for the nodes if the budget bounds rows or bytes.
  usage(const plan_budget& budget, std::size_t nodes);

  [[nodiscard]] auto is_bounded() const noexcept -> bool { return !nodes_.empty(); }
  [[nodiscard]] auto bounds_bytes() const noexcept -> bool { return bounds_[1] != none; }

  /// Marks a node that has a fallback. Its amounts are not added to those of other nodes before the end of the request,
  /// because the node may still be replaced. Must be called before any claim.
  void mark_replaceable(std::uint32_t position) { replaceable_[position] = true; }

  /// Marks a node that its fallback has replaced. Its amounts, past and future, do not count. Must be called on the
  /// thread that calls `first_breach`.
  void withdraw(std::uint32_t position) noexcept { withdrawn_[position] = true; }

  /// Reports the total amounts of the node at `position` so far. An amount that is smaller than a previously reported
  /// amount is ignored. Returns false if the nodes up to and including this one together exceed a bound. The node may
  /// then stop, because the request will fail.
  [[nodiscard]] auto claim(std::uint32_t position, amounts made) noexcept -> bool;

  /// Returns the first node that has exceeded a bound, among the first `count` nodes. Each of these nodes must have
  /// ended, or `withdraw` must have been called for it.
  [[nodiscard]] auto first_breach(std::size_t count) const noexcept -> std::optional<breach>;

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  static constexpr std::size_t kinds = 2;
  using counters = std::array<braid::atomic<std::uint64_t>, kinds>;

  [[nodiscard]] auto is_over(std::size_t kind, std::uint32_t position) const noexcept -> bool;

  std::array<std::uint64_t, kinds> bounds_;
  std::vector<counters> nodes_;    // for each position: what its node has reported; written by the worker of the node
  counters sums_{};                // the sums over all nodes; written by all workers
  std::vector<bool> replaceable_;  // for each position; set before the first claim
  std::vector<bool> withdrawn_;    // for each position; written and read in the home of the run
};

}  // namespace rankd
