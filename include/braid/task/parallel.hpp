// braid/task/parallel.hpp: parallel loops, reductions, scans and sorts on the workers of a pool.
#pragma once

#include <braid/base/error.hpp>
#include <braid/sync/stop_flag.hpp>
#include <braid/task/detail/fork.hpp>
#include <braid/task/detail/parallel_range.hpp>
#include <braid/task/detail/parallel_scanner.hpp>
#include <braid/task/detail/parallel_sorter.hpp>
#include <braid/task/detail/reduction.hpp>
#include <braid/task/detail/stopped_by.hpp>
#include <braid/task/parallel_options.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>

namespace braid {

namespace detail {

template <typename Stop, typename Index, typename Body>
auto parallel_for(const Stop& stop, Index first, Index last, Body& body, parallel_options options)
    -> unless_stopped<Stop, void> {
  using number = std::make_unsigned_t<Index>;
  const std::size_t count =
      first < last ? static_cast<number>(static_cast<number>(last) - static_cast<number>(first)) : 0;
  const auto at = [first](std::size_t i) {
    return static_cast<Index>(static_cast<number>(static_cast<number>(first) + static_cast<number>(i)));
  };
  const auto chunk = [at, &body](std::size_t from, std::size_t to) {
    const Index end = at(to);
    for (Index i = at(from); i != end; ++i) std::invoke(body, i);
  };
  return for_chunks(count, choose_grain(count, options), stop, chunk);
}

}  // namespace detail

/// Calls `body(i)` for each i in [first, last), on this worker and on idle workers of its pool. The type of i is the
/// common type of both bounds. A thread that is not a worker runs the loop itself. If the loop takes longer than a few
/// microseconds, workers of `default_pool` help. All threads call the same body.
/// Threads: any that may block. Blocks: until all calls have ended; the worker runs other forks during the wait.
/// Errors: one of the exceptions of `body`, rethrown when all chunks (parts of the range) that had begun have ended;
/// the other chunks are skipped. Cost: a few loads for each chunk.
template <std::integral First, std::integral Last, std::invocable<std::common_type_t<First, Last>> Body>
void parallel_for(First first, Last last, Body&& body, parallel_options options = {}) {
  using index = std::common_type_t<First, Last>;
  detail::parallel_for(detail::never_stopped{}, static_cast<index>(first), static_cast<index>(last), body, options);
}

/// Works like `parallel_for`, but skips chunks that have not begun when a stop is requested. Errors: if chunks were
/// skipped, errc::stopped, or the reason of the stop request if it has a reason.
template <stop_signal Signal, std::integral First, std::integral Last,
          std::invocable<std::common_type_t<First, Last>> Body>
[[nodiscard]] auto parallel_for(Signal&& stop, First first, Last last, Body&& body, parallel_options options = {})
    -> result<void> {
  using index = std::common_type_t<First, Last>;
  return detail::parallel_for(detail::stopped_by_t<Signal>(stop), static_cast<index>(first), static_cast<index>(last),
                              body, options);
}

namespace detail {

template <typename Stop, typename Iterator, typename Fn, typename Proj>
auto parallel_for_each(const Stop& stop, const Iterator& first, std::size_t count, Fn& fn, Proj& proj,
                       parallel_options options) -> unless_stopped<Stop, void> {
  const auto chunk = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i != to; ++i) std::invoke(fn, std::invoke(proj, at(first, i)));
  };
  return for_chunks(count, choose_grain(count, options), stop, chunk);
}

}  // namespace detail

/// Calls `fn(proj(element))` for each element. Requires a range with random access and a known size.
/// To use a pool of your choice, call `run_in(pool, [&] { parallel_for_each(range, fn); })`.
/// Threads, blocking, errors and cost are those of `parallel_for`.
template <detail::divisible_range Range, typename Fn, typename Proj = std::identity>
  requires std::invocable<Fn&, std::invoke_result_t<Proj&, std::ranges::range_reference_t<Range>>>
void parallel_for_each(Range&& range, Fn&& fn, Proj proj = {}, parallel_options options = {}) {
  detail::parallel_for_each(detail::never_stopped{}, std::ranges::begin(range), std::ranges::size(range), fn, proj,
                            options);
}

