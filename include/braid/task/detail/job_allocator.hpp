// braid/task/detail/job_allocator.hpp: a standard allocator that takes its memory from the memory for jobs.
#pragma once

#include <braid/task/detail/job_memory.hpp>

#include <cstddef>

namespace braid::detail {

/// A standard allocator that uses `allocate_job`. Threads: any.
template <typename T>
struct job_allocator {
  using value_type = T;
  static_assert(alignof(T) <= 16, "this allocator does not support alignments above 16 bytes");

  job_allocator() = default;
  template <typename U>
  explicit(false) job_allocator(const job_allocator<U>& /*other*/) noexcept {}

  [[nodiscard]] auto allocate(std::size_t count) -> T* { return static_cast<T*>(allocate_job(count * sizeof(T))); }
  void deallocate(T* block, std::size_t count) noexcept { free_job(block, count * sizeof(T)); }

  auto operator==(const job_allocator& /*other*/) const -> bool = default;
};

}  // namespace braid::detail
