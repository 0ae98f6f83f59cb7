// src/coro/fiber_stack.cpp: allocates the stacks of fibers with mmap, and keeps used stacks in free lists.
#include "fiber_stack.hpp"

#include <braid/base/detail/never_destroyed.hpp>

#include "../platform/system.hpp"
#include "stack_notes.hpp"

#include <braid/sync/detail/fork_safe_mutex.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace braid::detail {
namespace {

/// A list link that is stored at the end of each unused stack in a free list, in a page that is already mapped.
struct kept_stack {
  kept_stack* next;
  fiber_stack self;
};

/// A free list of used stacks of one size.
struct stack_list {
  std::size_t bytes = 0;  // the size of the stacks; 0 if the list is not used yet
  std::size_t count = 0;
  kept_stack* newest = nullptr;
};

// docs/design/constants.md explains how these values were chosen.
constexpr std::size_t sizes_kept = 8;
constexpr std::size_t max_of_a_size = 256;

struct stack_lists {
  fork_safe_mutex lock;
  std::array<stack_list, sizes_kept> all;  // under the lock

  /// Returns the free list for this size, or null if all lists are used for other sizes.
  auto of_size(std::size_t bytes) noexcept -> stack_list* {
    for (stack_list& each : all) {
      if (each.bytes == 0) each.bytes = bytes;
      if (each.bytes == bytes) return &each;
    }
    return nullptr;
  }

  auto take(std::size_t bytes) noexcept -> fiber_stack {
    const std::lock_guard guard(lock);
    stack_list* const from = of_size(bytes);
    if (from == nullptr || from->newest == nullptr) return {};
    --from->count;
    const kept_stack* const taken = std::exchange(from->newest, from->newest->next);
    return taken->self;
  }

  auto keep(fiber_stack stack) noexcept -> bool {
    const std::lock_guard guard(lock);
    stack_list* const to = of_size(stack.bytes);
    if (to == nullptr || to->count == max_of_a_size) return false;
    ++to->count;
    auto* const where = reinterpret_cast<kept_stack*>(stack.end() - sizeof(kept_stack));
    to->newest = std::construct_at(where, to->newest, stack);
    return true;
  }
};

/// The free lists are never destroyed, because a fiber may end while the process exits.
constinit never_destroyed<stack_lists> stacks_of_process;

auto kept_stacks() noexcept -> stack_lists& { return stacks_of_process.value; }

auto new_stack(std::size_t bytes) -> fiber_stack {
  auto* const lowest = map_stack(guard_bytes, bytes);
  if (lowest == nullptr) throw std::bad_alloc();
  return {lowest, bytes};
}

auto rounded(std::size_t bytes) -> std::size_t {
  const std::size_t page = page_bytes();
  if (bytes > std::numeric_limits<std::ptrdiff_t>::max() / 2) throw std::bad_alloc();
  return (std::max(bytes, min_stack_bytes) + page - 1) / page * page;
}

}  // namespace

auto take_fiber_stack(std::size_t bytes) -> fiber_stack {
  const std::size_t wanted = rounded(bytes);
  const fiber_stack used = kept_stacks().take(wanted);
  return used.lowest != nullptr ? used : new_stack(wanted);
}

void give_back_fiber_stack(fiber_stack stack) noexcept {
  forget_frames(stack.lowest, stack.bytes);
  if (!kept_stacks().keep(stack)) unmap_stack(stack.lowest, guard_bytes, stack.bytes);
}

}  // namespace braid::detail
