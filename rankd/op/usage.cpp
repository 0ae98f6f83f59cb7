// rankd/op/usage.cpp: accounts for the rows and bytes of a request, and finds the node that exceeded the budget.
#include <rankd/op/usage.hpp>

#include <braid/base/config.hpp>

#include <algorithm>

namespace rankd {

usage::usage(const plan_budget& budget, std::size_t nodes)
    : bounds_{budget.rows.value_or(none), budget.bytes.value_or(none)},
      nodes_(budget.rows || budget.bytes ? nodes : 0),
      replaceable_(nodes_.size(), false),
      withdrawn_(nodes_.size(), false) {}

/// Returns whether the nodes up to and including the one at `position` together exceed a bound. Other threads may
/// update their amounts at the same time, so the function may miss an excess. `first_breach` finds such an excess at
/// the end. Amounts that may still be withdrawn are not counted, so if the function refuses a node, the bound is
/// certainly exceeded.
auto usage::is_over(std::size_t kind, std::uint32_t position) const noexcept -> bool {
  std::uint64_t sum = nodes_[position][kind].load(braid::relaxed);
  if (replaceable_[position]) return sum > bounds_[kind];
  for (std::uint32_t at = 0; at < position; ++at)
    if (!replaceable_[at]) sum += nodes_[at][kind].load(braid::relaxed);
  return sum > bounds_[kind];
}

auto usage::claim(std::uint32_t position, amounts made) noexcept -> bool {
  BRAID_ASSERT(position < nodes_.size(), "the position of a node must be less than the number of nodes");
  const std::array<std::uint64_t, kinds> now{made.rows, made.bytes};
  bool fits = true;
  for (std::size_t what = 0; what < kinds; ++what) {
    if (bounds_[what] == none) continue;
    const std::uint64_t before = nodes_[position][what].load(braid::relaxed);
    const std::uint64_t more = std::max(now[what], before) - before;
    nodes_[position][what].store(before + more, braid::relaxed);
    // The nodes up to this position can exceed the bound only if all nodes together exceed it. The sum of all nodes is
    // cheap to read, so it is tested first.
    const std::uint64_t all = sums_[what].fetch_add(more, braid::relaxed) + more;
    if (all > bounds_[what] && is_over(what, position)) fits = false;
  }
  return fits;
}

auto usage::first_breach(std::size_t count) const noexcept -> std::optional<breach> {
  std::array<std::uint64_t, kinds> sums{};
  for (std::uint32_t at = 0; at < std::min(count, nodes_.size()); ++at) {
    if (withdrawn_[at]) continue;
    for (std::size_t what = 0; what < kinds; ++what) {
      sums[what] += nodes_[at][what].load(braid::relaxed);
      if (sums[what] > bounds_[what])
        return breach{.position = at, .what = static_cast<kind>(what), .made = sums[what], .bound = bounds_[what]};
    }
  }
  return std::nullopt;
}

}  // namespace rankd
