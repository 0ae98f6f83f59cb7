// braid/coro/fiber.hpp: functions on stacks of their own, which may wait for what tasks wait for without being
// coroutines.
#pragma once

#include <braid/base/config.hpp>
#include <braid/coro/detail/fiber_frame.hpp>
#include <braid/coro/schedule_on.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/task.hpp>

#include <concepts>
#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

namespace braid {

/// The options of a fiber.
struct fiber_options {
  /// Rounded up to pages, and to 32 KiB at least. A page uses memory from its first access on. Below the stack are 64
  /// KiB of guard pages: a function that needs more stack ends the process by SIGSEGV.
  std::size_t stack_bytes = std::size_t{256} * 1024;
};

/// Returns whether this build has fibers, which it has if Boost.Context was found at build time.
/// Threads: any.
[[nodiscard]] BRAID_API auto has_fibers() noexcept -> bool;

namespace detail {

/// Returns whether the caller runs on a fiber, so that it may call `fiber_await`.
/// Threads: any.
[[nodiscard]] inline auto is_fiber() noexcept -> bool { return detail::fiber_frame::current() != nullptr; }

}  // namespace detail

/// Calls `fn()` on a stack of its own, at home, and returns its result. Anything that `fn` calls, at any depth, may
/// wait by `fiber_await`: code with callbacks, libraries that call back, deep recursion. A fiber is a task like any
/// other: it lives in the scope of its caller, with its deadline, and `fn` is destroyed at home when it has ended.
///
/// A stop reaches it while it waits: the wait throws an exception that is not a std::exception, so that the locals are
/// destroyed. A `catch (...)` that catches it must rethrow it. If it is swallowed, the next wait throws again.
/// Threads: any; a task that is away comes home first. Blocks: no thread. Errors: what `fn` throws; std::bad_alloc;
/// std::system_error with std::errc::function_not_supported if the build has no fibers,
/// std::errc::operation_not_supported at a home that changes its thread (a `serial_executor`). Cost: a stack from a
/// list of used ones, which keeps 256 of a size; otherwise three system calls.
template <std::move_constructible Fn>
  requires std::invocable<Fn&>
auto run_fiber(fiber_options how, Fn fn) -> task<std::invoke_result_t<Fn&>> {
  co_await resume_home();
  scope& in = co_await this_scope();
  detail::fiber_body<Fn> body{.fn = &fn, .ended = {}};
  detail::fiber_frame frame(in.where(), how.stack_bytes, &detail::fiber_body<Fn>::call, &body);
  co_await detail::fiber_awaiter(frame);
  co_return body.ended.take();
}
template <std::move_constructible Fn>
  requires std::invocable<Fn&>
BRAID_COROUTINE_WRAPPER auto run_fiber(Fn fn) -> task<std::invoke_result_t<Fn&>> {
  return run_fiber(fiber_options{}, std::move(fn));
}

/// Waits on a fiber for anything that a task can `co_await`, and returns its result. The thread continues with other
/// work of the home meanwhile. Requires a fiber, and that no exception is being handled: destructors and `noexcept`
/// functions must not wait, because a stop throws here.
/// Threads: the fiber's. Blocks: no thread. Errors: what awaiting `what` throws; the exception of a stop, as above.
/// Cost: two switches, unless there is nothing to wait for; an async_mutex costs them even if it is free, because only
/// a suspension says which task locks it.
template <typename Awaitable>
auto fiber_await(Awaitable&& what, detail::await_place place = detail::await_place::current()) -> decltype(auto) {
  detail::fiber_frame& self = detail::fiber_frame::that_may_wait();
  auto&& awaiter = detail::awaiter_of(std::forward<Awaitable>(what));
  using type = std::remove_reference_t<decltype(awaiter)>;
  if (!awaiter.await_ready())
    self.wait({.suspend = &detail::suspend_for_fiber<type>, .awaiter = &awaiter, .at = place});
  return awaiter.await_resume();
}

}  // namespace braid
