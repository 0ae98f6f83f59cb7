// braid/task/detail/parallel_sorter.hpp: the recursions behind parallel_sort and parallel_stable_sort.
#pragma once

#include <braid/base/error.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/fork.hpp>
#include <braid/task/detail/stopped_by.hpp>
#include <braid/task/parallel_options.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

namespace braid::detail {

/// What the parts of one sort share.
template <typename Stop, typename Compare, typename Proj>
struct sorting {
  const Stop& stop;
  Compare& compare;
  Proj& proj;
  std::ptrdiff_t grain;
  atomic<int> left_out{0};  // an errc; set by each call that has left out a part

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

/// Forks both.
template <typename Left, typename Right>
void fork_both(Left left, Right right) {
  static_cast<void>(fork_pair(left, right));
}

/// Divides by a middle element, and sorts both parts. When the divisions have been bad too often, the rest is left to
/// std::ranges::sort.
struct quick_sorter {
  template <typename Iterator, typename Sorting>
  void operator()(Iterator first, Iterator last, Sorting& all) const {
    const auto count = static_cast<std::size_t>(last - first);
    sort(first, last, 2 * static_cast<int>(std::bit_width(count)), all);
  }

 private:
  template <typename Iterator, typename Sorting>
  static void sort(Iterator first, Iterator last, int divisions, Sorting& all) {
    if (!all.goes_on()) return;
    if (last - first <= all.grain || divisions == 0) {
      std::ranges::sort(first, last, std::ref(all.compare), std::ref(all.proj));
      return;
    }
    const auto [less, more] = divide(first, last, all);
    fork_both([&all, first, less, divisions] { sort(first, less, divisions - 1, all); },
              [&all, more, last, divisions] { sort(more, last, divisions - 1, all); });
  }

  /// Everything before the first is not greater than what lies between the two, everything from the second on not less.
  template <typename Iterator, typename Sorting>
  static auto divide(Iterator first, Iterator last, Sorting& all) -> std::pair<Iterator, Iterator> {
    std::ranges::iter_swap(first, middle_of_nine(first, last, all));
    Iterator low = first;
    Iterator high = last;
    while (true) {  // equal elements are swapped: then they are on both sides alike
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

  template <typename Iterator, typename Sorting>
  static auto middle_of_nine(Iterator first, Iterator last, Sorting& all) -> Iterator {
    const auto eighth = (last - first) / 8;
    const auto middle = [&all](Iterator a, Iterator b, Iterator c) {
      if (all.less(b, a)) std::swap(a, b);
      if (!all.less(c, b)) return b;
      return all.less(c, a) ? a : c;
    };
    return middle(middle(first, first + eighth, first + 2 * eighth),
                  middle(first + 3 * eighth, first + 4 * eighth, first + 5 * eighth),
                  middle(first + 6 * eighth, first + 7 * eighth, last - 1));
  }
};

/// Sorts both halves, and merges them: the earlier half moves to memory of its own, and the two come back in order.
struct merge_sorter {
  template <typename Iterator, typename Sorting>
  void operator()(Iterator first, Iterator last, Sorting& all) const {
    if (!all.goes_on()) return;
    if (last - first <= few) return insert_all(first, last, all);
    const Iterator middle = first + (last - first) / 2;
    if (last - first <= all.grain) {
      merge_sorter{}(first, middle, all);
      merge_sorter{}(middle, last, all);
    } else {
      fork_both([&all, first, middle] { merge_sorter{}(first, middle, all); },
                [&all, middle, last] { merge_sorter{}(middle, last, all); });
    }
    if (all.goes_on() && all.less(middle, middle - 1)) merge(first, middle, last, all);
  }

 private:
  static constexpr std::ptrdiff_t few = 24;

  template <typename Iterator, typename Sorting>
  static void insert_all(Iterator first, Iterator last, Sorting& all) {
    for (Iterator next = first; next != last; ++next)
      for (Iterator at = next; at != first && all.less(at, at - 1); --at) std::ranges::iter_swap(at, at - 1);
  }

  /// Elements that were moved away, and where there is room for them: so many as are left of them.
  template <typename Iterator>
  struct moved_away {
    std::vector<std::iter_value_t<Iterator>> elements;
    typename std::vector<std::iter_value_t<Iterator>>::iterator left = elements.begin();
    Iterator room;

    moved_away(Iterator first, Iterator last)
        : elements(std::move_iterator(first), std::move_iterator(last)), room(first) {}
    moved_away(const moved_away&) = delete;
    auto operator=(const moved_away&) -> moved_away& = delete;
    ~moved_away() { std::move(left, elements.end(), room); }  // what a comparison that threw has left, too
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
auto sort_all(const Stop& stop, Sorter sorter, Range& range, Compare& compare, Proj& proj, parallel_options how)
    -> unless_stopped<Stop, void> {
  constexpr std::size_t usual_grain = 2048;
  constexpr std::size_t min_grain = 16;  // the division looks at nine
  const std::size_t grain = std::max(how.grain != 0 ? how.grain : usual_grain, min_grain);
  sorting<Stop, Compare, Proj> all{stop, compare, proj, static_cast<std::ptrdiff_t>(grain)};
  const auto first = std::ranges::begin(range);
  const auto last = first + static_cast<std::ranges::range_difference_t<Range>>(std::ranges::size(range));
  if (worker_of_thread != nullptr)
    sorter(first, last, all);
  else
    run_elsewhere([&] { sorter(first, last, all); });
  if constexpr (!std::is_same_v<Stop, never_stopped>) {
    if (const int why = all.left_out.load(relaxed); why != 0) return fail(static_cast<errc>(why));
    return {};
  }
}

}  // namespace braid::detail
