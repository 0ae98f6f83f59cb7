// braid/coro/detail/fiber_frame.hpp: a fiber, which is a function on its own stack, and the coroutine that waits on its
// behalf.
#pragma once

#include <braid/base/config.hpp>
#include <braid/coro/detail/awaiter_of.hpp>
#include <braid/coro/detail/promise.hpp>
#include <braid/coro/home.hpp>
#include <braid/coro/task.hpp>

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <type_traits>
#include <utility>

namespace braid::detail {

/// The exception that is thrown through the functions of a stopped fiber, so that their locals are destroyed.
struct BRAID_API fiber_unwind{};

/// The type of coroutine handle that is passed to each awaiter that a fiber waits for.
using fiber_handle = std::coroutine_handle<task_promise<void>>;

/// Describes a wait that a fiber begins: the awaiter and its `suspend` function, which is called on the stack of the
/// home. `suspend` returns the coroutine to run next. It returns null if there is no next coroutine. In code compiled
/// by g++, it also returns null if the next coroutine is already stored for the thread.
struct fiber_wait {
  auto (*suspend)(void* awaiter, fiber_handle self, await_place place) -> std::coroutine_handle<>;
  void* awaiter;
  await_place at;
};

/// A fiber. Its coroutine, the driver, calls `resume` whenever the fiber can continue. `resume` returns when the fiber
/// waits for something; the driver then awaits the same thing on the fiber's behalf. Threads: the thread of its home.
/// Protocol: docs/design/fiber.md
class BRAID_API fiber_frame {
 public:
  /// Constructs a fiber that has not started. Errors: std::bad_alloc; std::system_error with
  /// std::errc::function_not_supported in a build without fibers, and with std::errc::operation_not_supported for a
  /// home that changes its thread.
  fiber_frame(home& home, std::size_t stack_bytes, void (*body)(void*), void* context);
  fiber_frame(const fiber_frame&) = delete;
  auto operator=(const fiber_frame&) -> fiber_frame& = delete;
  /// Requires that the fiber has ended or was never started.
  ~fiber_frame();

  /// Returns the fiber that the caller runs on, or null.
  [[nodiscard]] static auto current() noexcept -> fiber_frame*;
  /// Returns the fiber that the caller runs on. Ends the program with a message if there is no fiber, or if an
  /// exception is being handled.
  [[nodiscard]] static auto that_may_wait() -> fiber_frame&;

  /// Starts or continues the fiber. Returns when the fiber waits or has ended.
  void resume() noexcept;
  [[nodiscard]] auto has_ended() const noexcept -> bool { return state_ == state::ended; }

  /// Resumes the fiber for the last time: its current wait throws, and so does every later wait. Returns true if the
  /// exception ended the fiber, and false if the function returned normally in spite of the exception.
  [[nodiscard]] auto unwind() noexcept -> bool;

  /// Switches from the fiber to its driver until the fiber is resumed. Called on the fiber. Errors: throws
  /// `fiber_unwind` if the fiber is stopped.
  void wait(fiber_wait for_what);
  /// Returns the wait that the fiber has requested. Called on the driver.
  [[nodiscard]] auto waits_for() const noexcept -> fiber_wait { return waits_for_; }
  /// Records that the wait could not begin. The wait then throws `error` in the fiber. Called on the driver.
  void fail_wait(std::exception_ptr error) noexcept { failure_ = std::move(error); }

  [[nodiscard]] auto where() const noexcept -> home& { return *home_; }

  /// The data that a switch between two stacks needs: both stacks, and the state that sanitizers keep for them.
  struct stacks;

 private:
  friend struct stacks;
  enum class state : std::uint8_t { fresh, suspended, running, ended };

  void call_body() noexcept;

  home* home_;
  void (*body_)(void*);
  void* context_;
  [[maybe_unused]] stacks* stacks_;  // on the fiber's own stack
  fiber_wait waits_for_{};
  std::exception_ptr failure_;
  state state_ = state::fresh;
  bool is_stopped_ = false;   // from here on each wait throws
  bool was_unwound_ = false;  // the fiber was ended by that exception
};

/// Runs the fiber to its end, on its home.
BRAID_API auto drive_fiber(fiber_frame& frame) -> task<void>;

/// An awaiter for the driver of a fiber. If the awaiting task is stopped, the fiber is unwound first, and then the task
/// ends as stopped.
class [[nodiscard, gnu::warn_unused]] fiber_awaiter {
 public:
  explicit fiber_awaiter(fiber_frame& frame) : frame_(&frame), driver_(drive_fiber(frame).release()) {}
  fiber_awaiter(const fiber_awaiter&) = delete;
  auto operator=(const fiber_awaiter&) -> fiber_awaiter& = delete;
  ~fiber_awaiter() { driver_.destroy(); }

  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
  template <std::derived_from<promise_base> Promise>
  auto await_suspend(std::coroutine_handle<Promise> parent, await_place place = await_place::current()) noexcept
      -> transfer {
    parent_ = &parent.promise();
    parent_->suspends_at(place);
    driver_.promise().attach(*parent_, &ended, this);
    return transfer_to(driver_);
  }
  void await_resume() const noexcept {}

 private:
  static auto ended(promise_base& driver, ending outcome) noexcept -> std::coroutine_handle<> {
    const auto& self = *static_cast<fiber_awaiter*>(driver.context());
    if (outcome == ending::stopped && self.frame_->unwind()) return self.parent_->stop();
    return driver.continuation();
  }

  fiber_frame* frame_;
  fiber_handle driver_;
  promise_base* parent_ = nullptr;
};

/// Calls `fn` on a fiber and stores its outcome.
template <typename Fn>
struct fiber_body {
  using value = std::invoke_result_t<Fn&>;

  static void call(void* self) {
    auto& body = *static_cast<fiber_body*>(self);
    try {
      if constexpr (std::is_void_v<value>)
        (std::invoke(*body.fn), body.ended.set_value());
      else
        body.ended.set_value(std::invoke(*body.fn));
    } catch (const fiber_unwind&) {
      throw;
    } catch (...) {
      body.ended.set_exception(std::current_exception());
    }
  }

  Fn* fn;
  outcome<value> ended;
};

/// Begins the wait of a fiber. The function must always be inlined: its return type `transfer` differs between
/// compilers, but its symbol would be the same in all of them.
template <typename Awaiter>
[[gnu::always_inline]] inline auto suspend_at(Awaiter& awaiter, fiber_handle self, [[maybe_unused]] await_place place) {
  if constexpr (requires { awaiter.await_suspend(self, place); })
    return awaiter.await_suspend(self, place);
  else
    return awaiter.await_suspend(self);
}

/// Suspends the driver on behalf of the fiber, which waits at `place`. The awaiter's `await_suspend` may return void, a
/// coroutine handle, or a bool, which is false if there is nothing to wait for.
template <typename Awaiter>
auto suspend_for_fiber(void* awaiter, fiber_handle self, await_place place) -> std::coroutine_handle<> {
  auto& what = *static_cast<Awaiter*>(awaiter);
  using given = decltype(suspend_at(what, self, place));
  if constexpr (std::is_void_v<given>) {
    suspend_at(what, self, place);
    return {};
  } else if constexpr (std::is_same_v<given, bool>) {
    return suspend_at(what, self, place) ? std::coroutine_handle<>{} : self;
  } else {
    return suspend_at(what, self, place);
  }
}

}  // namespace braid::detail
