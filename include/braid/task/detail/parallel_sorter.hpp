// braid/task/detail/parallel_sorter.hpp: the recursive algorithms of parallel_sort and parallel_stable_sort.
#pragma once

#include <braid/base/error.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/division.hpp>
#include <braid/task/detail/fork.hpp>
#include <braid/task/detail/parallel_range.hpp>
#include <braid/task/detail/stopped_by.hpp>
#include <braid/task/parallel_options.hpp>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

namespace braid::detail {

/// The state that the parts of one sort share.
template <typename Stop, typename Compare, typename Proj>
struct sorting {
  const Stop& stop;
  Compare& compare;
  Proj& proj;
  std::ptrdiff_t grain;
  atomic<int> left_out{0};  // an errc; set by each call that has skipped a part

  [[nodiscard]] auto goes_on() noexcept -> bool {
    const auto why = stop.reason();
    if (why) left_out.store(static_cast<int>(*why), relaxed);
    return !why;
  }

  template <typename Left, typename Right>
  auto less(Left a, Right b) -> bool {
    return std::invoke(compare, std::invoke(proj, *a), std::invoke(proj, *b));
  }
};

/// Runs both calls as a fork.
template <typename Left, typename Right>
void fork_both(Left left, Right right) {
  static_cast<void>(fork_pair(left, right));
}

/// Returns whether `follows(i)` holds for all i in [1, count). The first indexes are checked on this thread, so that
/// unordered ranges cost little. All workers check the other indexes until a worker finds a mismatch.
template <typename Follows>
auto follow_all(std::size_t count, const Follows& follows) -> bool {
  // docs/design/constants.md says what this value rests on.
  constexpr std::size_t alone = 4096;
  for (std::size_t i = 1; i < std::min(count, alone); ++i)
    if (!follows(i)) return false;
  if (count <= alone) return true;
  atomic<bool> broken{false};  // set when any index does not satisfy the condition
  for_chunks(count - alone, alone, never_stopped{}, [&](std::size_t from, std::size_t to) {
    if (broken.load(relaxed)) return;
    for (std::size_t i = alone + from; i != alone + to; ++i)
      if (!follows(i)) return broken.store(true, relaxed);
  });
  return !broken.load(relaxed);
}

/// Returns whether the range is sorted. A range in strictly reverse order is first reversed.
template <typename Iterator, typename Sorting>
auto was_in_order(Iterator first, Iterator last, Sorting& all) -> bool {
  const auto count = static_cast<std::size_t>(last - first);
  const auto rises = [&](std::size_t i) { return !all.less(after(first, i), after(first, i - 1)); };
  const auto falls = [&](std::size_t i) { return all.less(after(first, i), after(first, i - 1)); };
  if (rises(1)) return follow_all(count, rises);
  if (!follow_all(count, falls)) return false;
  for_chunks(count / 2, 4096, never_stopped{}, [&](std::size_t from, std::size_t to) {
    for (; from != to; ++from) std::ranges::iter_swap(after(first, from), after(first, count - 1 - from));
  });
  return true;
}

/// Quicksort: partitions by a middle element, and sorts both parts. If too many partitions were unbalanced,
/// std::ranges::sort sorts the remaining part. Ranges that are sorted, or sorted in reverse, are detected first.
struct quick_sorter {
  template <typename Iterator, typename Sorting>
  void operator()(Iterator first, Iterator last, Sorting& all) const {
    if (!all.goes_on() || last - first < 2 || was_in_order(first, last, all)) return;
    const auto count = static_cast<std::size_t>(last - first);
    sort(part<Iterator>{.first = first, .last = last, .divisions = 2 * static_cast<int>(std::bit_width(count))}, all);
  }

 private:
  static constexpr std::ptrdiff_t few = 24;  // ranges of up to this size are sorted by insertion

  /// A part of a range that must be sorted. Unless it is the first part of the range, its elements are not less than
  /// the element directly before the part.
  template <typename Iterator>
  struct part {
    Iterator first;
    Iterator last;
    int divisions;
    bool is_first = true;

    [[nodiscard]] auto size() const { return last - first; }
    [[nodiscard]] auto before(Iterator end) const -> part { return {first, end, divisions - 1, is_first}; }
    [[nodiscard]] auto from(Iterator begin) const -> part { return {begin, last, divisions - 1, false}; }
  };

