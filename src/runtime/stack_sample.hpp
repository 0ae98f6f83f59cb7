// src/runtime/stack_sample.hpp: the stack of another thread, which writes it down in a handler of SIGURG.
#pragma once

#include <braid/base/clock.hpp>

#include <cstdint>
#include <vector>

#include <sys/types.h>

namespace braid::detail {

/// The return addresses on the stack of a thread of this process, the innermost first: the first is where it stands.
/// Empty where it gives no answer within `limit`, as a thread that blocks signals, or where the program has a handler
/// of its own for SIGURG, the signal that is ignored by default. The handler stays. A system call that
/// cannot be restarted, as poll(2), ends with EINTR.
/// Threads: any; one at a time asks. Blocks: until the answer.
[[nodiscard]] auto sample_stack(::pid_t thread, duration limit) -> std::vector<std::uintptr_t>;

}  // namespace braid::detail
