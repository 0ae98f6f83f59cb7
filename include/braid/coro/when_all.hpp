// braid/coro/when_all.hpp: runs several tasks at the same time and waits for all of them (`when_all`) or for the first
// that returns a value (`when_any`).
#pragma once

#include <braid/base/error.hpp>
#include <braid/coro/schedule_on.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/task.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/task/detail/failure_of.hpp>
#include <braid/task/detail/inputs.hpp>
#include <braid/task/when_all.hpp>

#include <algorithm>
#include <array>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace braid {

namespace detail {

/// One of the tasks of a `when_all`, and its outcome. If this task fails or is stopped, the other tasks are stopped.
template <typename T>
class gathered {
 public:
  /// Begins the task. `failure` stores the first exception of all tasks. Requires that this object lives until no task
  /// is left in `scope`.
  void begin(scope& scope, std::exception_ptr& failure, task<T> work) noexcept {
    scope_ = &scope;
    failure_ = &failure;
    if (!scope.stop().requested()) scope.begin(std::move(work), *this);
  }

  /// Called by the scope once the task has ended.
  void root_ended(std::coroutine_handle<task_promise<T>> frame) noexcept {
    try {
      ended_ = std::move(frame.promise().result());
    } catch (...) {
      ended_.set_exception(std::current_exception());
    }
    frame.destroy();
    if (ended_.has_exception() && *failure_ == nullptr) *failure_ = ended_.exception();
    is_stopped_by_itself_ = ended_.is_stopped() && !scope_->stop().requested();
    if (!ended_.has_value()) scope_->request_stop();
  }

  /// Returns whether the task ended as stopped although its scope was not stopped. In that case this task is the reason
  /// why the other tasks are stopped.
  [[nodiscard]] auto is_stopped_by_itself() const noexcept -> bool { return is_stopped_by_itself_; }

  /// Returns the outcome of the task. A task that did not begin counts as stopped.
  [[nodiscard]] auto ended() noexcept -> outcome<T>& { return ended_; }

 private:
  outcome<T> ended_;
  scope* scope_ = nullptr;
  std::exception_ptr* failure_ = nullptr;
  bool is_stopped_by_itself_ = false;
};

/// Throws if the scope was stopped by its own `request_stop`. Errors: std::system_error with the reason of the stop.
inline void expect_no_own_stop(const scope& scope) {
  if (scope.has_own_stop())
    throw std::system_error(make_error_code(scope.stop().reason()), "one of the tasks has stopped their common scope");
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

/// The type of the combined result of several tasks of one type.
template <typename T>
using all_values = std::conditional_t<std::is_void_v<T>, void, std::vector<held<T>>>;

template <typename Each, std::size_t... Index>
auto all_held(Each& each, std::index_sequence<Index...> /*each*/) {
  return std::tuple(held_value(std::get<Index>(each).ended())...);
}

}  // namespace detail

/// Runs all tasks in a scope of their own and returns their values as a tuple. In the tuple, a std::monostate stands
/// for void, and a std::reference_wrapper for a reference. The first task that throws, or ends as stopped, stops the
/// others. All tasks have ended when `when_all` ends. The tasks start one after the other, on the caller's home (the
/// serial executor that the caller is bound to). Each task runs until its first wait before the next task starts. (If
/// calls are deeply nested, first steps are queued instead, see `scope::spawn`.) Threads: any; the tasks run on the
/// home of the caller. Errors: rethrows the first exception; std::system_error with errc::stopped if a task has stopped
/// the common scope. If nothing stopped the common scope, and a task ends as stopped nevertheless, `when_all` ends as
/// stopped too.
template <typename... T>
  requires(sizeof...(T) > 0)
auto when_all(task<T>... work) -> task<std::tuple<detail::held<T>...>> {
  co_await resume_home();
  std::tuple<detail::gathered<T>...> all;
  std::exception_ptr failure;
  scope& around = co_await this_scope();
  scope children(around);
  std::apply([&](auto&... each) { (each.begin(children, failure, std::move(work)), ...); }, all);
  co_await children.join();
  if (failure != nullptr) std::rethrow_exception(failure);
  const bool stopped = std::apply([](auto&... each) { return (each.ended().is_stopped() || ...); }, all);
  const bool by_task = std::apply([](auto&... each) { return (each.is_stopped_by_itself() || ...); }, all);
  if (stopped && !by_task) detail::expect_no_own_stop(children);
  if (stopped) co_await stop_here();
  co_return detail::all_held(all, std::index_sequence_for<T...>());
}

/// Works like `when_all` of several tasks, but for any number of tasks of one type. Returns a vector of their values in
/// the order of the tasks, or nothing if they return void. Values that a vector cannot hold are converted as in
/// `when_all` of several tasks.
/// Errors: the same as for `when_all` of several tasks.
template <typename T>
auto when_all(std::vector<task<T>> work) -> task<detail::all_values<T>> {
  co_await resume_home();
  std::vector<detail::gathered<T>> all(work.size());
  std::exception_ptr failure;
  scope& around = co_await this_scope();
  scope children(around);
  for (std::size_t i = 0; i < work.size(); ++i) all[i].begin(children, failure, std::move(work[i]));
  co_await children.join();
  if (failure != nullptr) std::rethrow_exception(failure);
  const bool by_task = std::ranges::any_of(all, [](auto& each) { return each.is_stopped_by_itself(); });
  for (auto& each : all) {
    if (!each.ended().is_stopped()) continue;
    if (!by_task) detail::expect_no_own_stop(children);
    co_await stop_here();
  }
  if constexpr (!std::is_void_v<T>) {
    detail::all_values<T> values;
    values.reserve(all.size());
    for (auto& each : all) values.push_back(detail::held_value(each.ended()));
    co_return values;
  }
}

/// Works like `when_all` of tasks, but for anything that can be awaited: see `as_task`. Errors: the same as for
/// `when_all` of tasks.
template <typename... A>
  requires detail::not_only_tasks<A...>
BRAID_COROUTINE_WRAPPER auto when_all(A&&... work) -> task<std::tuple<detail::held<detail::task_value_t<A>>...>> {
  return when_all(as_task(std::forward<A>(work))...);
}

namespace detail {

/// The state of a `when_any`: the task that won, and the first failure. It is used only on the home of the caller.
struct race {
  std::optional<std::size_t> winner;
  std::exception_ptr failure;  // the failure of the first task that failed, or was stopped by the scope itself

