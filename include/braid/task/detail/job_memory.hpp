// braid/task/detail/job_memory.hpp: memory for jobs and coroutine frames, from free lists of the calling thread.
#pragma once

#include <braid/base/config.hpp>

#include <array>
#include <cstddef>
#include <utility>

namespace braid::detail {

/// A block in a free list.
struct listed_block {
  listed_block* next;
  /// The block to prefetch when this block is allocated. If there is nothing to prefetch, this is the block itself.
  listed_block* ahead;
  // The following two members are used only in the first block of a chain in a central free list.
  listed_block* next_chain;
  std::size_t count;
};

/// One free list of a thread. The newest block is first.
struct free_list {
  listed_block* first = nullptr;
  std::size_t room = 0;  ///< the number of blocks that still fit; 0 if the thread has no lists

  void push(void* memory) noexcept {
    auto* const item = static_cast<listed_block*>(memory);
    item->next = first;
    item->ahead = item;
    first = item;
    --room;
  }

  [[nodiscard]] auto pop() noexcept -> void* {
    ++room;
    listed_block* const item = std::exchange(first, first->next);
    __builtin_prefetch(item->ahead, 1);
    return item;
  }
};

// The size classes. Most blocks are frames and states of tasks, so small classes are 32 bytes apart. Each size is 8
// more than a multiple of 16, because glibc adds 8 bytes and then rounds up to a multiple of 16.
// docs/design/constants.md says what these values rest on.
inline constexpr std::size_t small_block_step = 32;  ///< the distance between the sizes of small blocks
inline constexpr std::size_t large_block_step = 64;  ///< the distance between the sizes of larger blocks
inline constexpr std::size_t small_list_count = 16;  ///< the number of lists for small blocks
inline constexpr std::size_t max_small_block = 520;  ///< the size of the largest small block
inline constexpr std::size_t free_list_count = 48;
static_assert(max_small_block == small_list_count * small_block_step + 8);

/// The free lists of the thread, ordered by size. The lists are empty and accept no blocks until the thread has
/// allocated or freed its first block, and while the thread ends.
extern BRAID_API constinit thread_local std::array<free_list, free_list_count> free_lists
    __attribute__((tls_model("initial-exec")));

/// The slow paths of `allocate_job` and `free_job`. They are used if the thread's list is empty, full, or not in use.
/// `index` is the index of the list. If no such list exists, the block comes from operator new.
[[nodiscard]] BRAID_API auto allocate_job_elsewhere(std::size_t size, std::size_t index) -> void*;
BRAID_API void free_job_elsewhere(void* block, std::size_t index) noexcept;

// Under the address sanitizer, every block comes from operator new with its exact size. So accesses to freed blocks and
// accesses beyond the end are detected.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BRAID_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(BRAID_ADDRESS_SANITIZER) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool uses_free_lists = false;
#else
inline constexpr bool uses_free_lists = true;
#endif

/// Returns the index of the free list for blocks of that size. For sizes below 9, returns a number that is larger than
/// the index of every list.
constexpr auto find_free_list(std::size_t size) noexcept -> std::size_t {
  if (size <= max_small_block) return (size - 9) / small_block_step;
  return small_list_count + (size - max_small_block - 1) / large_block_step;
}

/// Returns the size of the blocks of the list with that index.
constexpr auto block_bytes(std::size_t index) noexcept -> std::size_t {
  if (index < small_list_count) return (index + 1) * small_block_step + 8;
  return max_small_block + (index - small_list_count + 1) * large_block_step;
}

/// Allocates bytes for one job or frame, aligned to 16. Blocks of up to 2.5 KiB come from free lists of the thread.
/// There is one list for each step of 32 bytes up to 520 bytes, and for each step of 64 bytes above that. These lists
/// are refilled in batches from a process-wide central free list. Larger blocks come from operator new.
/// Threads: any; a block may be freed by another thread than the one that allocated it. Errors: std::bad_alloc. Cost: a
/// few ns while the thread's list has a block.
[[nodiscard, gnu::always_inline]] inline auto allocate_job(std::size_t size) -> void* {
  const std::size_t index = find_free_list(size);
  if (uses_free_lists && index < free_list_count) {
    free_list& list = free_lists[index];
    if (list.first != nullptr) [[likely]]
      return list.pop();
  }
  return allocate_job_elsewhere(size, index);
}

/// Frees a block. `size` is the size with which it was allocated. Threads: any. Cost: the same as for `allocate_job`.
[[gnu::always_inline]] inline void free_job(void* block, std::size_t size) noexcept {
  const std::size_t index = find_free_list(size);
  if (uses_free_lists && index < free_list_count) {
    free_list& list = free_lists[index];
    if (list.room != 0) [[likely]]
      return list.push(block);
  }
  free_job_elsewhere(block, index);
}

/// Returns the approximate number of bytes in the central free lists.
/// Threads: any.
[[nodiscard]] BRAID_API auto idle_job_memory() noexcept -> std::size_t;

}  // namespace braid::detail
