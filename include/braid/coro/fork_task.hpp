// braid/coro/fork_task.hpp: coroutines that compute and fork: they run in parallel on the workers of a pool.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/detail/fork_awaiter.hpp>
#include <braid/coro/detail/fork_promise.hpp>
#include <braid/coro/detail/fork_root.hpp>
#include <braid/coro/detail/resume.hpp>
#include <braid/sync/stop_flag.hpp>
#include <braid/task/detail/parallel_range.hpp>
#include <braid/task/detail/stopped_by.hpp>
#include <braid/task/future.hpp>
#include <braid/task/pool.hpp>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <functional>
#include <memory>
#include <ranges>
#include <type_traits>
#include <utility>

namespace braid {

/// A coroutine that computes a `T` (a value, an lvalue reference or void). It starts when another fork_task awaits it
/// or forks it (`fork_join`, `fork_each`), or when it is passed to a pool (`run_in`, `spawn`). It is awaited at most
/// once, and its exceptions are rethrown to the awaiting code. It has no home (no serial executor that it is bound to):
/// it awaits only other computations, and after each await it may run on another worker of its pool.
/// Threads: it may be moved and destroyed only before it runs. Cost: one frame from the thread's free lists.
template <typename T = void>
class [[nodiscard]] BRAID_COROUTINE_TYPE fork_task {
 public:
  using promise_type = detail::fork_promise<T>;
  using value_type = T;
  using is_computed = void;