  template <typename Iterator, typename Sorting>
  static void sort(part<Iterator> rest, Sorting& all) {
    while (rest.size() > all.grain && rest.divisions > 0) {
      if (!all.goes_on()) return;
      std::ranges::iter_swap(rest.first, middle_of_nine(rest.first, rest.last, all));
      if (has_no_less(rest, all)) {
        rest = rest.from(divide_equal(rest.first, rest.last, all));
        continue;
      }
      const auto [less, more] = divide(rest.first, rest.last, all);
      fork_both([&all, early = rest.before(less)] { sort(early, all); },
                [&all, late = rest.from(more)] { sort(late, all); });
      return;
    }
    if (!all.goes_on()) return;
    if constexpr (cheap_to_copy<std::iter_value_t<Iterator>>)
      sort_alone(rest, all);
    else
      std::ranges::sort(rest.first, rest.last, std::ref(all.compare), std::ref(all.proj));
  }

  /// Sorts a part on one thread.
  template <typename Iterator, typename Sorting>
  static void sort_alone(part<Iterator> rest, Sorting& all) {
    while (rest.size() > few) {
      if (rest.divisions <= 0) {
        std::ranges::sort(rest.first, rest.last, std::ref(all.compare), std::ref(all.proj));
        return;
      }
      std::ranges::iter_swap(rest.first, middle_of_nine(rest.first, rest.last, all));
      if (has_no_less(rest, all)) {
        rest = rest.from(divide_equal(rest.first, rest.last, all));
        continue;
      }
      const auto [less, more] = divide(rest.first, rest.last, all);
      sort_alone(rest.before(less), all);
      rest = rest.from(more);
    }
    insert_all(rest.first, rest.last, all);
  }

  /// Returns whether the pivot equals the element before the part. If so, no element of the part is less than the
  /// pivot. All elements that equal the pivot are then in their final positions once they are moved to the front.
  template <typename Iterator, typename Sorting>
  static auto has_no_less(const part<Iterator>& rest, Sorting& all) -> bool {
    return !rest.is_first && !all.less(rest.first - 1, rest.first);
  }

  /// Partitions by the first element. Returns two iterators. The elements before the first iterator are not greater
  /// than the elements between the two iterators. The elements from the second iterator on are not less than the
  /// elements between the iterators.
  template <typename Iterator, typename Sorting>
  static auto divide(Iterator first, Iterator last, Sorting& all) -> std::pair<Iterator, Iterator> {
    if constexpr (cheap_to_copy<std::iter_value_t<Iterator>>) {
      std::iter_value_t<Iterator> by = *first;
      const Iterator end = gather_front(first + 1, last, [&all, &by](auto& each) { return all.less(&each, &by); });
      std::ranges::iter_swap(first, end - 1);
      return {end - 1, end};
    } else {
      return divide_by_swaps(first, last, all);
    }
  }

  /// Moves all elements that equal the first element to the front, and returns the end of these elements. Requires that
  /// no element is less than the first element.
  template <typename Iterator, typename Sorting>
  static auto divide_equal(Iterator first, Iterator last, Sorting& all) -> Iterator {
    if constexpr (cheap_to_copy<std::iter_value_t<Iterator>>) {
      std::iter_value_t<Iterator> by = *first;
      return gather_front(first + 1, last, [&all, &by](auto& each) { return !all.less(&by, &each); });
    } else {
      const auto equal = [&all, first](auto&& each) { return !all.less(first, &each); };
      return std::ranges::partition(first + 1, last, equal).begin();
    }
  }

  template <typename Iterator, typename Sorting>
  static auto divide_by_swaps(Iterator first, Iterator last, Sorting& all) -> std::pair<Iterator, Iterator> {
    Iterator low = first;
    Iterator high = last;
    while (true) {  // equal elements are swapped, so they are distributed evenly
      do ++low;
      while (low != last && all.less(low, first));
      do --high;
      while (all.less(first, high));
      if (!(low < high)) break;
      std::ranges::iter_swap(low, high);
    }
    std::ranges::iter_swap(first, high);
    return {high, high + 1};
  }