template <detail::divisible_range Range, typename Fn>
void parallel_for_each(Range&& range, Fn&& fn, parallel_options options) {
  parallel_for_each(range, fn, std::identity(), options);
}

template <typename Iterator, typename Sentinel, typename Fn, typename Proj = std::identity>
  requires detail::divisible_pair<Iterator, Sentinel>
void parallel_for_each(Iterator first, Sentinel last, Fn&& fn, Proj proj = {}, parallel_options options = {}) {
  const auto count = static_cast<std::size_t>(last - first);
  detail::parallel_for_each(detail::never_stopped{}, first, count, fn, proj, options);
}

/// Works like `parallel_for_each`, but skips chunks that have not begun when a stop is requested. Errors: if chunks
/// were skipped, errc::stopped, or the reason of the stop request if it has a reason.
template <stop_signal Signal, detail::divisible_range Range, typename Fn, typename Proj = std::identity>
[[nodiscard]] auto parallel_for_each(Signal&& stop, Range&& range, Fn&& fn, Proj proj = {},
                                     parallel_options options = {}) -> result<void> {
  return detail::parallel_for_each(detail::stopped_by_t<Signal>(stop), std::ranges::begin(range),
                                   std::ranges::size(range), fn, proj, options);
}

template <stop_signal Signal, detail::divisible_range Range, typename Fn>
[[nodiscard]] auto parallel_for_each(Signal&& stop, Range&& range, Fn&& fn, parallel_options options) -> result<void> {
  return parallel_for_each(stop, range, fn, std::identity(), options);
}

template <stop_signal Signal, typename Iterator, typename Sentinel, typename Fn, typename Proj = std::identity>
  requires detail::divisible_pair<Iterator, Sentinel>
[[nodiscard]] auto parallel_for_each(Signal&& stop, Iterator first, Sentinel last, Fn&& fn, Proj proj = {},
                                     parallel_options options = {}) -> result<void> {
  const auto count = static_cast<std::size_t>(last - first);
  return detail::parallel_for_each(detail::stopped_by_t<Signal>(stop), first, count, fn, proj, options);
}

/// Works like `parallel_for_each`, but for ranges without random access or without a size, such as lists, maps and
/// filtered views. It visits elements more than once, so the range must allow more than one pass. Use this only if
/// elements are large or calls are long. Cost: one pass over the range on the calling thread, and a vector of its
/// iterators. Errors: the errors of `parallel_for_each`; std::bad_alloc.
template <detail::walked_range Range, typename Fn, typename Proj = std::identity>
  requires std::invocable<Fn&, std::invoke_result_t<Proj&, std::ranges::range_reference_t<Range>>>
void parallel_for_each(Range&& range, Fn&& fn, Proj proj = {}, parallel_options options = {}) {
  const auto places = detail::places_in(range);
  const auto element = [&proj](const auto& place) -> decltype(auto) { return std::invoke(proj, *place); };
  parallel_for_each(places, fn, element, options);
}
template <detail::walked_range Range, typename Fn>
void parallel_for_each(Range&& range, Fn&& fn, parallel_options options) {
  parallel_for_each(range, fn, std::identity(), options);
}
template <stop_signal Signal, detail::walked_range Range, typename Fn, typename Proj = std::identity>
[[nodiscard]] auto parallel_for_each(Signal&& stop, Range&& range, Fn&& fn, Proj proj = {},
                                     parallel_options options = {}) -> result<void> {
  const auto places = detail::places_in(range);
  const auto element = [&proj](const auto& place) -> decltype(auto) { return std::invoke(proj, *place); };
  return parallel_for_each(stop, places, fn, element, options);
}
template <stop_signal Signal, detail::walked_range Range, typename Fn>
[[nodiscard]] auto parallel_for_each(Signal&& stop, Range&& range, Fn&& fn, parallel_options options) -> result<void> {
  return parallel_for_each(stop, range, fn, std::identity(), options);
}

