// braid/task/batch.hpp: whole ranges of work, posted or spawned with one call.
#pragma once

#include <braid/base/error.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/future.hpp>
#include <braid/task/spawn.hpp>

#include <ranges>
#include <type_traits>
#include <utility>
#include <vector>

namespace braid {

namespace detail {

/// The elements of a container that was handed over are moved away; those of anything else are copied.
template <std::ranges::range R>
auto handed_over(std::ranges::iterator_t<R> at) -> decltype(auto) {
  if constexpr (!std::is_lvalue_reference_v<R> && !std::ranges::view<std::remove_cvref_t<R>>)
    return std::ranges::iter_move(at);
  else
    return *at;
}

template <typename R>
using element = decltype(handed_over<R>(std::declval<std::ranges::iterator_t<R>>()));

template <std::ranges::range R, typename T>
auto vector_for(R& range) -> std::vector<T> {
  std::vector<T> made;
  if constexpr (std::ranges::sized_range<R>) made.reserve(std::ranges::size(range));
  return made;
}

}  // namespace detail

/// Runs every callable of `range` on `where`, in no promised order. Those of a container that is an rvalue are moved,
/// others are copied.
/// Threads: any. Errors: errc::closed as soon as one is refused; those before it were taken, those from it on are not
/// called.
template <std::ranges::input_range R>
  requires job_function<detail::element<R>>
[[nodiscard]] auto post_all(executor& where, R&& range) -> result<void> {
  for (auto at = std::ranges::begin(range); at != std::ranges::end(range); ++at) {
    auto posted = post(where, detail::handed_over<R>(at));
    if (!posted) return posted;
  }
  return {};
}

/// Spawns every callable of `range`. One future for each, in their order.
/// Threads: any. Errors: in each future, as `spawn`.
template <std::ranges::input_range R>
  requires spawnable<detail::element<R>>
auto spawn_all(executor& where, R&& range) -> std::vector<spawned_future<detail::element<R>>> {
  auto futures = detail::vector_for<R, spawned_future<detail::element<R>>>(range);
  for (auto at = std::ranges::begin(range); at != std::ranges::end(range); ++at)
    futures.push_back(spawn(where, detail::handed_over<R>(at)));
  return futures;
}

/// Spawns `fn(element)` for every element, each with copies of both: let the elements be pointers or spans where they
/// are large. One future for each, in their order. Threads: any. Errors: in each future, as `spawn`.
template <std::ranges::input_range R, typename Fn>
  requires spawnable<const std::decay_t<Fn>&, detail::element<R>>
auto spawn_all(executor& where, R&& range, const Fn& fn)
    -> std::vector<spawned_future<const std::decay_t<Fn>&, detail::element<R>>> {
  auto futures = detail::vector_for<R, spawned_future<const std::decay_t<Fn>&, detail::element<R>>>(range);
  for (auto at = std::ranges::begin(range); at != std::ranges::end(range); ++at)
    futures.push_back(spawn(where, fn, detail::handed_over<R>(at)));
  return futures;
}

}  // namespace braid
