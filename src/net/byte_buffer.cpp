// src/net/byte_buffer.cpp: makes room in a byte buffer, by moving the bytes to the front or to a larger block.
#include <braid/net/detail/byte_buffer.hpp>

#include <algorithm>
#include <limits>
#include <new>

namespace braid::detail {
namespace {

// docs/design/constants.md gives the reason for this value.
constexpr std::size_t smallest = 512;

}  // namespace

void byte_buffer::make_room(std::size_t size) {
  const std::size_t used = end_ - begin_;
  if (size > std::numeric_limits<std::size_t>::max() / 4 - used) throw std::bad_alloc();
  if (used + size > capacity_) {
    const std::size_t wanted = std::max({smallest, capacity_ * 2, used + size});
    auto larger = std::make_unique_for_overwrite<char[]>(wanted);
    if (used > 0) std::memcpy(larger.get(), data_.get() + begin_, used);
    data_ = std::move(larger);
    capacity_ = wanted;
  } else {
    std::memmove(data_.get(), data_.get() + begin_, used);
  }
  begin_ = 0;
  end_ = used;
}

}  // namespace braid::detail
