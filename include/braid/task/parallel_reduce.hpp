// braid/task/parallel_reduce.hpp: one value from all elements of a range.
#pragma once

#include <braid/base/error.hpp>
#include <braid/task/detail/parallel_range.hpp>
#include <braid/task/detail/reduction.hpp>
#include <braid/task/detail/stopped_by.hpp>
#include <braid/task/parallel_options.hpp>
#include <braid/task/stop_signal.hpp>

#include <cstddef>
#include <functional>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>

namespace braid {

namespace detail {

template <typename Stop, typename Iterator, typename T, typename Combine, typename Proj>
[[gnu::always_inline]] inline auto parallel_reduce(const Stop& stop, Iterator first, std::size_t count, T init,
                                                   Combine& combine, Proj& proj, parallel_options how)
    -> unless_stopped<Stop, T> {
  if (count == 0) return init;
  const reduction<T, Stop, Iterator, Combine, Proj> all(stop, std::move(first), combine, proj, grain_of(count, how));
  worker* const self = worker_of_thread;
  auto total =
      self != nullptr ? all.node(self, 0, count) : run_elsewhere([&] { return all.node(worker_of_thread, 0, count); });
  if constexpr (std::is_same_v<Stop, never_stopped>) {
    return std::invoke(combine, std::move(init), std::move(total));
  } else {
    if (!total) return fail(*stop.reason());
    return std::invoke(combine, std::move(init), *std::move(total));
  }
}

}  // namespace detail

/// `init` and all `proj(element)`, joined by `combine`, which gives a T from two and need not commute. In which order
/// pairs are combined depends on the number of elements and the grain alone: so sums of floating-point numbers are the
/// same for any number of workers, though not those of a plain loop. Where, and what it throws: as `parallel_for`.
/// Blocks: as `parallel_for`.
template <detail::divisible_range Range, typename T, typename Combine, typename Proj = std::identity>
[[gnu::always_inline]] inline auto parallel_reduce(Range&& range, T init, Combine combine, Proj proj = {},
                                                   parallel_options how = {}) -> T {
  return detail::parallel_reduce(detail::never_stopped{}, std::ranges::begin(range), std::ranges::size(range),
                                 std::move(init), combine, proj, how);
}

template <typename Iterator, typename Sentinel, typename T, typename Combine, typename Proj = std::identity>
  requires detail::divisible_pair<Iterator, Sentinel>
auto parallel_reduce(Iterator first, Sentinel last, T init, Combine combine, Proj proj = {}, parallel_options how = {})
    -> T {
  const auto count = static_cast<std::size_t>(last - first);
  return detail::parallel_reduce(detail::never_stopped{}, first, count, std::move(init), combine, proj, how);
}

/// As above, but there is no value when a stop was requested before all elements were seen. Errors: errc::stopped, or
/// the reason of the flag.
template <stop_signal Signal, detail::divisible_range Range, typename T, typename Combine,
          typename Proj = std::identity>
[[nodiscard]] auto parallel_reduce(Signal&& stop, Range&& range, T init, Combine combine, Proj proj = {},
                                   parallel_options how = {}) -> result<T> {
  const detail::stopped_by_t<Signal> stopped(stop);
  return detail::parallel_reduce(stopped, std::ranges::begin(range), std::ranges::size(range), std::move(init), combine,
                                 proj, how);
}

}  // namespace braid
