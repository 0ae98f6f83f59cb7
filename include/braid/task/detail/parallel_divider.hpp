// braid/task/detail/parallel_divider.hpp: partitions in place: first partitions each block, then swaps the elements
// that are on the wrong side.
#pragma once

#include <braid/task/detail/division.hpp>
#include <braid/task/detail/parallel_blocks.hpp>
#include <braid/task/detail/parallel_range.hpp>
#include <braid/task/detail/parallel_sorter.hpp>
#include <braid/task/detail/stopped_by.hpp>
#include <braid/task/parallel_options.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

namespace braid::detail {

/// The elements that are on the wrong side of a partition, stored as runs of neighbours. `nth` finds the n-th such
/// element.
class misplaced {
 public:
  void add(std::size_t from, std::size_t to) {
    if (from >= to) return;
    stretches_.push_back({.before = total_, .from = from, .size = to - from});
    total_ += to - from;
  }
  [[nodiscard]] auto total() const noexcept -> std::size_t { return total_; }

  struct found {
    std::size_t index;
    std::size_t neighbours;  // the number of elements from this element to the end of its run
  };
  /// Returns the index of element number `number`, and the number of elements from this element to the end of its run.
  /// Requires that `number` is less than `total()`.
  [[nodiscard]] auto nth(std::size_t number) const -> found {
    const auto next = std::ranges::upper_bound(stretches_, number, {}, &stretch::before);
    const stretch& in = *(next - 1);
    return {.index = in.from + (number - in.before), .neighbours = in.size - (number - in.before)};
  }

 private:
  struct stretch {
    std::size_t before;
    std::size_t from;
    std::size_t size;
  };

  std::vector<stretch> stretches_;
  std::size_t total_ = 0;
};

/// Moves the elements of one block for which `belongs(element)` is true to the front of the block.
template <typename Iterator, typename Belongs>
auto divide_block(Iterator first, Iterator last, Belongs belongs) -> Iterator {
  if constexpr (cheap_to_copy<std::iter_value_t<Iterator>> &&
                std::is_lvalue_reference_v<std::iter_reference_t<Iterator>>)
    return gather_front(first, last, std::move(belongs));
  else
    return std::ranges::partition(first, last, std::ref(belongs)).begin();
}

/// Moves the elements for which `belongs(element)` is true to the front, and returns the number of these elements. The
/// order of elements is not kept.
template <typename Stop, typename Iterator, typename Belongs>
auto divide_all(const Stop& stop, const Iterator& first, std::size_t count, const Belongs& belongs,
                parallel_options options) -> unless_stopped<Stop, std::size_t> {
  const blocks all(count, options);
  std::vector<std::size_t> ends(all.number());  // the end of the elements that belong to the front, in each block
  const auto divide = [&](std::size_t block, std::size_t last) {
    for (; block != last; ++block)
      ends[block] = static_cast<std::size_t>(
          divide_block(after(first, all.begin(block)), after(first, all.end(block)), belongs) - first);
  };
  if (!pass(all.number(), 1, stop, divide)) return unless_left_out(stop, false, count);
  std::size_t middle = 0;
  for (std::size_t block = 0; block != ends.size(); ++block) middle += ends[block] - all.begin(block);

  misplaced early;  // elements in the front that do not belong there
  misplaced late;
  for (std::size_t block = 0; block != ends.size(); ++block) {
    early.add(ends[block], std::min(all.end(block), middle));
    late.add(std::max(all.begin(block), middle), ends[block]);
  }
  const auto exchange = [&](std::size_t number, std::size_t last) {
    while (number != last) {
      const auto one = early.nth(number);
      const auto other = late.nth(number);
      const std::size_t size = std::min({one.neighbours, other.neighbours, last - number});
      std::ranges::swap_ranges(after(first, one.index), after(first, one.index + size), after(first, other.index),
                               after(first, other.index + size));
      number += size;
    }
  };
  const bool is_whole = pass(early.total(), all.size, stop, exchange);
  return unless_left_out(stop, is_whole, middle);
}

/// The pivot of a partition. If copies are cheap, the pivot is a copy of the element. The compiler can keep a copy in a
/// register, because stores to the elements cannot change it.
template <typename Iterator>
struct pivot {
  static constexpr bool is_copy = cheap_to_copy<std::iter_value_t<Iterator>>;

  explicit pivot(const Iterator& element) : held(hold(element)) {}
  auto operator*() -> decltype(auto) {
    if constexpr (is_copy)
      return (held);
    else
      return *held;
  }

  static auto hold(const Iterator& element) {
    if constexpr (is_copy)
      return std::iter_value_t<Iterator>(*element);
    else
      return element;
  }
  std::conditional_t<is_copy, std::iter_value_t<Iterator>, Iterator> held;
};

/// Quickselect: moves to the position `place` the element that a sort would put there. Afterwards, no element before
/// this position is greater than that element, and no element after the position is smaller. Returns false if a stop
/// was requested.
template <typename Stop, typename Iterator, typename Compare, typename Proj>
auto select_nth(const Stop& stop, Iterator first, Iterator last, const Iterator place, Compare& compare, Proj& proj,
                parallel_options options) -> bool {
  // docs/design/constants.md says what this value rests on.
  constexpr std::ptrdiff_t few = 1 << 14;  // up to this number, one worker does all
  sorting<Stop, Compare, Proj> all{stop, compare, proj, few};
  const auto less = [&](auto&& a, auto&& b) {
    return static_cast<bool>(std::invoke(compare, std::invoke(proj, a), std::invoke(proj, b)));
  };
  const auto divided_from = [&](const Iterator& from, const auto& belongs) -> std::optional<Iterator> {
    const unless_stopped<Stop, std::size_t> front =
        divide_all(stop, from, static_cast<std::size_t>(last - from), belongs, options);
    if constexpr (std::is_same_v<Stop, never_stopped>)
      return after(from, front);
    else
      return front ? std::optional(after(from, *front)) : std::nullopt;
  };
  if (place == last) return true;
  for (int left = 2 * static_cast<int>(std::bit_width(static_cast<std::size_t>(last - first)));
       left > 0 && last - first > few; --left) {
    std::ranges::iter_swap(first, middle_of_nine(first, last, all));
    const auto lesser =
        divided_from(first + 1, [&less, by = pivot(first)](auto&& each) mutable { return less(each, *by); });
    if (!lesser) return false;
    const Iterator middle = *lesser - 1;
    std::ranges::iter_swap(first, middle);
    if (place == middle) return true;
    if (place < middle) {
      last = middle;
    } else if (middle - first > (last - first) / 8) {
      first = middle + 1;
    } else {  // perhaps because many are equal
      const auto equal =
          divided_from(middle + 1, [&less, by = pivot(middle)](auto&& each) mutable { return !less(*by, each); });
      if (!equal) return false;
      if (place < *equal) return true;
      first = *equal;
    }
  }
  std::ranges::nth_element(first, place, last, std::ref(compare), std::ref(proj));
  return true;
}

}  // namespace braid::detail
