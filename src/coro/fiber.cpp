// src/coro/fiber.cpp: implements stackful coroutines: switches between the stack of the resuming thread and the stacks
// of fibers.
#include "fiber_stack.hpp"
#include "stack_notes.hpp"

#include <braid/base/config.hpp>
#include <braid/coro/detail/fiber_frame.hpp>
#include <braid/coro/fiber.hpp>
#include <braid/coro/schedule_on.hpp>

#include <cxxabi.h>

#include <exception>
#include <memory>
#include <system_error>
#include <utility>

#if defined(BRAID_FIBERS)
#include <boost/context/detail/fcontext.hpp>

// The Itanium C++ ABI has this function. The header of libc++ does not declare it.
namespace __cxxabiv1 {
struct __cxa_eh_globals;
extern "C" auto __cxa_get_globals() noexcept -> __cxa_eh_globals*;
}  // namespace __cxxabiv1
#endif

namespace braid {

auto has_fibers() noexcept -> bool {
#if defined(BRAID_FIBERS)
  return true;
#else
  return false;
#endif
}

namespace detail {
namespace {

constinit thread_local fiber_frame* this_fiber __attribute__((tls_model("initial-exec"))) = nullptr;

/// An awaitable that the coroutine of a fiber awaits. It starts the wait that the fiber has requested.
struct parking {
  fiber_frame* of;

  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
  auto await_suspend(fiber_handle self) const -> transfer {
    const fiber_wait what = of->waits_for();
    const std::coroutine_handle<> next = what.suspend(what.awaiter, self, what.at);
#if defined(__clang__)
    return transfer_to(next);
#else
    if (next) transfer_to(next);  // without one, the awaiter's own transfer stays
#endif
  }
  void await_resume() const noexcept {}
};

}  // namespace

#if defined(BRAID_FIBERS)

namespace {

using boost::context::detail::fcontext_t;
using boost::context::detail::transfer_t;

}  // namespace

struct fiber_frame::stacks {
  /// The state of exceptions that a thread throws or handles. The C++ runtime's own type begins with these two members
  /// (Itanium C++ ABI). A fiber may wait inside a handler, so each fiber has its own state.
  struct exception_state {
    void* caught = nullptr;
    unsigned int uncaught = 0;

    static auto of_thread() noexcept -> exception_state& {
      return *reinterpret_cast<exception_state*>(abi::__cxa_get_globals());
    }
  };

  explicit stacks(fiber_stack own) noexcept
      : memory(own), inside(boost::context::detail::make_fcontext(this, own.bytes, &enter)) {
    note_of_fiber.lowest = own.lowest;
    note_of_fiber.bytes = own.bytes;
  }

  static auto make(std::size_t bytes) -> stacks* {
    const fiber_stack memory = take_fiber_stack(bytes);
    constexpr std::size_t room = (sizeof(stacks) + 63) / 64 * 64;
    return std::construct_at(reinterpret_cast<stacks*>(memory.end() - room), memory);
  }

  static void destroy(stacks* all) noexcept {
    const fiber_stack memory = all->memory;
    std::destroy_at(all);
    give_back_fiber_stack(memory);
  }

  /// Starts the fiber's function. Called on the fiber's stack when the fiber is resumed for the first time.
  static void enter(transfer_t from) noexcept {
    fiber_frame& self = *static_cast<fiber_frame*>(from.data);
    stacks& of = *self.stacks_;
    note_arrival({}, of.note_of_caller);
    of.caller = from.fctx;
    self.call_body();
    self.state_ = state::ended;
    note_departure(nullptr, of.note_of_caller);
    of.sanitizer.leave();
    boost::context::detail::jump_fcontext(of.caller, nullptr);
    std::terminate();  // a fiber that has ended is not resumed
  }

