// braid/task/detail/job_block.hpp: allocates memory for a job object of any alignment.
#pragma once

#include <braid/task/detail/job_memory.hpp>

#include <cstddef>
#include <new>

namespace braid::detail {

/// The alignment of the blocks of `allocate_job`.
inline constexpr std::size_t job_alignment = 16;

/// Allocates memory for a `T`, from `allocate_job` or, if its alignment is larger, from operator new.
/// Threads: any. Errors: std::bad_alloc.
template <typename T>
[[nodiscard]] auto allocate_block() -> void* {
  if constexpr (alignof(T) > job_alignment)
    return ::operator new(sizeof(T), std::align_val_t(alignof(T)));
  else
    return allocate_job(sizeof(T));
}

/// Frees the memory of a `T`.
template <typename T>
void free_block(void* block) noexcept {
  if constexpr (alignof(T) > job_alignment)
    ::operator delete(block, sizeof(T), std::align_val_t(alignof(T)));
  else
    free_job(block, sizeof(T));
}

}  // namespace braid::detail
