// src/coro/fiber_stack.hpp: declares the functions that allocate and free the stacks of fibers, with guard pages below
// each stack.
#pragma once

#include <cstddef>

namespace braid::detail {

/// The usable memory of a fiber's stack, as its lowest byte and its length.
struct fiber_stack {
  std::byte* lowest = nullptr;
  std::size_t bytes = 0;

  [[nodiscard]] auto end() const noexcept -> std::byte* { return lowest + bytes; }
};

inline constexpr std::size_t guard_bytes = std::size_t{64} * 1024;
inline constexpr std::size_t min_stack_bytes = std::size_t{32} * 1024;

/// Returns a stack of at least `bytes` bytes, rounded up to pages. Reuses a stack from the free list if possible.
/// Threads: any. Errors: std::bad_alloc. Cost: a lock; three system calls for a new stack.
[[nodiscard]] auto take_fiber_stack(std::size_t bytes) -> fiber_stack;

/// Adds the stack to the free list of its size, or unmaps the stack if this list is full.
/// Threads: any.
void give_back_fiber_stack(fiber_stack stack) noexcept;

}  // namespace braid::detail
