// tests/support/stack_extent.hpp: how much stack lies between the places that a test marks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace braid::testing {

/// Threads: one.
class stack_extent {
 public:
  /// Notes where the caller's frame lies.
  [[gnu::noinline]] void mark() noexcept {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    lowest_ = std::min(lowest_, here);
    highest_ = std::max(highest_, here);
    ++marks_;
  }

  [[nodiscard]] auto marks() const noexcept -> std::size_t { return marks_; }

  /// Bytes between the lowest and the highest mark.
  [[nodiscard]] auto bytes() const noexcept -> std::size_t { return highest_ < lowest_ ? 0 : highest_ - lowest_; }

 private:
  std::uintptr_t lowest_ = UINTPTR_MAX;
  std::uintptr_t highest_ = 0;
  std::size_t marks_ = 0;
};

}  // namespace braid::testing
