// braid/task/detail/division.hpp: chooses pivots for sorting, and partitions elements without branches.
#pragma once

#include <concepts>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>

namespace braid::detail {

/// True for types whose copy costs less than a mispredicted branch. A partition that branches on each element
/// mispredicts about half of the branches.
template <typename T>
concept cheap_to_copy =
    std::copyable<T> && std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T> && sizeof(T) <= 16;

/// Moves the elements for which `belongs` is true to the front, and returns the end of these elements. It moves every
/// element, so it needs no branch.
template <typename Iterator, typename Belongs>
auto gather_front(Iterator first, Iterator last, Belongs belongs) -> Iterator {
  Iterator end = first;
  for (; first != last; ++first) {
    std::iter_value_t<Iterator> each = *first;
    const auto step = static_cast<std::iter_difference_t<Iterator>>(belongs(each));
    *first = *end;
    *end = each;
    end += step;
  }
  return end;
}

/// Returns an approximate median: the median of three medians, each of three elements. The elements are at
/// pseudo-random positions, because regular positions would be bad for periodic data. The positions depend only on the
/// number of elements, so each run chooses the same elements.
template <typename Iterator, typename Sorting>
auto middle_of_nine(Iterator first, Iterator last, Sorting& all) -> Iterator {
  const auto count = static_cast<std::uint64_t>(last - first);
  std::uint64_t state = count;
  const auto any = [&] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    // One of 2^32 positions.
    return first + static_cast<std::iter_difference_t<Iterator>>((state >> 32U) * count >> 32U);
  };
  const auto middle = [&all](Iterator a, Iterator b, Iterator c) {
    if (all.less(b, a)) std::swap(a, b);
    if (!all.less(c, b)) return b;
    return all.less(c, a) ? a : c;
  };
  const auto middle_of_three = [&] {
    const Iterator a = any();
    const Iterator b = any();
    return middle(a, b, any());
  };
  const Iterator low = middle_of_three();
  const Iterator high = middle_of_three();
  return middle(low, high, middle_of_three());
}

}  // namespace braid::detail
