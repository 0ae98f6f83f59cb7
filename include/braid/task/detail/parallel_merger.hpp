// braid/task/detail/parallel_merger.hpp: parallel merge by merge path: finds where each part of the output begins in
// both inputs.
#pragma once

#include <braid/task/detail/parallel_blocks.hpp>
#include <braid/task/detail/stopped_by.hpp>
#include <braid/task/parallel_options.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>

namespace braid::detail {

/// Returns how many of the first `count` elements of the merged range come from the first input. `is_less(b, a)`
/// returns whether the element at index `b` of the second input is less than the element at index `a` of the first
/// input. If elements are equal, those of the first input come first.
template <typename IsLess>
auto merge_split(std::size_t count, std::size_t first_size, std::size_t second_size, const IsLess& is_less)
    -> std::size_t {
  std::size_t low = count > second_size ? count - second_size : 0;
  std::size_t high = std::min(count, first_size);
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (is_less(count - middle - 1, middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/// Merges two sorted ranges into `out`, and returns the end of the output.
template <typename Stop, typename First, typename Second, typename Out, typename Compare, typename Proj1,
          typename Proj2>
auto merge_all(const Stop& stop, const First& first, std::size_t first_size, const Second& second,
               std::size_t second_size, Out out, Compare& compare, Proj1& proj1, Proj2& proj2, parallel_options options)
    -> unless_stopped<Stop, Out> {
  constexpr std::size_t usual_grain = 4096;  // so that the two searches for each part cost little
  const std::size_t count = first_size + second_size;
  const auto split = [&](std::size_t merged_count) {
    return merge_split(merged_count, first_size, second_size, [&](std::size_t b, std::size_t a) {
      return std::invoke(compare, std::invoke(proj2, at(second, b)), std::invoke(proj1, at(first, a)));
    });
  };
  const auto chunk = [&](std::size_t from, std::size_t to) {
    const std::size_t begin = split(from);
    const std::size_t end = split(to);
    std::ranges::merge(after(first, begin), after(first, end), after(second, from - begin), after(second, to - end),
                       after(out, from), std::ref(compare), std::ref(proj1), std::ref(proj2));
  };
  const bool is_whole = pass(count, options.grain != 0 ? options.grain : usual_grain, stop, chunk);
  return unless_left_out(stop, is_whole, after(out, count));
}

}  // namespace braid::detail
