// braid/task/fork_join.hpp: forks whose end the forking worker waits for: a fixed set of calls, or a group of calls.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/stop_flag.hpp>
#include <braid/task/detail/call_outcome.hpp>
#include <braid/task/detail/fork.hpp>
#include <braid/task/detail/fork_record.hpp>
#include <braid/task/detail/job_block.hpp>
#include <braid/task/detail/refused_call.hpp>
#include <braid/task/detail/stopped_by.hpp>
#include <braid/task/job.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/worker.hpp>

#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

namespace braid {

namespace detail {

/// A callable without parameters that can be forked. It must not return a task, because the fork would not run the
/// task.
template <typename Fn>
concept forkable = std::move_constructible<Fn> && std::invocable<Fn&> && !is_lazy_work<std::invoke_result_t<Fn&>>;

/// True for callables that can be forked by value.
template <typename Fn>
inline constexpr bool is_copied_callable = std::constructible_from<std::decay_t<Fn>, Fn> && forkable<std::decay_t<Fn>>;

}  // namespace detail

/// Calls all functions and returns their results as a tuple: void becomes std::monostate, an lvalue reference stays a
/// reference. If all functions return void, the result is void. The first function runs on this thread; the other
/// functions may run on other workers of its pool. On a thread that is not a worker, everything runs in `default_pool`.
/// The functions do not necessarily run at the same time. So no function should wait for another of these functions,
/// for instance for a promise that the other function sets. If a function waits for another one nevertheless, a spare
/// thread runs the other function if possible (docs/pools.md, "Waits in forks").
/// Blocks: until all functions have ended. While it waits for functions that a thief took, the worker runs other forks,
/// but no posted jobs. Errors: an exception of one of the functions, rethrown when all functions that had begun have
/// ended; the other functions are not called. Cost: close to that of plain calls while no thief requests work.
template <detail::forkable First, detail::forkable... Rest>
  requires(sizeof...(Rest) > 0)
[[gnu::always_inline]] inline auto fork_join(First first, Rest... rest) {
  if constexpr (detail::gives_nothing<First, Rest...>)
    static_cast<void>(detail::fork_several(first, rest...));
  else
    return detail::results_of<First, Rest...>(detail::fork_several(first, rest...));
}

/// Calls both functions, passes their results to `combine`, and returns the result of `combine`. Neither function may
/// return void. If `combine` is a simple operation such as a sum, the compiler may turn the last call of a recursion
/// into a loop. In other respects, this works like `fork_join`.
template <detail::forkable Left, detail::forkable Right, typename Combine>
[[gnu::always_inline]] inline auto fork_combine(Left left, Right right, Combine combine)
    -> std::invoke_result_t<Combine&, detail::result_of<Left>, detail::result_of<Right>> {
  worker* const self = detail::worker_of_thread;
  if (self == nullptr || !self->has_enough_forks()) [[unlikely]]
    return detail::fork_two_and_combine(self, std::move(left), std::move(right), std::move(combine));
  decltype(auto) first = left();
  return std::invoke(combine, std::forward<decltype(first)>(first), right());
}

/// Works like `fork_join`, but skips functions that have not begun when a stop is requested. If functions were skipped,
/// there are no results. Errors: errc::stopped, or the reason of the stop request if it has a reason.
template <stop_signal Signal, detail::forkable First, detail::forkable... Rest>
  requires(sizeof...(Rest) > 0)
auto fork_join(Signal&& stop, First first, Rest... rest) {
  static_assert(!(std::is_lvalue_reference_v<detail::result_of<First>> || ... ||
                  std::is_lvalue_reference_v<detail::result_of<Rest>>),
                "a fork that may be stopped cannot return a reference: return a pointer");
  constexpr bool nothing = detail::gives_nothing<First, Rest...>;
  using whole = result<std::conditional_t<nothing, void, detail::results_of<First, Rest...>>>;
  const detail::stopped_by_t<Signal> stopped(stop);
  auto all = fork_join([&] { return detail::call_unless(stopped, first); },
                       [&] { return detail::call_unless(stopped, rest); }...);
  return std::apply(
      [&](auto&... each) -> whole {
        if (!(each.has_value() && ...)) return fail(*stopped.reason());
        if constexpr (nothing)
          return {};
        else
          return detail::results_of<First, Rest...>(std::move(*each)...);
      },
      all);
}

namespace detail {

/// True if an overload of `fork_join` accepts the arguments. It is also true for tasks, whose overloads are in the
/// coroutine layer.
template <typename... All>
inline constexpr bool can_fork = false;
template <typename First, typename... Rest>
inline constexpr bool can_fork<First, Rest...> =
    (is_lazy_argument<First> || ... || is_lazy_argument<Rest>) ||
    (sizeof...(Rest) > 0 && (is_copied_callable<First> && ... && is_copied_callable<Rest>));
template <typename Signal, typename First, typename... Rest>
  requires stop_signal<Signal>
inline constexpr bool can_fork<Signal, First, Rest...> = can_fork<First, Rest...>;

/// Ends the compilation with a clear message for invalid arguments of a `fork_join`.
template <typename... All>
struct refused_fork {
  static constexpr bool returns_task = (is_lazy_argument<typename returned_work<All>::type> || ...);
  static constexpr bool is_callable = returns_task || (is_copied_callable<All> && ... && true);
  static constexpr bool is_several = !is_callable || sizeof...(All) > 1;
  static constexpr bool has_safe_destructors = (std::is_nothrow_destructible_v<std::decay_t<All>> && ... && true);
  static_assert(!returns_task, "a fork calls functions, and would not run the task that this callable returns");
  static_assert(has_safe_destructors, "the destructor of a callable may throw: declare it noexcept");
  static_assert(is_callable || !has_safe_destructors,
                "expected callables without arguments, which can be moved or copied: capture arguments in a lambda");
  static_assert(is_several, "expected two callables or more");
};
template <typename Signal, typename... All>
  requires stop_signal<Signal>
struct refused_fork<Signal, All...> : refused_fork<All...> {};

}  // namespace detail

/// Does not compile; its error message describes what is wrong with the callables.
template <typename... All>
  requires(sizeof...(All) > 0 && !detail::can_fork<All...>)
auto fork_join(All&&... /*all*/) {
  static_cast<void>(detail::refused_fork<All...>());
}

class task_group;

namespace detail {

/// A function of a group, stored on the heap.
class BRAID_API group_task : public fork_record {
 public:
  enum class action : std::uint8_t { call, free };
  using act_fn = void (*)(group_task&, action);

