// braid/task/parallel_for_each.hpp: a function for each element of a range, several at the same time.
#pragma once

#include <braid/base/error.hpp>
#include <braid/task/detail/parallel_range.hpp>
#include <braid/task/detail/stopped_by.hpp>
#include <braid/task/parallel_options.hpp>
#include <braid/task/stop_signal.hpp>

#include <cstddef>
#include <functional>
#include <iterator>
#include <ranges>

namespace braid {

namespace detail {

template <typename Stop, typename Iterator, typename Fn, typename Proj>
auto parallel_for_each(const Stop& stop, const Iterator& first, std::size_t count, Fn& fn, Proj& proj,
                       parallel_options how) -> unless_stopped<Stop, void> {
  const auto chunk = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i != to; ++i) std::invoke(fn, std::invoke(proj, at(first, i)));
  };
  return for_chunks(count, grain_of(count, how), stop, chunk);
}

}  // namespace detail

/// Calls `fn(proj(element))` for each element. Requires random access, and a size that is known.
/// On the workers of a pool of your choice: `run_in(pool, [&] { parallel_for_each(range, fn); })`.
/// Threads, blocks, errors and cost: as `parallel_for`.
template <detail::divisible_range Range, typename Fn, typename Proj = std::identity>
  requires std::invocable<Fn&, std::invoke_result_t<Proj&, std::ranges::range_reference_t<Range>>>
void parallel_for_each(Range&& range, Fn&& fn, Proj proj = {}, parallel_options how = {}) {
  detail::parallel_for_each(detail::never_stopped{}, std::ranges::begin(range), std::ranges::size(range), fn, proj,
                            how);
}

template <typename Iterator, typename Sentinel, typename Fn, typename Proj = std::identity>
  requires detail::divisible_pair<Iterator, Sentinel>
void parallel_for_each(Iterator first, Sentinel last, Fn&& fn, Proj proj = {}, parallel_options how = {}) {
  const auto count = static_cast<std::size_t>(last - first);
  detail::parallel_for_each(detail::never_stopped{}, first, count, fn, proj, how);
}

/// As above, but chunks that have not begun when a stop is requested are left out. Errors: errc::stopped, or the reason
/// of the flag, if any were.
template <stop_signal Signal, detail::divisible_range Range, typename Fn, typename Proj = std::identity>
[[nodiscard]] auto parallel_for_each(Signal&& stop, Range&& range, Fn&& fn, Proj proj = {}, parallel_options how = {})
    -> result<void> {
  return detail::parallel_for_each(detail::stopped_by_t<Signal>(stop), std::ranges::begin(range),
                                   std::ranges::size(range), fn, proj, how);
}

template <stop_signal Signal, typename Iterator, typename Sentinel, typename Fn, typename Proj = std::identity>
  requires detail::divisible_pair<Iterator, Sentinel>
[[nodiscard]] auto parallel_for_each(Signal&& stop, Iterator first, Sentinel last, Fn&& fn, Proj proj = {},
                                     parallel_options how = {}) -> result<void> {
  const auto count = static_cast<std::size_t>(last - first);
  return detail::parallel_for_each(detail::stopped_by_t<Signal>(stop), first, count, fn, proj, how);
}

}  // namespace braid
