// tests/support/spare_frames.hpp: takes away the blocks that are free for frames of coroutines and jobs.
#pragma once

#include <braid/task/detail/job_memory.hpp>

#include <tests/support/scarce_memory.hpp>

#include <array>
#include <cstddef>
#include <new>
#include <utility>

namespace braid::testing {

/// Holds the blocks that were free for frames, so that each new frame asks for memory.
class no_spare_frames {
 public:
  no_spare_frames() {
    for (std::size_t size = step; size <= max_count; size += step) {
      for (bool was_spare = true; was_spare;) {
        const long before = blocks_alive();
        held_[size / step] = new (braid::detail::allocate_job(size)) block{held_[size / step]};
        was_spare = blocks_alive() == before && !under_thread_sanitizer;
      }
    }
  }
  no_spare_frames(const no_spare_frames&) = delete;
  auto operator=(const no_spare_frames&) -> no_spare_frames& = delete;
  ~no_spare_frames() {
    for (std::size_t size = step; size <= max_count; size += step)
      while (held_[size / step] != nullptr) {
        block* const first = std::exchange(held_[size / step], held_[size / step]->next);
        braid::detail::free_job(first, size);
      }
  }

 private:
  static constexpr std::size_t step = 64;
  static constexpr std::size_t max_count = 1024;
  struct block {
    block* next;
  };
  std::array<block*, max_count / step + 1> held_{};
};

}  // namespace braid::testing