  /// Calls the function, unless the group has stopped, and frees it.
  static void run_it(fork_record& self) noexcept;

  /// Frees the function without calling it. Called if a pool has dropped the function.
  void drop() noexcept;

 protected:
  group_task(task_group& group, act_fn act) noexcept : fork_record(&run_it), group_(group), act_(act) {}
  ~group_task() = default;

 private:
  task_group& group_;
  const act_fn act_;
};

template <typename Fn>
class task_group_call final : public group_task {
 public:
  template <typename F>
  task_group_call(task_group& group, F&& fn) : group_task(group, &act), fn_(std::forward<F>(fn)) {}

 private:
  static void act(group_task& self, action request) {
    auto& mine = static_cast<task_group_call&>(self);
    if (request == action::call) return static_cast<void>(std::invoke(std::move(mine.fn_)));
    std::destroy_at(&mine);
    free_block<task_group_call>(&mine);
  }

  Fn fn_;
};

}  // namespace detail

/// A group of functions that run in parallel. You can call `run` from the scope that owns the group, or from functions
/// of the group, to any depth. A `run` on a worker pushes the function to the worker's deque like a fork: the worker
/// runs the newest function first, and thieves take the oldest function. A `run` on another thread posts the function
/// to the group's executor. Threads: several threads may call `run` at the same time; only one thread at a time may
/// call `wait`. Lifetime: no function runs after the last `wait` has returned.
class BRAID_API task_group {
 public:
  /// Constructs a group for the executor whose job calls this constructor. Outside of a job, the group uses
  /// `default_pool`.
  task_group();
  /// Constructs a group for a pool, or for an executor without threads.
  explicit task_group(executor& executor) noexcept;