  fork_task() = default;
  fork_task(fork_task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  auto operator=(fork_task&& other) noexcept -> fork_task& {
    if (this != &other) {
      reset();
      frame_ = std::exchange(other.frame_, nullptr);
    }
    return *this;
  }
  ~fork_task() { reset(); }

  [[nodiscard]] explicit operator bool() const noexcept { return frame_ != nullptr; }

  /// Runs the coroutine like a function call and returns its value. Its frame is destroyed when the expression ends.
  auto operator co_await() && noexcept { return awaiter(release()); }

  /// Passes the frame to the caller, which must destroy it. Requires that this object owns a frame.
  [[nodiscard]] auto release() noexcept -> std::coroutine_handle<promise_type> {
    BRAID_EXPECTS(frame_, "only a fork_task that has not been awaited yet can be awaited or forked");
    return std::exchange(frame_, nullptr);
  }

 private:
  friend promise_type;

  class [[nodiscard, gnu::warn_unused]] awaiter {
   public:
    explicit awaiter(std::coroutine_handle<promise_type> child) noexcept : child_(child) {}
    awaiter(const awaiter&) = delete;
    auto operator=(const awaiter&) -> awaiter& = delete;
    ~awaiter() { child_.destroy(); }

    [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
    template <std::derived_from<detail::fork_promise_base> Promise>
    auto await_suspend(std::coroutine_handle<Promise> parent) noexcept -> detail::transfer {
      child_.promise().attach(parent);
      return detail::transfer_to(child_);
    }
    auto await_resume() -> T { return child_.promise().take(); }

   private:
    std::coroutine_handle<promise_type> child_;
  };

  explicit fork_task(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}

  void reset() noexcept {
    if (frame_) std::exchange(frame_, nullptr).destroy();
  }

  std::coroutine_handle<promise_type> frame_;
};

/// `co_await fork_join(a(), b(), …)` runs all tasks and returns all values, as `fork_join` of functions does. A task
/// that returns void contributes a std::monostate. If all tasks return void, so does this call. The first task runs at
/// once on this thread. Another worker may steal the continuation (the next tasks, and then the caller). So the caller
/// continues on the worker on which the last task ends.
/// Errors: rethrows the exception that was thrown first, after all tasks that had begun have ended. Tasks that had not
/// begun do not begin.
/// Threads: any worker of a pool. Cost: no lock, no allocation, and no atomic read-modify-write while no thief looks
/// for work.
template <typename... T>
  requires(sizeof...(T) > 1)
[[nodiscard]] auto fork_join(fork_task<T>... work) {
  return detail::forked_tasks<detail::never_stopped, T...>({}, work.release()...);
}

/// Runs tasks as `fork_join` does, but skips tasks that have not begun when a stop is requested. Errors: if tasks were
/// skipped, the result holds errc::stopped, or the reason of the stop request if it has one.
template <stop_signal Signal, typename... T>
  requires(sizeof...(T) > 1)
[[nodiscard]] auto fork_join(Signal&& stop, fork_task<T>... work) {
  using stopped_by = detail::stopped_by_t<Signal>;
  return detail::forked_tasks<stopped_by, T...>(stopped_by(stop), work.release()...);
}

namespace detail {

/// Runs a part of a range. A small part runs as one loop; a larger part is split into two halves, which are forked.
template <typename Range>
auto fork_part(Range& all, std::size_t from, std::size_t to, std::size_t max_count) -> fork_task<void> {
  if (to - from <= max_count) {
    fork_loop<Range> loop(all, from, to);
    co_await loop;
  } else {
    const std::size_t middle = from + (to - from) / 2;
    auto halves = fork_join(fork_part(all, from, middle, max_count), fork_part(all, middle, to, max_count));
    co_await halves;
  }
}

template <typename Stop, typename View, typename Fn>
auto fork_elements(Stop stop, View elements, Fn fn) -> fork_task<unless_stopped<Stop, void>> {
  using range = fork_range<Stop, std::ranges::iterator_t<View>, Fn>;
  const auto count = static_cast<std::size_t>(std::ranges::size(elements));
  range all{.first = std::ranges::begin(elements), .fn = fn, .stop = std::move(stop)};
  if (const std::size_t max_count = max_fork_loop(count); count <= max_count) {
    fork_loop<range> loop(all, 0, count);
    co_await loop;
  } else {
    co_await fork_part(all, 0, count, max_count);
  }
  if constexpr (!std::is_same_v<Stop, never_stopped>) {
    if (const int why = all.left_out.load(relaxed); why != 0) co_return fail(static_cast<errc>(why));
    co_return unless_stopped<Stop, void>();
  }
}

template <typename Fn, typename Range>
concept forks_elements =
    std::invocable<Fn&, std::ranges::range_reference_t<Range>> &&
    std::same_as<std::invoke_result_t<Fn&, std::ranges::range_reference_t<Range>>, fork_task<void>>;

}  // namespace detail

/// `co_await fork_each(range, fn)` runs, for each element, the fork_task<void> that `fn(element)` returns. Each task is
/// created just before it begins, so at any time there are about as many tasks as workers. `fn` is moved into the frame
/// and destroyed at the end; several workers may call it at the same time. An lvalue range is stored by reference; an
/// rvalue range is moved. Requires a range with random access and a known size.
/// Threads: any worker of a pool. Errors: rethrows the first exception of a task or of `fn`, after all tasks that had
/// begun have ended. Tasks that had not begun do not begin.
template <detail::divisible_range Range, std::move_constructible Fn>
  requires detail::forks_elements<Fn, Range>
BRAID_COROUTINE_WRAPPER auto fork_each(Range&& range, Fn fn) -> fork_task<void> {
  return detail::fork_elements(detail::never_stopped{}, std::views::all(std::forward<Range>(range)), std::move(fn));
}

/// Runs tasks as `fork_each` does, but skips tasks that have not begun when a stop is requested.
/// Errors: if tasks were skipped, the result holds errc::stopped, or the reason of the stop request if it has one.
template <stop_signal Signal, detail::divisible_range Range, std::move_constructible Fn>
  requires detail::forks_elements<Fn, Range>
BRAID_COROUTINE_WRAPPER auto fork_each(Signal&& stop, Range&& range, Fn fn) -> fork_task<result<void>> {
  return detail::fork_elements(detail::stopped_by_t<Signal>(stop), std::views::all(std::forward<Range>(range)),
                               std::move(fn));
}

/// Runs `work`, and everything that it forks, on workers of `executor`, and returns its result. If the result is a
/// reference, this function returns a reference, too. Threads: any. Blocks: until the work has ended. If the caller is
/// a worker of the same pool, it begins the work itself, and runs other forks while it waits. If `executor` has no
/// threads, all of the work runs on the calling thread. Errors: rethrows exceptions of the work; std::system_error with
/// errc::closed if the pool accepts no more work, and with errc::dropped if a shutdown drops the work.
template <typename T>
auto run_in(executor& executor, fork_task<T> work) -> T {
  detail::awaited_root<T> root(work.release());
  if (executor.is_current())
    root.run_here();
  else
    detail::run_root(executor, root, root.ended);
  return root.take();
}

/// Runs `work` on workers of `executor`, as `run_in` does, and returns a future of its value. Dropping the future
/// detaches the work. A task can await the future and then continues on its home with the value.
/// Threads: any. Errors: the errors of `run_in`, stored in the future.
template <typename T>
auto spawn(executor& executor, fork_task<T> work) -> future<T> {
  promise<T> made(executor);
  future<T> made_future = made.get_future();
  auto root = std::make_unique<detail::future_root<T>>(work.release(), std::move(made));
  if (!executor.try_post(*root)) return failed_future<T>(make_error_code(errc::closed));
  static_cast<void>(root.release());
  return made_future;
}

namespace detail {

template <typename T>
inline constexpr bool is_lazy_work<fork_task<T>> = true;

template <typename T>
auto fork_promise<T>::get_return_object() noexcept -> fork_task<T> {
  return fork_task<T>(std::coroutine_handle<fork_promise>::from_promise(*this));
}

inline auto fork_promise<void>::get_return_object() noexcept -> fork_task<void> {
  return fork_task<void>(std::coroutine_handle<fork_promise>::from_promise(*this));
}

}  // namespace detail
}  // namespace braid
