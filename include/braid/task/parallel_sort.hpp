// braid/task/parallel_sort.hpp: sorting in place by several workers.
#pragma once

#include <braid/base/error.hpp>
#include <braid/task/detail/fork.hpp>
#include <braid/task/detail/parallel_range.hpp>
#include <braid/task/detail/parallel_sorter.hpp>
#include <braid/task/detail/stopped_by.hpp>
#include <braid/task/parallel_options.hpp>
#include <braid/task/stop_signal.hpp>

#include <functional>
#include <iterator>
#include <ranges>

namespace braid {

/// Sorts the range by `compare(proj(a), proj(b))`; equal elements end up in any order. No memory is
/// needed. Up to the grain (by default 2048) elements are left to std::ranges::sort.
/// Errors: what comparisons and moves throw; then elements may have been moved away, as by std::ranges::sort.
/// Cost: the first division is one worker's, so with n elements the time is never below that of about 2 n comparisons.
/// Threads, blocks: as `parallel_for`.
template <detail::divisible_range Range, typename Compare = std::ranges::less, typename Proj = std::identity>
  requires std::sortable<std::ranges::iterator_t<Range>, Compare, Proj>
void parallel_sort(Range&& range, Compare compare = {}, Proj proj = {}, parallel_options how = {}) {
  detail::sort_all(detail::never_stopped{}, detail::quick_sorter{}, range, compare, proj, how);
}

/// As above, but equal elements keep their order, and all are there when a comparison has thrown. Errors:
/// std::bad_alloc, too, because memory for half of the elements is needed.
template <detail::divisible_range Range, typename Compare = std::ranges::less, typename Proj = std::identity>
  requires std::sortable<std::ranges::iterator_t<Range>, Compare, Proj>
void parallel_stable_sort(Range&& range, Compare compare = {}, Proj proj = {}, parallel_options how = {}) {
  detail::sort_all(detail::never_stopped{}, detail::merge_sorter{}, range, compare, proj, how);
}

/// As `parallel_sort`, but parts that have not begun when a stop is requested are left as they are. Errors:
/// errc::stopped, or the reason of the flag, if any were.
template <stop_signal Signal, detail::divisible_range Range, typename Compare = std::ranges::less,
          typename Proj = std::identity>
[[nodiscard]] auto parallel_sort(Signal&& stop, Range&& range, Compare compare = {}, Proj proj = {},
                                 parallel_options how = {}) -> result<void> {
  return detail::sort_all(detail::stopped_by_t<Signal>(stop), detail::quick_sorter{}, range, compare, proj, how);
}

template <stop_signal Signal, detail::divisible_range Range, typename Compare = std::ranges::less,
          typename Proj = std::identity>
[[nodiscard]] auto parallel_stable_sort(Signal&& stop, Range&& range, Compare compare = {}, Proj proj = {},
                                        parallel_options how = {}) -> result<void> {
  return detail::sort_all(detail::stopped_by_t<Signal>(stop), detail::merge_sorter{}, range, compare, proj, how);
}

}  // namespace braid
