// braid/task/parallel_algorithms.hpp: algorithms of the standard library that run on several workers.
#pragma once

#include <braid/base/error.hpp>
#include <braid/sync/stop_flag.hpp>
#include <braid/task/detail/parallel_blocks.hpp>
#include <braid/task/detail/parallel_divider.hpp>
#include <braid/task/detail/parallel_filter.hpp>
#include <braid/task/detail/parallel_merger.hpp>
#include <braid/task/detail/parallel_range.hpp>
#include <braid/task/detail/parallel_search.hpp>
#include <braid/task/detail/stopped_by.hpp>
#include <braid/task/parallel_options.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>

// Each function returns the result of the function of std::ranges with the same name. If that function returns two
// iterators, only the iterator into the output is returned. Ranges have random access and a known size. `out` has
// random access. Several workers write its elements concurrently, so `out` must not be a std::vector<bool>. Several
// workers call the functions, comparisons and projections at the same time.
//
// Threads, blocking and errors are those of `parallel_for`. With a stop_flag or std::stop_token as the first argument,
// parts that have not begun when a stop is requested are skipped.
// Errors: if parts were skipped, errc::stopped, or the reason of the stop request if it has a reason.

namespace braid {

namespace detail {

template <typename Range>
[[nodiscard]] constexpr auto size_of(Range& range) -> std::size_t {
  return static_cast<std::size_t>(std::ranges::size(range));
}

/// A range whose iterators stay valid for the caller after the call.
template <typename Range>
concept lasting_range = divisible_range<Range> && std::ranges::borrowed_range<Range>;

template <typename Pred, typename Range, typename Proj>
concept predicate_of = std::indirect_unary_predicate<Pred, std::projected<std::ranges::iterator_t<Range>, Proj>>;

template <typename Compare, typename Range, typename Proj>
concept find_order = std::indirect_strict_weak_order<Compare, std::projected<std::ranges::iterator_t<Range>, Proj>>;

/// Returns the result of `fn` for the value of a step. If the step was stopped, returns the error of the step instead.
template <typename Stop, typename T, typename Fn>
auto with_found(T&& found, const Fn& fn) {
  if constexpr (std::is_same_v<Stop, never_stopped>)
    return fn(std::forward<T>(found));
  else if (!found)
    return result<decltype(fn(*found))>(fail(found.error()));
  else
    return result<decltype(fn(*found))>(fn(*std::forward<T>(found)));
}

template <typename Stop, typename Range, typename Pred, typename Proj>
auto find_in(const Stop& stop, Range& range, Pred& pred, Proj& proj, parallel_options options) {
  const auto first = std::ranges::begin(range);
  return with_found<Stop>(find_all<search_for::first>(stop, first, size_of(range), pred, proj, options),
                          [&first](std::size_t index) { return after(first, index); });
}

/// Returns whether the result of `pred` equals `wanted` for any element.
template <typename Stop, typename Range, typename Pred, typename Proj>
auto is_there(const Stop& stop, Range& range, bool wanted, Pred& pred, Proj& proj, parallel_options options) {
  const std::size_t count = size_of(range);
  auto is_wanted = [&pred, wanted](auto&& each) {
    return static_cast<bool>(std::invoke(pred, std::forward<decltype(each)>(each))) == wanted;
  };
  return with_found<Stop>(find_all<search_for::any>(stop, std::ranges::begin(range), count, is_wanted, proj, options),
                          [count](std::size_t index) { return index != count; });
}

template <typename Stop, typename Range, typename Compare, typename Proj>
auto min_in(const Stop& stop, Range& range, Compare& compare, Proj& proj, parallel_options options) {
  const auto best = [&](auto from, auto to) {
    auto found = from;
    while (++from != to)  // a predictable jump: a choice of iterators would wait for the previous choice
      if (std::invoke(compare, std::invoke(proj, *from), std::invoke(proj, *found))) [[unlikely]]
        found = from;
    return found;
  };
  const auto is_better = [&](auto b, auto a) {
    return std::invoke(compare, std::invoke(proj, *b), std::invoke(proj, *a));
  };
  return best_of_all(stop, std::ranges::begin(range), size_of(range), best, is_better, options);
}

template <typename Stop, typename Range, typename Compare, typename Proj>
auto max_in(const Stop& stop, Range& range, Compare& compare, Proj& proj, parallel_options options) {
  auto greater = [&](auto&& a, auto&& b) {
    return std::invoke(compare, std::forward<decltype(b)>(b), std::forward<decltype(a)>(a));
  };
  return min_in(stop, range, greater, proj, options);
}

template <typename Stop, typename Range, typename Pred, typename Proj>
auto partition_in(const Stop& stop, Range& range, Pred& pred, Proj& proj, parallel_options options) {
  const auto first = std::ranges::begin(range);
  const auto belongs = [&](auto&& each) {
    return static_cast<bool>(std::invoke(pred, std::invoke(proj, std::forward<decltype(each)>(each))));
  };
  return on_worker([&] {
    return with_found<Stop>(divide_all(stop, first, size_of(range), belongs, options),
                            [&first](std::size_t index) { return after(first, index); });
  });
}

template <typename Stop, typename Iterator, typename Out, typename Fn, typename Proj>
auto transform_all(const Stop& stop, const Iterator& first, std::size_t count, const Out& out, Fn& fn, Proj& proj,
                   parallel_options options) -> unless_stopped<Stop, Out> {
  const auto chunk = [&](std::size_t from, std::size_t to) {
    for (; from != to; ++from) at(out, from) = std::invoke(fn, std::invoke(proj, at(first, from)));
  };
  return unless_left_out(stop, pass(count, choose_grain(count, options), stop, chunk), after(out, count));
}

}  // namespace detail

/// Writes `fn(proj(element))` of each element to `out`, and returns the end of the output. `out` may be the beginning
/// of the range. Cost: the same as for `parallel_for`.
template <detail::divisible_range Range, std::random_access_iterator Out, typename Fn, typename Proj = std::identity>
auto parallel_transform(Range&& range, Out out, Fn fn, Proj proj = {}, parallel_options options = {}) -> Out {
  return detail::transform_all(detail::never_stopped{}, std::ranges::begin(range), detail::size_of(range), out, fn,
                               proj, options);
}

template <stop_signal Signal, detail::divisible_range Range, std::random_access_iterator Out, typename Fn,
          typename Proj = std::identity>
[[nodiscard]] auto parallel_transform(Signal&& stop, Range&& range, Out out, Fn fn, Proj proj = {},
                                      parallel_options options = {}) -> result<Out> {
  return detail::transform_all(detail::stopped_by_t<Signal>(stop), std::ranges::begin(range), detail::size_of(range),
                               out, fn, proj, options);
}

/// Returns an iterator to the first element for which `pred(proj(element))` is true, or the end.
/// Cost: elements after the first match are also checked if other workers have already begun to check them.
template <detail::lasting_range Range, typename Proj = std::identity, detail::predicate_of<Range, Proj> Pred>
[[nodiscard]] auto parallel_find_if(Range&& range, Pred pred, Proj proj = {}, parallel_options options = {})
    -> std::ranges::iterator_t<Range> {
  return detail::find_in(detail::never_stopped{}, range, pred, proj, options);
}

template <stop_signal Signal, detail::lasting_range Range, typename Proj = std::identity,
          detail::predicate_of<Range, Proj> Pred>
[[nodiscard]] auto parallel_find_if(Signal&& stop, Range&& range, Pred pred, Proj proj = {},
                                    parallel_options options = {}) -> result<std::ranges::iterator_t<Range>> {
  return detail::find_in(detail::stopped_by_t<Signal>(stop), range, pred, proj, options);
}

/// Returns whether `pred(proj(element))` holds for any element. After a match, chunks that have not begun are skipped.
template <detail::divisible_range Range, typename Proj = std::identity, detail::predicate_of<Range, Proj> Pred>
[[nodiscard]] auto parallel_any_of(Range&& range, Pred pred, Proj proj = {}, parallel_options options = {}) -> bool {
  return detail::is_there(detail::never_stopped{}, range, true, pred, proj, options);
}

template <stop_signal Signal, detail::divisible_range Range, typename Proj = std::identity,
          detail::predicate_of<Range, Proj> Pred>
[[nodiscard]] auto parallel_any_of(Signal&& stop, Range&& range, Pred pred, Proj proj = {},
                                   parallel_options options = {}) -> result<bool> {
  return detail::is_there(detail::stopped_by_t<Signal>(stop), range, true, pred, proj, options);
}

/// Returns whether `pred(proj(element))` holds for all elements. The result is true for an empty range.
template <detail::divisible_range Range, typename Proj = std::identity, detail::predicate_of<Range, Proj> Pred>
[[nodiscard]] auto parallel_all_of(Range&& range, Pred pred, Proj proj = {}, parallel_options options = {}) -> bool {
  return !detail::is_there(detail::never_stopped{}, range, false, pred, proj, options);
}

template <stop_signal Signal, detail::divisible_range Range, typename Proj = std::identity,
          detail::predicate_of<Range, Proj> Pred>
[[nodiscard]] auto parallel_all_of(Signal&& stop, Range&& range, Pred pred, Proj proj = {},
                                   parallel_options options = {}) -> result<bool> {
  auto found = detail::is_there(detail::stopped_by_t<Signal>(stop), range, false, pred, proj, options);
  if (found) *found = !*found;
  return found;
}

/// Returns whether `pred(proj(element))` holds for no element.
template <detail::divisible_range Range, typename Proj = std::identity, detail::predicate_of<Range, Proj> Pred>
[[nodiscard]] auto parallel_none_of(Range&& range, Pred pred, Proj proj = {}, parallel_options options = {}) -> bool {
  return !detail::is_there(detail::never_stopped{}, range, true, pred, proj, options);
}

template <stop_signal Signal, detail::divisible_range Range, typename Proj = std::identity,
          detail::predicate_of<Range, Proj> Pred>
[[nodiscard]] auto parallel_none_of(Signal&& stop, Range&& range, Pred pred, Proj proj = {},
                                    parallel_options options = {}) -> result<bool> {
  auto found = detail::is_there(detail::stopped_by_t<Signal>(stop), range, true, pred, proj, options);
  if (found) *found = !*found;
  return found;
}

/// Returns the number of elements for which `pred(proj(element))` is true.
template <detail::divisible_range Range, typename Proj = std::identity, detail::predicate_of<Range, Proj> Pred>
[[nodiscard]] auto parallel_count_if(Range&& range, Pred pred, Proj proj = {}, parallel_options options = {})
    -> std::ranges::range_difference_t<Range> {
  return detail::count_all(detail::never_stopped{}, std::ranges::begin(range), detail::size_of(range), pred, proj,
                           options);
}

template <stop_signal Signal, detail::divisible_range Range, typename Proj = std::identity,
          detail::predicate_of<Range, Proj> Pred>
[[nodiscard]] auto parallel_count_if(Signal&& stop, Range&& range, Pred pred, Proj proj = {},
                                     parallel_options options = {}) -> result<std::ranges::range_difference_t<Range>> {
  return detail::count_all(detail::stopped_by_t<Signal>(stop), std::ranges::begin(range), detail::size_of(range), pred,
                           proj, options);
}

/// Returns an iterator to the first of the least elements by `compare(proj(a), proj(b))`, or the end if the range is
/// empty.
template <detail::lasting_range Range, typename Proj = std::identity,
          detail::find_order<Range, Proj> Compare = std::ranges::less>
[[nodiscard]] auto parallel_min_element(Range&& range, Compare compare = {}, Proj proj = {},
                                        parallel_options options = {}) -> std::ranges::iterator_t<Range> {
  return detail::min_in(detail::never_stopped{}, range, compare, proj, options);
}

template <stop_signal Signal, detail::lasting_range Range, typename Proj = std::identity,
          detail::find_order<Range, Proj> Compare = std::ranges::less>
[[nodiscard]] auto parallel_min_element(Signal&& stop, Range&& range, Compare compare = {}, Proj proj = {},
                                        parallel_options options = {}) -> result<std::ranges::iterator_t<Range>> {
  return detail::min_in(detail::stopped_by_t<Signal>(stop), range, compare, proj, options);
}

/// Returns an iterator to the first of the greatest elements, or the end if the range is empty.
template <detail::lasting_range Range, typename Proj = std::identity,
          detail::find_order<Range, Proj> Compare = std::ranges::less>
[[nodiscard]] auto parallel_max_element(Range&& range, Compare compare = {}, Proj proj = {},
                                        parallel_options options = {}) -> std::ranges::iterator_t<Range> {
  return detail::max_in(detail::never_stopped{}, range, compare, proj, options);
}

template <stop_signal Signal, detail::lasting_range Range, typename Proj = std::identity,
          detail::find_order<Range, Proj> Compare = std::ranges::less>
[[nodiscard]] auto parallel_max_element(Signal&& stop, Range&& range, Compare compare = {}, Proj proj = {},
                                        parallel_options options = {}) -> result<std::ranges::iterator_t<Range>> {
  return detail::max_in(detail::stopped_by_t<Signal>(stop), range, compare, proj, options);
}

/// Copies the elements for which `pred(proj(element))` is true to `out`, in their order, and returns the end of the
/// copies. `out` must not be in the range. Errors: in addition, std::bad_alloc. Cost: one call of `pred` for each
/// element, and memory for one bit per element.
template <detail::divisible_range Range, std::random_access_iterator Out, typename Proj = std::identity,
          detail::predicate_of<Range, Proj> Pred>
auto parallel_copy_if(Range&& range, Out out, Pred pred, Proj proj = {}, parallel_options options = {}) -> Out {
  return detail::copy_wanted(detail::never_stopped{}, std::ranges::begin(range), detail::size_of(range), out, pred,
                             proj, options);
}

template <stop_signal Signal, detail::divisible_range Range, std::random_access_iterator Out,
          typename Proj = std::identity, detail::predicate_of<Range, Proj> Pred>
[[nodiscard]] auto parallel_copy_if(Signal&& stop, Range&& range, Out out, Pred pred, Proj proj = {},
                                    parallel_options options = {}) -> result<Out> {
  return detail::copy_wanted(detail::stopped_by_t<Signal>(stop), std::ranges::begin(range), detail::size_of(range), out,
                             pred, proj, options);
}

/// Merges two sorted ranges into `out`, and returns the end of the output. If elements are equal, those of the first
/// range come first.
/// Cost: two binary searches for each chunk; a chunk has `grain` elements, by default 4096.
template <detail::divisible_range First, detail::divisible_range Second, std::random_access_iterator Out,
          typename Compare = std::ranges::less, typename Proj1 = std::identity, typename Proj2 = std::identity>
  requires std::mergeable<std::ranges::iterator_t<First>, std::ranges::iterator_t<Second>, Out, Compare, Proj1, Proj2>
auto parallel_merge(First&& first, Second&& second, Out out, Compare compare = {}, Proj1 proj1 = {}, Proj2 proj2 = {},
                    parallel_options options = {}) -> Out {
  return detail::merge_all(detail::never_stopped{}, std::ranges::begin(first), detail::size_of(first),
                           std::ranges::begin(second), detail::size_of(second), out, compare, proj1, proj2, options);
}

template <stop_signal Signal, detail::divisible_range First, detail::divisible_range Second,
          std::random_access_iterator Out, typename Compare = std::ranges::less, typename Proj1 = std::identity,
          typename Proj2 = std::identity>
  requires std::mergeable<std::ranges::iterator_t<First>, std::ranges::iterator_t<Second>, Out, Compare, Proj1, Proj2>
[[nodiscard]] auto parallel_merge(Signal&& stop, First&& first, Second&& second, Out out, Compare compare = {},
                                  Proj1 proj1 = {}, Proj2 proj2 = {}, parallel_options options = {}) -> result<Out> {
  return detail::merge_all(detail::stopped_by_t<Signal>(stop), std::ranges::begin(first), detail::size_of(first),
                           std::ranges::begin(second), detail::size_of(second), out, compare, proj1, proj2, options);
}

/// Moves the elements for which `pred(proj(element))` is true to the front, in any order, and returns an iterator to
/// the first of the other elements. No element is lost if the call is stopped or if `pred` throws.
/// Errors: in addition, std::bad_alloc, because it needs a few bytes for each block of elements. Cost: each block is
/// partitioned, then elements on the wrong side are swapped.
template <detail::lasting_range Range, typename Proj = std::identity, detail::predicate_of<Range, Proj> Pred>
  requires std::permutable<std::ranges::iterator_t<Range>>
auto parallel_partition(Range&& range, Pred pred, Proj proj = {}, parallel_options options = {})
    -> std::ranges::iterator_t<Range> {
  return detail::partition_in(detail::never_stopped{}, range, pred, proj, options);
}

template <stop_signal Signal, detail::lasting_range Range, typename Proj = std::identity,
          detail::predicate_of<Range, Proj> Pred>
  requires std::permutable<std::ranges::iterator_t<Range>>
[[nodiscard]] auto parallel_partition(Signal&& stop, Range&& range, Pred pred, Proj proj = {},
                                      parallel_options options = {}) -> result<std::ranges::iterator_t<Range>> {
  return detail::partition_in(detail::stopped_by_t<Signal>(stop), range, pred, proj, options);
}

/// Removes adjacent duplicates: if `equal(proj(a), proj(b))` is true for neighbours, only the first of them is kept.
/// The kept elements are moved to the front, in their order. Returns the end of the kept elements; the elements after
/// it are unspecified. Requires that `equal` is an equivalence.
/// Errors: in addition, std::bad_alloc. Cost: the same as for `parallel_copy_if`; one worker does the last pass, which
/// moves whole blocks to their final positions.
template <detail::lasting_range Range, typename Proj = std::identity,
          std::indirect_equivalence_relation<std::projected<std::ranges::iterator_t<Range>, Proj>> Equal =
              std::ranges::equal_to>
  requires std::permutable<std::ranges::iterator_t<Range>>
[[nodiscard]] auto parallel_unique(Range&& range, Equal equal = {}, Proj proj = {}, parallel_options options = {})
    -> std::ranges::iterator_t<Range> {
  return detail::keep_unique(detail::never_stopped{}, std::ranges::begin(range), detail::size_of(range), equal, proj,
                             options);
}

template <stop_signal Signal, detail::lasting_range Range, typename Proj = std::identity,
          std::indirect_equivalence_relation<std::projected<std::ranges::iterator_t<Range>, Proj>> Equal =
              std::ranges::equal_to>
  requires std::permutable<std::ranges::iterator_t<Range>>
[[nodiscard]] auto parallel_unique(Signal&& stop, Range&& range, Equal equal = {}, Proj proj = {},
                                   parallel_options options = {}) -> result<std::ranges::iterator_t<Range>> {
  return detail::keep_unique(detail::stopped_by_t<Signal>(stop), std::ranges::begin(range), detail::size_of(range),
                             equal, proj, options);
}

/// Moves to `nth` the element that would be at this position in a sorted range. No element before it is greater, and no
/// element after it is less. Does nothing if `nth` is the end of the range.
/// Errors: in addition, std::bad_alloc. Cost: about three comparisons for each element, in passes over fewer and fewer
/// elements.
template <detail::divisible_range Range, typename Compare = std::ranges::less, typename Proj = std::identity>
  requires std::sortable<std::ranges::iterator_t<Range>, Compare, Proj>
auto parallel_nth_element(Range&& range, std::ranges::iterator_t<Range> nth, Compare compare = {}, Proj proj = {},
                          parallel_options options = {}) -> void {
  const auto first = std::ranges::begin(range);
  detail::on_worker([&] {
    static_cast<void>(detail::select_nth(detail::never_stopped{}, first, detail::after(first, detail::size_of(range)),
                                         nth, compare, proj, options));
  });
}

template <stop_signal Signal, detail::divisible_range Range, typename Compare = std::ranges::less,
          typename Proj = std::identity>
  requires std::sortable<std::ranges::iterator_t<Range>, Compare, Proj>
[[nodiscard]] auto parallel_nth_element(Signal&& stop, Range&& range, std::ranges::iterator_t<Range> nth,
                                        Compare compare = {}, Proj proj = {}, parallel_options options = {})
    -> result<void> {
  const auto first = std::ranges::begin(range);
  const detail::stopped_by_t<Signal> stopped(stop);
  const bool is_whole = detail::on_worker([&] {
    return detail::select_nth(stopped, first, detail::after(first, detail::size_of(range)), nth, compare, proj,
                              options);
  });
  if (!is_whole) return fail(*stopped.reason());
  return {};
}

}  // namespace braid
