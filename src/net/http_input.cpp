// src/net/http_input.cpp: implements a contiguous buffer. Received bytes are appended at the end and consumed from the
// front.
#include "http_input.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace braid::detail {
namespace {

// docs/design/constants.md gives the reason for this value.
constexpr std::size_t first_room = 2 * 1024;

}  // namespace

auto http_input::room() -> std::span<std::byte> {
  const std::size_t floor = held_size_ == 0 ? 0 : held_at_ + held_size_;
  if (empty()) begin_ = end_ = floor;
  if (end_ == capacity_ && begin_ > floor) {
    std::memmove(bytes_.get() + floor, bytes_.get() + begin_, end_ - begin_);
    end_ -= begin_ - floor;
    begin_ = floor;
  }
  if (end_ == capacity_) move(held_size_ == 0 ? begin_ : held_at_, std::max(first_room, 2 * capacity_));
  return {reinterpret_cast<std::byte*>(bytes_.get()) + end_, capacity_ - end_};
}

void http_input::hold(std::size_t size, std::size_t room_behind) {
  held_at_ = begin_;
  held_size_ = size;
  begin_ += size;
  if (capacity_ - held_at_ < size + room_behind) move(held_at_, std::max(capacity_, size + room_behind));
}

/// Moves the bytes from position `from` on to the front of a new block of memory.
void http_input::move(std::size_t from, std::size_t capacity) {
  auto bytes = std::make_unique_for_overwrite<char[]>(capacity);
  if (end_ > from) std::memcpy(bytes.get(), bytes_.get() + from, end_ - from);
  bytes_ = std::move(bytes);
  capacity_ = capacity;
  begin_ -= from;
  end_ -= from;
  held_at_ -= std::min(held_at_, from);
}

}  // namespace braid::detail