namespace detail {

template <typename Stop, typename Iterator, typename T, typename Combine, typename Proj>
[[gnu::always_inline]] inline auto parallel_reduce(const Stop& stop, Iterator first, std::size_t count, T init,
                                                   Combine& combine, Proj& proj, parallel_options options)
    -> unless_stopped<Stop, T> {
  if (count == 0) return init;
  const reduction<T, Stop, Iterator, Combine, Proj> all(stop, std::move(first), combine, proj,
                                                        choose_grain(count, options));
  worker* const self = worker_of_thread;
  auto total = self != nullptr ? all.node(self, 0, count) : all.outside(0, count);
  if constexpr (std::is_same_v<Stop, never_stopped>) {
    return std::invoke(combine, std::move(init), std::move(total));
  } else {
    if (!total) return fail(*stop.reason());
    return std::invoke(combine, std::move(init), *std::move(total));
  }
}

}  // namespace detail

/// Combines `init` and all `proj(element)` with `combine`, which computes a T from two values and need not be
/// commutative. The order of the combinations depends only on the number of elements and the grain. So sums of
/// floating-point numbers are the same for any number of workers, but may differ from the sum of a plain loop. Threads,
/// errors and blocking are those of `parallel_for`.
template <detail::divisible_range Range, typename T, typename Combine, typename Proj = std::identity>
[[gnu::always_inline]] inline auto parallel_reduce(Range&& range, T init, Combine combine, Proj proj = {},
                                                   parallel_options options = {}) -> T {
  return detail::parallel_reduce(detail::never_stopped{}, std::ranges::begin(range), std::ranges::size(range),
                                 std::move(init), combine, proj, options);
}

template <typename Iterator, typename Sentinel, typename T, typename Combine, typename Proj = std::identity>
  requires detail::divisible_pair<Iterator, Sentinel>
auto parallel_reduce(Iterator first, Sentinel last, T init, Combine combine, Proj proj = {},
                     parallel_options options = {}) -> T {
  const auto count = static_cast<std::size_t>(last - first);
  return detail::parallel_reduce(detail::never_stopped{}, first, count, std::move(init), combine, proj, options);
}

/// Works like `parallel_reduce`, but returns no value if a stop was requested before all elements were processed.
/// Errors: errc::stopped, or the reason of the stop request if it has a reason.
template <stop_signal Signal, detail::divisible_range Range, typename T, typename Combine,
          typename Proj = std::identity>
[[nodiscard]] auto parallel_reduce(Signal&& stop, Range&& range, T init, Combine combine, Proj proj = {},
                                   parallel_options options = {}) -> result<T> {
  const detail::stopped_by_t<Signal> stopped(stop);
  return detail::parallel_reduce(stopped, std::ranges::begin(range), std::ranges::size(range), std::move(init), combine,
                                 proj, options);
}

/// Writes to `out[i]` the total of the elements up to and including i. Totals are computed by `combine`, which need not
/// be commutative. They have the type of the elements. `out` may be the beginning of the range. The order of the
/// combinations depends only on the number of elements and the grain.
/// Threads, blocking and errors are those of `parallel_for`; after an exception, the values that were written are
/// unspecified. Cost: each element is combined twice, unless all elements fit into one grain (by default 4096). Small
/// trivially copyable values, such as numbers, are combined into four independent totals at once, because a core can
/// execute independent additions in parallel.
template <detail::divisible_range Range, std::random_access_iterator Out, typename Combine = std::plus<>>
void parallel_inclusive_scan(Range&& range, Out out, Combine combine = {}, parallel_options options = {}) {
  using value = std::ranges::range_value_t<Range>;
  detail::scan_all<value>(detail::never_stopped{}, std::nullopt, range, out, combine, options);
}

/// Writes to `out[i]` the total of `init` and the elements before i. Returns the total of all elements. Threads,
/// blocking, errors and cost are those of `parallel_inclusive_scan`.
template <detail::divisible_range Range, std::random_access_iterator Out, typename T, typename Combine = std::plus<>>
auto parallel_exclusive_scan(Range&& range, Out out, T init, Combine combine = {}, parallel_options options = {}) -> T {
  return *detail::scan_all<T>(detail::never_stopped{}, std::optional<T>(std::move(init)), range, out, combine, options);
}

