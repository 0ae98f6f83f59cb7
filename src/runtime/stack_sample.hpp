// src/runtime/stack_sample.hpp: reads the stack of another thread, by a handler of SIGURG that runs on that thread.
#pragma once

#include <braid/base/clock.hpp>

#include <cstdint>
#include <vector>

#include <sys/types.h>

namespace braid::detail {

/// Returns the return addresses on the stack of a thread of this process, innermost first. The first element of the
/// list is the address of the current instruction. Returns an empty list if the thread does not answer within `limit`,
/// for instance because it blocks signals. Also returns an empty list if the program has its own handler for SIGURG. If
/// it has none, the first call of this function installs a handler, which stays installed. If the signal interrupts a
/// system call that cannot be restarted, such as poll(2), the system call fails with EINTR.
/// Threads: any, but only one thread samples at a time. Blocks: until the sampled thread answers or `limit` has passed.
[[nodiscard]] auto sample_stack(::pid_t thread, duration limit) -> std::vector<std::uintptr_t>;

}  // namespace braid::detail
