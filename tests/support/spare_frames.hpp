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
    for (std::size_t at = 0; at < held_.size(); ++at) {
      for (bool was_spare = true; was_spare;) {
        const long before = blocks_alive();
        held_[at] = new (braid::detail::allocate_job(braid::detail::block_bytes(at))) block{held_[at]};
        was_spare = blocks_alive() == before && !under_thread_sanitizer;
      }
    }
  }
  no_spare_frames(const no_spare_frames&) = delete;
  auto operator=(const no_spare_frames&) -> no_spare_frames& = delete;
  ~no_spare_frames() {
    for (std::size_t at = 0; at < held_.size(); ++at)
      while (held_[at] != nullptr) {
        block* const first = std::exchange(held_[at], held_[at]->next);
        braid::detail::free_job(first, braid::detail::block_bytes(at));
      }
  }

 private:
  static constexpr std::size_t max_bytes = 1024;  // no frame of these tests is larger
  struct block {
    block* next;
  };
  std::array<block*, braid::detail::find_free_list(max_bytes) + 1> held_{};
};

}  // namespace braid::testing