  /// Switches from the caller's stack to the fiber's stack. Returns when the fiber waits or ends.
  void go_inside(fiber_frame& self) noexcept {
    exception_state& of_thread = exception_state::of_thread();  // looked up once: the thread stays the same
    const exception_state outer = std::exchange(of_thread, exceptions);
    stack_note here;
    note_departure(&here, note_of_fiber);
    sanitizer.enter();
    inside = boost::context::detail::jump_fcontext(inside, &self).fctx;
    stack_note left;
    note_arrival(here, left);
    exceptions = std::exchange(of_thread, outer);
  }

  /// Switches from the fiber's stack to the stack of the thread that resumed the fiber. Returns when the fiber is
  /// resumed again.
  void go_outside() noexcept {
    note_departure(&note_of_fiber, note_of_caller);
    sanitizer.leave();
    caller = boost::context::detail::jump_fcontext(caller, nullptr).fctx;
    note_arrival(note_of_fiber, note_of_caller);
  }

  fiber_stack memory;
  fcontext_t inside;            // the point at which the fiber continues
  fcontext_t caller = nullptr;  // the point at which its resumer continues
  exception_state exceptions;   // the exceptions of the fiber while it does not run
  stack_note note_of_fiber;
  stack_note note_of_caller;
  fiber_note sanitizer;
};

fiber_frame::fiber_frame(home& home, std::size_t stack_bytes, void (*body)(void*), void* context)
    : home_(&home), body_(body), context_(context) {
  if (!home.has_own_thread())
    throw std::system_error(std::make_error_code(std::errc::operation_not_supported),
                            "a fiber cannot run on a home executor that changes its thread");
  stacks_ = stacks::make(stack_bytes);
}

fiber_frame::~fiber_frame() {
  BRAID_EXPECTS(state_ == state::ended || state_ == state::fresh, "a fiber must have ended before it is destroyed");
  stacks::destroy(stacks_);
}

void fiber_frame::resume() noexcept {
  state_ = state::running;
  fiber_frame* const outer = std::exchange(this_fiber, this);
  stacks_->go_inside(*this);
  this_fiber = outer;
}

void fiber_frame::wait(fiber_wait for_what) {
  if (!is_stopped_) {
    waits_for_ = for_what;
    state_ = state::suspended;
    stacks_->go_outside();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }
  if (is_stopped_) throw fiber_unwind();
}

#else

struct fiber_frame::stacks {};

fiber_frame::fiber_frame(home& home, std::size_t /*stack_bytes*/, void (*body)(void*), void* context)
    : home_(&home), body_(body), context_(context), stacks_(nullptr) {
  throw std::system_error(std::make_error_code(std::errc::function_not_supported),
                          "fibers need a build of braid with Boost.Context");
}

fiber_frame::~fiber_frame() = default;
void fiber_frame::resume() noexcept {}
void fiber_frame::wait(fiber_wait /*for_what*/) {}

#endif

auto fiber_frame::current() noexcept -> fiber_frame* { return this_fiber; }

auto fiber_frame::that_may_wait() -> fiber_frame& {
  BRAID_EXPECTS(this_fiber != nullptr, "fiber_await may only be called on a fiber: start one with run_fiber");
  BRAID_EXPECTS(std::uncaught_exceptions() == 0, "a fiber must not wait while an exception is being handled");
  return *this_fiber;
}

auto fiber_frame::unwind() noexcept -> bool {
  is_stopped_ = true;
  resume();
  return was_unwound_;
}

void fiber_frame::call_body() noexcept {
  try {
    body_(context_);
  } catch (const fiber_unwind&) {
    was_unwound_ = true;
  }
}

auto drive_fiber(fiber_frame& frame) -> task<void> {
  for (;;) {
    if (!frame.where().is_current()) co_await resume_home();  // the awaited work has ended on another executor
    frame.resume();
    if (frame.has_ended()) co_return;
    try {
      co_await parking{&frame};
    } catch (...) {
      frame.fail_wait(std::current_exception());
    }
  }
}

}  // namespace detail
}  // namespace braid
