// braid/coro/detail/resume.hpp: transfers control from one coroutine to the next without growing the stack.
#pragma once

#include <braid/base/config.hpp>

#include <coroutine>

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13 && !defined(BRAID_QUIET_GXX12)
// This is a #pragma message instead of a #warning, because compilers suppress warnings from installed headers.
#pragma message(                                                                                                  \
    "warning: g++ 12 destroys a lambda with captures, or an aggregate, twice if it is created inside a co_await " \
    "expression. Give it a name on a line of its own (docs/cookbook.md, With g++ 12). "                           \
    "-DBRAID_QUIET_GXX12 turns this message off")
#endif

namespace braid::detail {

/// Stores the next coroutine for the thread, so that the current `resume` call continues with it.
BRAID_API void leave_for_resume(std::coroutine_handle<> next) noexcept;

// clang turns a handle that await_suspend returns into a jump, at every level of optimisation. g++ 12 makes a call if
// it does not optimise, so a long run of ready awaits would overflow the stack. Therefore, code compiled by g++ stores
// the next handle for the thread, and `resume` continues with it once the suspension is complete. The library and the
// program may be compiled by different compilers, so `resume` works with both. `transfer` differs between them. It
// appears only in the types of templates, so the symbols of these templates differ, too.
#if defined(__clang__)
using transfer = std::coroutine_handle<>;
[[gnu::always_inline]] inline auto transfer_to(std::coroutine_handle<> next) noexcept -> transfer {
  return next ? next : std::noop_coroutine();
}
#else
using transfer = void;
[[gnu::always_inline]] inline void transfer_to(std::coroutine_handle<> next) noexcept { leave_for_resume(next); }
#endif

/// Resumes `first` and each coroutine to which control is transferred, until a coroutine suspends without a successor.
/// Does nothing if `first` is null.
BRAID_API void resume(std::coroutine_handle<> first) noexcept;

}  // namespace braid::detail