  /// Sorts by insertion. It is used for a small number of elements.
  template <typename Iterator, typename Sorting>
  static void insert_all(Iterator first, Iterator last, Sorting& all) {
    for (Iterator next = first; next != last; ++next) {
      std::iter_value_t<Iterator> each = *next;
      Iterator at = next;
      for (; at != first && all.less(&each, at - 1); --at) *at = *(at - 1);
      *at = each;
    }
  }
};

/// Merge sort: sorts both halves, then moves the earlier half to separate memory and merges both halves back.
struct merge_sorter {
  template <typename Iterator, typename Sorting>
  void operator()(Iterator first, Iterator last, Sorting& all) const {
    if (all.goes_on() && last - first > 1 && !was_in_order(first, last, all)) sort(first, last, all);
  }

 private:
  // docs/design/constants.md says what this value rests on.
  static constexpr std::ptrdiff_t few = 24;

  template <typename Iterator, typename Sorting>
  static void sort(Iterator first, Iterator last, Sorting& all) {
    if (!all.goes_on()) return;
    if (last - first <= few) return insert_all(first, last, all);
    const Iterator middle = first + (last - first) / 2;
    if (last - first <= all.grain) {
      sort(first, middle, all);
      sort(middle, last, all);
    } else {
      fork_both([&all, first, middle] { sort(first, middle, all); }, [&all, middle, last] { sort(middle, last, all); });
    }
    if (all.goes_on() && all.less(middle, middle - 1)) merge(first, middle, last, all);
  }

  /// Sorts by insertion. The position of each element is found before the element is moved, so that no element is lost
  /// if a comparison throws.
  template <typename Iterator, typename Sorting>
  static void insert_all(Iterator first, Iterator last, Sorting& all) {
    for (Iterator next = first; next != last; ++next) {
      Iterator at = next;
      while (at != first && all.less(next, at - 1)) --at;
      if (at == next) continue;
      std::iter_value_t<Iterator> each = std::ranges::iter_move(next);
      std::ranges::move_backward(at, next, next + 1);
      *at = std::move(each);
    }
  }

  /// The elements of the earlier half, which were moved to separate memory, and the space that they have left for the
  /// merge.
  template <typename Iterator>
  struct moved_away {
    std::vector<std::iter_value_t<Iterator>> elements;
    typename std::vector<std::iter_value_t<Iterator>>::iterator left = elements.begin();
    Iterator room;

    moved_away(Iterator first, Iterator last)
        : elements(std::move_iterator(first), std::move_iterator(last)), room(first) {}
    moved_away(const moved_away&) = delete;
    auto operator=(const moved_away&) -> moved_away& = delete;
    ~moved_away() { std::move(left, elements.end(), room); }  // also after a comparison has thrown
  };

  template <typename Iterator, typename Sorting>
  static void merge(Iterator first, Iterator middle, Iterator last, Sorting& all) {
    moved_away<Iterator> earlier(first, middle);
    for (Iterator later = middle; earlier.left != earlier.elements.end() && later != last;) {
      if (all.less(later, earlier.left)) {
        *earlier.room = std::ranges::iter_move(later);
        ++later;
      } else {
        *earlier.room = std::move(*earlier.left);
        ++earlier.left;
      }
      ++earlier.room;
    }
  }
};

template <typename Stop, typename Sorter, typename Range, typename Compare, typename Proj>
auto sort_all(const Stop& stop, Sorter sorter, Range& range, Compare& compare, Proj& proj, parallel_options options)
    -> unless_stopped<Stop, void> {
  // docs/design/constants.md says what these values rest on.
  constexpr std::size_t usual_grain = 2048;
  constexpr std::size_t min_grain = 16;  // a partition examines nine elements
  const std::size_t count = std::ranges::size(range);
  const std::size_t grain = std::max(std::min(options.grain != 0 ? options.grain : usual_grain, count), min_grain);
  sorting<Stop, Compare, Proj> all{stop, compare, proj, static_cast<std::ptrdiff_t>(grain)};
  const auto first = std::ranges::begin(range);
  const auto last = first + static_cast<std::ranges::range_difference_t<Range>>(count);
  if (worker_of_thread != nullptr || (count <= grain && begins_here()))
    sorter(first, last, all);
  else
    run_elsewhere([&] { sorter(first, last, all); });
  if constexpr (!std::is_same_v<Stop, never_stopped>) {
    if (const int why = all.left_out.load(relaxed); why != 0) return fail(static_cast<errc>(why));
    return {};
  }
}

}  // namespace braid::detail