  /// Constructs a group that skips functions which have not begun when a stop is requested. Lifetime: a stop_flag must
  /// outlive the group.
  template <stop_signal Signal>
  explicit task_group(Signal&& stop) : task_group() {
    stop_by(stop);
  }
  template <stop_signal Signal>
  task_group(executor& executor, Signal&& stop) : task_group(executor) {
    stop_by(stop);
  }

  task_group(const task_group&) = delete;
  auto operator=(const task_group&) -> task_group& = delete;

  /// Waits for all functions. Exceptions that functions have thrown since the last `wait` are lost.
  ~task_group();

  /// Runs `fn` once, on an idle worker or in `wait`. `fn` runs at once on the calling thread if the deque of the worker
  /// is full, or if the calling thread runs a job of an executor without threads. Errors: std::bad_alloc. Cost: a block
  /// of memory for jobs.
  template <detail::job_function Fn>
  void run(Fn&& fn) {
    using task = detail::task_group_call<std::decay_t<Fn>>;
    void* const place = detail::allocate_block<task>();
    task* made = nullptr;
    try {
      made = std::construct_at(static_cast<task*>(place), *this, std::forward<Fn>(fn));
    } catch (...) {
      detail::free_block<task>(place);
      throw;
    }
    start(*made);
  }
  /// Does not compile; its error message describes what is wrong with the callable.
  template <typename Fn>
    requires(!detail::job_function<Fn>)
  auto run(Fn&& /*fn*/) {
    static_cast<void>(detail::refused_call<Fn>());
  }

  /// Waits until all functions have ended. After that, the group may be used again.
  /// Blocks: until all functions have ended; a worker runs the functions and other forks during the wait. Errors:
  /// rethrows the first exception of a function; functions that had not begun by then were skipped. If a stop caused
  /// functions to be skipped, returns errc::stopped, or the reason of the stop request if it has a reason. Returns
  /// errc::dropped if a pool that is shutting down has dropped some functions.
  [[nodiscard]] auto wait() -> result<void>;

 private:
  friend class detail::group_task;
  struct end_of_all;

  void stop_by(const stop_flag& flag) noexcept { flag_ = &flag; }
  void stop_by(const std::stop_token& token) { token_ = token; }

  void start(detail::group_task& task);
  [[nodiscard]] auto stop_reason() const noexcept -> std::optional<errc>;
  void leave_out(errc error) noexcept;
  void fail(std::exception_ptr thrown) noexcept;
  void one_ended() noexcept;
  void wait_for_all() noexcept;
  void wait_on(worker& self) noexcept;
  void run_own(worker& self) noexcept;
  auto run_other(worker& self) noexcept -> bool;

  static constexpr std::uint32_t awaited = std::uint32_t{1} << 31U;

  executor& executor_;
  const stop_flag* flag_ = nullptr;
  std::stop_token token_;
  std::exception_ptr thrown_;      // written by the thread that sets `failed_`, before its function has ended
  atomic<bool> failed_{false};     // a function has thrown; set by the first function that throws, cleared by `wait`
  atomic<bool> has_posts_{false};  // true if other threads have added functions; set by those threads
  atomic<int> left_out_{0};        // the errc of the stop that skipped functions; 0 if none was skipped
  worker* owner_;                  // the worker on whose stack the group is; null if it is not on a worker's stack
  std::optional<std::uint32_t> oldest_;  // position of its oldest fork in the owner's deque; written by the owner
  atomic<std::uint32_t> unfinished_{0};  // functions that have not ended; and `awaited`, set by the sleeping owner
};

}  // namespace braid
