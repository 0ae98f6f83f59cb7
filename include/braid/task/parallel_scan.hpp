// braid/task/parallel_scan.hpp: running totals over a range.
#pragma once

#include <braid/base/error.hpp>
#include <braid/task/detail/parallel_scanner.hpp>
#include <braid/task/detail/parallel_range.hpp>
#include <braid/task/detail/stopped_by.hpp>
#include <braid/task/parallel_options.hpp>
#include <braid/task/stop_signal.hpp>

#include <functional>
#include <iterator>
#include <ranges>
#include <utility>

namespace braid {

/// Writes to `out[i]` the total of the elements up to and with i, joined by `combine`, which need not commute; totals
/// have the type of the elements. `out` may be the begin of the range. In which order pairs are combined depends on the
/// number of elements and the grain alone.
/// Threads, blocks, errors: as `parallel_for`; after an exception the values that were written are unspecified.
/// Cost: each element is combined twice, unless all fit into one grain (by default 4096); small values that are copied
/// as bytes, such as numbers, in four places at once, because additions that wait for each other take longer.
template <detail::divisible_range Range, std::random_access_iterator Out, typename Combine = std::plus<>>
void parallel_inclusive_scan(Range&& range, Out out, Combine combine = {}, parallel_options how = {}) {
  using value = std::ranges::range_value_t<Range>;
  detail::scan_all<value>(detail::never_stopped{}, std::nullopt, range, out, combine, how);
}

/// Writes to `out[i]` the total of `init` and the elements before i; gives the total of all. Threads, blocks, errors
/// and cost: as `parallel_inclusive_scan`.
template <detail::divisible_range Range, std::random_access_iterator Out, typename T, typename Combine = std::plus<>>
auto parallel_exclusive_scan(Range&& range, Out out, T init, Combine combine = {}, parallel_options how = {}) -> T {
  return *detail::scan_all<T>(detail::never_stopped{}, std::optional<T>(std::move(init)), range, out, combine, how);
}

/// As above, but parts that have not begun when a stop is requested are left out. Errors: errc::stopped, or the reason
/// of the flag, if any were.
template <stop_signal Signal, detail::divisible_range Range, std::random_access_iterator Out,
          typename Combine = std::plus<>>
[[nodiscard]] auto parallel_inclusive_scan(Signal&& stop, Range&& range, Out out, Combine combine = {},
                                           parallel_options how = {}) -> result<void> {
  using value = std::ranges::range_value_t<Range>;
  const detail::stopped_by_t<Signal> stopped(stop);
  if (auto done = detail::scan_all<value>(stopped, std::nullopt, range, out, combine, how); !done)
    return fail(done.error());
  return {};
}

template <stop_signal Signal, detail::divisible_range Range, std::random_access_iterator Out, typename T,
          typename Combine = std::plus<>>
[[nodiscard]] auto parallel_exclusive_scan(Signal&& stop, Range&& range, Out out, T init, Combine combine = {},
                                           parallel_options how = {}) -> result<T> {
  const detail::stopped_by_t<Signal> stopped(stop);
  auto done = detail::scan_all<T>(stopped, std::optional<T>(std::move(init)), range, out, combine, how);
  if (!done) return fail(done.error());
  return **std::move(done);
}

}  // namespace braid