  /// Runs one of several tasks. The first task that returns a value stores its outcome in `into` and stops the others.
  template <typename T>
  auto run(scope& scope, std::size_t index, task<T> work, outcome<T>& into) -> task<void> {
    if (winner) co_return;  // its first step was queued, and an earlier task has already won
    outcome<T> ended = co_await as_outcome(std::move(work));
    co_await resume_home();
    if (ended.has_exception() && failure == nullptr) failure = ended.exception();
    if (ended.is_stopped() && !winner && failure == nullptr && scope.has_own_stop())
      failure = failure_of(scope.stop().reason());
    if (!ended.has_value() || winner) co_return;
    winner = index;
    into = std::move(ended);
    scope.request_stop();
  }

  /// Called if no task has won. Throws the first failure; if there is no failure, ends as stopped.
  auto lost() -> task<void> {
    if (failure != nullptr) std::rethrow_exception(failure);
    co_await stop_here();
  }
};

template <typename T>
auto held_outcome(outcome<T>& from) -> held<T> {
  if constexpr (std::is_void_v<T>) {
    from.take();
    return {};
  } else {
    return held<T>(from.take());
  }
}

template <typename Variant, typename... T, std::size_t... Index>
auto value_at(std::size_t index, std::tuple<outcome<T>...>& from, std::index_sequence<Index...> /*each*/) -> Variant {
  using take_fn = Variant (*)(std::tuple<outcome<T>...>&);
  constexpr std::array<take_fn, sizeof...(T)> take{+[](std::tuple<outcome<T>...>& all) {
    return Variant(std::in_place_index<Index>, held_outcome(std::get<Index>(all)));
  }...};
  return take[index](from);
}

}  // namespace detail

/// Runs all tasks in a scope of their own until the first task returns a value. The result is a std::variant with one
/// alternative for each task; its index is the index of the task that won. The other tasks are stopped, and have ended
/// when `when_any` ends; values that they still return are dropped. The tasks start one after the other, on the home of
/// the caller. Each task runs until its first wait before the next task starts. (If calls are deeply nested, first
/// steps are queued instead, see `scope::spawn`.) Once a task has returned a value, the tasks after it do not start.
/// Threads: any; the tasks run on the home of the caller. Errors: if no task returns a value, rethrows the first
/// failure, or std::system_error with errc::stopped if a task has stopped the common scope. If there is no failure
/// either, `when_any` ends as stopped.
template <typename... T>
  requires(sizeof...(T) > 0)
auto when_any(task<T>... work) -> task<any_result<std::variant<detail::held<T>...>>> {
  using variant = std::variant<detail::held<T>...>;
  std::tuple<outcome<T>...> ended;
  detail::race race;
  auto start = [&](scope& children) -> task<void> {
    std::size_t index = 0;
    auto each = [&](outcome<T>&... into) { (children.spawn(race.run(children, index++, std::move(work), into)), ...); };
    std::apply(each, ended);
    co_return;
  };
  co_await with_scope(std::ref(start));
  if (!race.winner) co_await race.lost();
  using result = any_result<variant>;
  co_return result{*race.winner, detail::value_at<variant>(*race.winner, ended, std::index_sequence_for<T...>())};
}

/// Works like `when_any` of several tasks, but for any number of tasks of one type. Errors: the same as for `when_any`
/// of several tasks; errc::invalid_argument if there are no tasks.
template <typename T>
auto when_any(std::vector<task<T>> work) -> task<any_result<T>> {
  if (work.empty())
    throw std::system_error(make_error_code(errc::invalid_argument), "when_any needs at least one task, got none");
  outcome<T> ended;
  detail::race race;
  auto start = [&](scope& children) -> task<void> {
    for (std::size_t i = 0; i < work.size(); ++i) children.spawn(race.run(children, i, std::move(work[i]), ended));
    co_return;
  };
  co_await with_scope(std::ref(start));
  if (!race.winner) co_await race.lost();
  if constexpr (std::is_void_v<T>)
    co_return any_result<T>{*race.winner};
  else
    co_return any_result<T>{*race.winner, ended.take()};
}

/// Works like `when_any` of tasks, but for anything that can be awaited: see `as_task`. Errors: the same as for
/// `when_any` of tasks.
template <typename... A>
  requires detail::not_only_tasks<A...>
BRAID_COROUTINE_WRAPPER auto when_any(A&&... work)
    -> task<any_result<std::variant<detail::held<detail::task_value_t<A>>...>>> {
  return when_any(as_task(std::forward<A>(work))...);
}

}  // namespace braid
