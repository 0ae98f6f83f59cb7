// braid/coro/fiber.hpp: fibers: functions on their own stacks that can wait like tasks without being coroutines.
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
  /// The size of the stack. It is rounded up to pages, and to at least 32 KiB. A page uses memory only after its first
  /// access. Below the stack are 64 KiB of guard pages: a function that needs more stack ends the process by SIGSEGV.
  std::size_t stack_bytes = std::size_t{256} * 1024;
};

/// Returns whether this build has fibers. A build has fibers if Boost.Context was found at build time.
/// Threads: any.
[[nodiscard]] BRAID_API auto has_fibers() noexcept -> bool;

namespace detail {

/// Returns whether the caller runs on a fiber and may therefore call `fiber_await`.
/// Threads: any.
[[nodiscard]] inline auto is_fiber() noexcept -> bool { return detail::fiber_frame::current() != nullptr; }

}  // namespace detail

/// Calls `fn()` on its own stack, on the home of the task (the serial executor that the task is bound to), and returns
/// its result. Any function that `fn` calls, at any depth, may wait by `fiber_await`. Use fibers for code with
/// callbacks, libraries that call back, and deep recursion. A fiber is a task like any other: it belongs to the scope
/// of its caller and has the deadline of that scope. `fn` is destroyed on the home when it has ended.
///
/// A stop takes effect while the fiber waits: the wait throws an exception that is not a std::exception, so that the
/// locals are destroyed. A `catch (...)` that catches this exception must rethrow it. If it does not, the next wait
/// throws again.
/// Threads: any; a task that runs on another executor returns to its home first. Blocks: no thread. Errors: rethrows an
/// exception of `fn`; std::bad_alloc; std::system_error with std::errc::function_not_supported if the build has no
/// fibers, and with std::errc::operation_not_supported on a home that changes its thread (a `serial_executor`). Cost:
/// unused stacks are kept in a list, up to 256 of each size. If the list is empty, creating a stack takes three system
/// calls.
template <std::move_constructible Fn>
  requires std::invocable<Fn&>
auto run_fiber(fiber_options options, Fn fn) -> task<std::invoke_result_t<Fn&>> {
  co_await resume_home();
  scope& in = co_await this_scope();
  detail::fiber_body<Fn> body{.fn = &fn, .ended = {}};
  detail::fiber_frame frame(in.where(), options.stack_bytes, &detail::fiber_body<Fn>::call, &body);
  co_await detail::fiber_awaiter(frame);
  co_return body.ended.take();
}
template <std::move_constructible Fn>
  requires std::invocable<Fn&>
BRAID_COROUTINE_WRAPPER auto run_fiber(Fn fn) -> task<std::invoke_result_t<Fn&>> {
  return run_fiber(fiber_options{}, std::move(fn));
}

/// Lets the calling fiber wait for anything that a task can `co_await`, and returns the result. The thread runs other
/// work of the home during the wait. Requires that the caller runs on a fiber, and that no exception is being handled.
/// Destructors and `noexcept` functions must not call this, because a stop throws an exception from this call. Threads:
/// the thread of the fiber. Blocks: no thread. Errors: rethrows exceptions of the awaited operation; if the fiber is
/// stopped, throws the exception that `fiber` describes. Cost: two stack switches if the fiber must wait. An
/// async_mutex always costs two switches, because the lock records its owner when the owner suspends.
template <typename Awaitable>
auto fiber_await(Awaitable&& awaited, detail::await_place place = detail::await_place::current()) -> decltype(auto) {
  detail::fiber_frame& self = detail::fiber_frame::that_may_wait();
  auto&& awaiter = detail::awaiter_of(std::forward<Awaitable>(awaited));
  using type = std::remove_reference_t<decltype(awaiter)>;
  if (!awaiter.await_ready())
    self.wait({.suspend = &detail::suspend_for_fiber<type>, .awaiter = &awaiter, .at = place});
  return awaiter.await_resume();
}

}  // namespace braid
