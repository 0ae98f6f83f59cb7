// braid/task/detail/job_memory.hpp: memory for jobs and coroutine frames, from free lists of the calling thread.
#pragma once

#include <braid/base/config.hpp>

#include <cstddef>

namespace braid::detail {

/// Bytes for one job or frame, aligned to 16. Blocks of up to 1 KiB come in classes of 64 bytes from a free list of
/// the thread, refilled in batches from a process-wide central free list; larger ones from operator new.
/// Threads: any; a block may be freed by another thread than the one that took it. Errors: std::bad_alloc.
/// Cost: a few ns while the thread's list has a block.
[[nodiscard]] BRAID_API auto allocate_job(std::size_t size) -> void*;

/// Gives a block back. `size` is what it was asked for with. Threads: any. Cost: as `allocate_job`.
BRAID_API void free_job(void* block, std::size_t size) noexcept;

/// About how many bytes lie in the central free lists. Threads: any.
[[nodiscard]] BRAID_API auto idle_job_memory() noexcept -> std::size_t;

}  // namespace braid::detail
