// braid/task/detail/refused_call.hpp: produces one clear compile error for a call with wrong arguments, instead of a
// list of overloads.
#pragma once

#include <braid/sync/stop_flag.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/job.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

namespace braid::detail {

/// The kinds of work that `spawn` and `post` accept for an executor, a home or a scope.
enum class place_kind : std::uint8_t { none, functions_and_tasks, tasks_only };

template <typename Where>
inline constexpr place_kind place_kind_of =
    std::derived_from<Where, executor> ? place_kind::functions_and_tasks : place_kind::none;

template <typename Where>
concept work_place = place_kind_of<Where> != place_kind::none;

/// True for a task, by value or reference.
template <typename T>
inline constexpr bool is_lazy_argument = is_lazy_work<std::remove_cvref_t<T>>;

/// True for a fork_task, which can only run on a pool.
template <typename T>
concept computed_task = is_lazy_argument<T> && requires { typename std::remove_cvref_t<T>::is_computed; };

/// True for a task that produces no value. `post` accepts no other tasks.
template <typename T>
inline constexpr bool is_valueless_task = false;
template <typename T>
  requires(is_lazy_argument<T> && !computed_task<T>)
inline constexpr bool is_valueless_task<T> = std::is_void_v<typename std::remove_cvref_t<T>::value_type>;

/// The type of the result when a copy of the callable is called with copies of the arguments. It is void if this call
/// is not possible.
template <typename... All>
struct returned_work {
  using type = void;
};
template <typename Fn, typename... Args>
  requires std::invocable<std::decay_t<Fn>&, std::decay_t<Args>...>
struct returned_work<Fn, Args...> : std::invoke_result<std::decay_t<Fn>&, std::decay_t<Args>...> {};

template <typename... All>
concept returns_computed_task = computed_task<typename returned_work<All...>::type>;

/// True if calling the callable with the arguments returns a task that is not a fork_task.
template <typename... All>
inline constexpr bool returns_lazy_work =
    is_lazy_argument<typename returned_work<All...>::type> && !returns_computed_task<All...>;

struct has_call_operator {
  void operator()();
};
template <typename T>
struct doubled_call_operator : T, has_call_operator {};

/// True if objects of the type can be called with some arguments. To check a class, a new class is derived from it and
/// from another class that has a call operator. If the name operator() is ambiguous in the derived class, the checked
/// class has a call operator (or a template of one), too.
template <typename T>
inline constexpr bool has_call = std::is_function_v<std::remove_pointer_t<T>> || std::is_member_pointer_v<T>;
template <typename T>
  requires(std::is_class_v<T> && !std::is_final_v<T>)
inline constexpr bool has_call<T> = !requires { &doubled_call_operator<T>::operator(); };
template <typename T>
  requires(std::is_class_v<T> && std::is_final_v<T>)
inline constexpr bool has_call<T> = true;  // unknown

/// Describes what is wrong with a callable and its arguments.
enum class call_fault : std::uint8_t {
  no_callable,
  fork_task,
  task_for_callable,
  not_callable,
  throwing_destructor,
  not_movable,
  needs_arguments,
  wrong_arguments,
};

template <typename Fn, typename... Args>
consteval auto find_call_fault() -> call_fault {
  if (computed_task<Fn> || returns_computed_task<Fn, Args...>) return call_fault::fork_task;
  if (is_lazy_argument<Fn>) return call_fault::task_for_callable;
  if (!has_call<std::decay_t<Fn>>) return call_fault::not_callable;
  if (!(std::is_nothrow_destructible_v<std::decay_t<Fn>> && ... && std::is_nothrow_destructible_v<std::decay_t<Args>>))
    return call_fault::throwing_destructor;
  if (!(std::constructible_from<std::decay_t<Fn>, Fn> && ... && std::constructible_from<std::decay_t<Args>, Args>))
    return call_fault::not_movable;
  return sizeof...(Args) == 0 ? call_fault::needs_arguments : call_fault::wrong_arguments;
}
template <typename... All>
consteval auto first_call_fault() -> call_fault {
  if constexpr (sizeof...(All) == 0)
    return call_fault::no_callable;
  else
    return find_call_fault<All...>();
}

/// Ends the compilation with a clear message. `All` consists of a callable and of arguments with which the callable
/// cannot be called.
template <typename... All>
struct refused_call {
  static constexpr call_fault found = first_call_fault<All...>();
  static constexpr bool has_callable = found != call_fault::no_callable;
  static constexpr bool has_no_fork_task = found != call_fault::fork_task;
  static constexpr bool has_no_task = found != call_fault::task_for_callable;
  static constexpr bool is_callable = found != call_fault::not_callable;
  static constexpr bool has_safe_destructor = found != call_fault::throwing_destructor;
  static constexpr bool is_movable = found != call_fault::not_movable;
  static constexpr bool needs_no_arguments = found != call_fault::needs_arguments;
  static constexpr bool accepts_arguments = found != call_fault::wrong_arguments;
  static_assert(has_callable, "expected a callable and its arguments, got no callable");
  static_assert(
      has_no_fork_task,
      "a fork_task runs only on a pool: call spawn(pool, work) or run_in(pool, work) with the fork_task itself");
  static_assert(has_no_task,
                "expected a callable, got a task: pass the function that returns the task, or co_await the task");
  static_assert(is_callable, "expected a function, a lambda or another callable, got an object that cannot be called");
  static_assert(has_safe_destructor,
                "the callable and its arguments are destroyed with the job, and the destructor of one of them may "
                "throw: declare it noexcept");
  static_assert(is_movable,
                "the callable and its arguments must be copyable or movable, because they are stored in the job: pass "
                "an object by std::move, or refer to it by std::ref");
  static_assert(needs_no_arguments,
                "the callable cannot be called without arguments: capture the arguments in a lambda");
  static_assert(accepts_arguments,
                "the callable cannot be called with these arguments: check their number and types; it receives copies "
                "as rvalues, and std::ref passes a reference");
};

/// Ends the compilation as `refused_call` does, for an executor that runs only tasks.
template <typename... All>
struct refused_task {
  static constexpr bool is_task = (is_lazy_argument<All> || ...);
  static_assert(is_task, "expected a task, or a callable that returns a task: this executor or scope runs only tasks");
  static_assert(!is_task, "a task takes no arguments: pass them to the function that returns the task");
};

/// Ends the compilation as `refused_call` does, for the arguments that follow the executor in a call of `spawn`.
template <place_kind Kind, typename... All>
struct refused_spawn : std::conditional_t<Kind == place_kind::tasks_only, refused_task<All...>, refused_call<All...>> {
};
template <place_kind Kind, typename Level, typename... All>
  requires(Kind == place_kind::functions_and_tasks && std::same_as<std::remove_cvref_t<Level>, priority>)
struct refused_spawn<Kind, Level, All...> : refused_call<All...> {};
template <place_kind Kind, typename Signal, typename... All>
  requires(Kind == place_kind::functions_and_tasks && stop_signal<Signal>)
struct refused_spawn<Kind, Signal, All...> : refused_call<All...> {};

/// Ends the compilation as `refused_call` does, for the arguments that follow the executor in a call of `post`.
template <place_kind Kind, typename... All>
struct refused_post : refused_spawn<Kind, All...> {};
template <place_kind Kind, typename Fn, typename... Args>
  requires(sizeof...(Args) > 0 && !std::same_as<std::remove_cvref_t<Fn>, priority>)
struct refused_post<Kind, Fn, Args...> {
  static_assert(sizeof...(Args) == 0,
                "post takes no arguments for the callable: capture them in a lambda, or call spawn");
};
template <place_kind Kind, typename Work>
  requires(is_lazy_argument<Work> && !computed_task<Work>)
struct refused_post<Kind, Work> {
  static_assert(is_valueless_task<Work>, "post would drop the value of the task: spawn returns a future of it");
};

}  // namespace braid::detail