/// Works like the scans above, but skips parts that have not begun when a stop is requested. Errors: if parts were
/// skipped, errc::stopped, or the reason of the stop request if it has a reason.
template <stop_signal Signal, detail::divisible_range Range, std::random_access_iterator Out,
          typename Combine = std::plus<>>
[[nodiscard]] auto parallel_inclusive_scan(Signal&& stop, Range&& range, Out out, Combine combine = {},
                                           parallel_options options = {}) -> result<void> {
  using value = std::ranges::range_value_t<Range>;
  const detail::stopped_by_t<Signal> stopped(stop);
  if (auto done = detail::scan_all<value>(stopped, std::nullopt, range, out, combine, options); !done)
    return fail(done.error());
  return {};
}

template <stop_signal Signal, detail::divisible_range Range, std::random_access_iterator Out, typename T,
          typename Combine = std::plus<>>
[[nodiscard]] auto parallel_exclusive_scan(Signal&& stop, Range&& range, Out out, T init, Combine combine = {},
                                           parallel_options options = {}) -> result<T> {
  const detail::stopped_by_t<Signal> stopped(stop);
  auto done = detail::scan_all<T>(stopped, std::optional<T>(std::move(init)), range, out, combine, options);
  if (!done) return fail(done.error());
  return **std::move(done);
}

/// Sorts the range by `compare(proj(a), proj(b))`. The order of equal elements is unspecified. No memory is allocated.
/// Parts that are not larger than the grain (by default 2048 elements) are sorted by std::ranges::sort. Errors:
/// exceptions of comparisons and moves; elements may then be in a moved-from state, as with std::ranges::sort. Cost: a
/// single worker does the whole first partition, so sorting n elements takes at least the time of about 2 n
/// comparisons. Threads and blocking are those of `parallel_for`.
template <detail::divisible_range Range, typename Compare = std::ranges::less, typename Proj = std::identity>
  requires std::sortable<std::ranges::iterator_t<Range>, Compare, Proj>
void parallel_sort(Range&& range, Compare compare = {}, Proj proj = {}, parallel_options options = {}) {
  detail::sort_all(detail::never_stopped{}, detail::quick_sorter{}, range, compare, proj, options);
}

/// Sorts as `parallel_sort` does, but equal elements keep their order, and no element is lost if a comparison throws.
/// Errors: in addition, std::bad_alloc, because the function allocates memory for half of the elements.
template <detail::divisible_range Range, typename Compare = std::ranges::less, typename Proj = std::identity>
  requires std::sortable<std::ranges::iterator_t<Range>, Compare, Proj>
void parallel_stable_sort(Range&& range, Compare compare = {}, Proj proj = {}, parallel_options options = {}) {
  detail::sort_all(detail::never_stopped{}, detail::merge_sorter{}, range, compare, proj, options);
}

/// Sorts as `parallel_sort` does, but parts that have not begun when a stop is requested stay unsorted. Errors: if
/// parts were skipped, errc::stopped, or the reason of the stop request if it has a reason.
template <stop_signal Signal, detail::divisible_range Range, typename Compare = std::ranges::less,
          typename Proj = std::identity>
[[nodiscard]] auto parallel_sort(Signal&& stop, Range&& range, Compare compare = {}, Proj proj = {},
                                 parallel_options options = {}) -> result<void> {
  return detail::sort_all(detail::stopped_by_t<Signal>(stop), detail::quick_sorter{}, range, compare, proj, options);
}

template <stop_signal Signal, detail::divisible_range Range, typename Compare = std::ranges::less,
          typename Proj = std::identity>
[[nodiscard]] auto parallel_stable_sort(Signal&& stop, Range&& range, Compare compare = {}, Proj proj = {},
                                        parallel_options options = {}) -> result<void> {
  return detail::sort_all(detail::stopped_by_t<Signal>(stop), detail::merge_sorter{}, range, compare, proj, options);
}

}  // namespace braid
