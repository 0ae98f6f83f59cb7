// braid/task/parallel_for.hpp: a loop over numbers whose iterations may run at the same time.
#pragma once

#include <braid/base/error.hpp>
#include <braid/task/detail/parallel_range.hpp>
#include <braid/task/detail/stopped_by.hpp>
#include <braid/task/parallel_options.hpp>
#include <braid/task/stop_signal.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <type_traits>

namespace braid {

namespace detail {

template <typename Stop, typename Index, typename Body>
auto parallel_for(const Stop& stop, Index first, Index last, Body& body, parallel_options how)
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
  return for_chunks(count, grain_of(count, how), stop, chunk);
}

}  // namespace detail

/// Calls `body(i)` for each i from `first` to before `last`, of the common type of both, on this worker and on those of
/// its pool that have nothing else to do; from a thread that is no worker, in `default_pool`. The one body is called by
/// all of them. Threads: any that may block. Blocks: until all have ended; the worker runs forks of others meanwhile.
/// Errors: what `body` throws, one of it, when the chunks that had begun have ended; the others are left out. Cost: a
/// few loads for each chunk.
template <std::integral First, std::integral Last, std::invocable<std::common_type_t<First, Last>> Body>
void parallel_for(First first, Last last, Body&& body, parallel_options how = {}) {
  using index = std::common_type_t<First, Last>;
  detail::parallel_for(detail::never_stopped{}, static_cast<index>(first), static_cast<index>(last), body, how);
}

/// As above, but chunks that have not begun when a stop is requested are left out. Errors: errc::stopped, or the reason
/// of the flag, if any were.
template <stop_signal Signal, std::integral First, std::integral Last,
          std::invocable<std::common_type_t<First, Last>> Body>
[[nodiscard]] auto parallel_for(Signal&& stop, First first, Last last, Body&& body, parallel_options how = {})
    -> result<void> {
  using index = std::common_type_t<First, Last>;
  return detail::parallel_for(detail::stopped_by_t<Signal>(stop), static_cast<index>(first), static_cast<index>(last),
                              body, how);
}

}  // namespace braid
