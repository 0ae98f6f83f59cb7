// braid/coro/when_all.hpp: running several tasks at once, and going on when all of them have ended.
#pragma once

#include <braid/coro/awaitable.hpp>
#include <braid/coro/outcome.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/task.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/task/detail/inputs.hpp>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace braid {

namespace detail {

/// Runs one of several tasks. Where it fails the scope stops the others; where it stops, this does.
template <typename T>
auto keep_outcome(scope& all, task<T> work, outcome<T>& into) -> task<void> {
  into = co_await as_outcome(std::move(work));
  if (into.has_exception()) std::rethrow_exception(into.exception());
  if (into.is_stopped()) all.request_stop();
}

template <typename T>
auto held_value(outcome<T>& from) -> held<T> {
  if constexpr (std::is_void_v<T>) {
    from.take();
    return {};
  } else {
    return held<T>(from.take());
  }
}

template <typename Values, std::size_t... Index>
auto all_held(Values& values, std::index_sequence<Index...> /*each*/) {
  return std::tuple(held_value(std::get<Index>(values))...);
}

}  // namespace detail

/// Runs all tasks in a scope of their own and gives their values: std::monostate for nothing, std::reference_wrapper
/// for a reference. The first that throws, or ends as stopped, stops the others; all have ended when this does. Each
/// runs on the home of the caller until its first wait before the next one starts, but where `scope::spawn` queues
/// first steps. Threads: any; the tasks run at home. Errors: rethrows what the first one threw. Ends as stopped where
/// one of them did.
template <typename... T>
  requires(sizeof...(T) > 0)
auto when_all(task<T>... work) -> task<std::tuple<detail::held<T>...>> {
  std::tuple<outcome<T>...> ended;
  auto start = [&](scope& children) -> task<void> {
    auto each = [&](outcome<T>&... into) {
      (children.spawn(detail::keep_outcome(children, std::move(work), into)), ...);
    };
    std::apply(each, ended);
    co_return;
  };
  co_await with_scope(std::ref(start));
  const bool stopped = std::apply([](const auto&... each) { return (each.is_stopped() || ...); }, ended);
  if (stopped) co_await stop_here();
  co_return std::tuple<detail::held<T>...>(detail::all_held(ended, std::index_sequence_for<T...>()));
}

/// The same for any number of tasks of one type, in their order. What does not fit a vector comes as `when_all` of
/// several says. Errors: as above.
template <typename T>
  requires(!std::is_void_v<T>)
auto when_all(std::vector<task<T>> work) -> task<std::vector<detail::held<T>>> {
  std::vector<outcome<T>> ended(work.size());
  auto start = [&](scope& children) -> task<void> {
    for (std::size_t i = 0; i < work.size(); ++i)
      children.spawn(detail::keep_outcome(children, std::move(work[i]), ended[i]));
    co_return;
  };
  co_await with_scope(std::ref(start));
  std::vector<detail::held<T>> values;
  values.reserve(ended.size());
  for (auto& one : ended) {
    if (one.is_stopped()) co_await stop_here();
    values.push_back(detail::held_value(one));
  }
  co_return values;
}

/// The same for tasks that give nothing. Errors: as above.
inline auto when_all(std::vector<task<void>> work) -> task<void> {
  std::vector<outcome<void>> ended(work.size());
  auto start = [&](scope& children) -> task<void> {
    for (std::size_t i = 0; i < work.size(); ++i)
      children.spawn(detail::keep_outcome(children, std::move(work[i]), ended[i]));
    co_return;
  };
  co_await with_scope(std::ref(start));
  for (const auto& one : ended)
    if (one.is_stopped()) co_await stop_here();
}

/// The same for anything that can be awaited: see `as_task`. Errors: as above.
template <typename... A>
  requires detail::not_only_tasks<A...>
auto when_all(A&&... work) -> task<std::tuple<detail::held<detail::task_value_t<A>>...>> {
  return when_all(as_task(std::forward<A>(work))...);
}

}  // namespace braid
