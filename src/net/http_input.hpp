// src/net/http_input.hpp: declares a buffer for the bytes that one connection has received.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace braid::detail {

/// A contiguous buffer of received bytes that are not consumed yet. The head of the current request may be kept in
/// front of these bytes, so that the head stays readable.
class http_input {
 public:
  [[nodiscard]] auto view() const noexcept -> std::string_view { return {bytes_.get() + begin_, end_ - begin_}; }
  [[nodiscard]] auto empty() const noexcept -> bool { return begin_ == end_; }
  [[nodiscard]] auto held() const noexcept -> std::string_view { return {bytes_.get() + held_at_, held_size_}; }

  /// Returns the free space for received bytes. The kept head moves only if there is no free space left.
  auto room() -> std::span<std::byte>;
  void received(std::size_t bytes) noexcept { end_ += bytes; }
  void consume(std::size_t bytes) noexcept { begin_ += bytes; }

  /// Consumes `size` bytes but keeps them readable until `release`. Ensures that `room_behind` bytes of free space
  /// follow the consumed bytes.
  void hold(std::size_t size, std::size_t room_behind);
  void release() noexcept { held_size_ = 0; }

 private:
  void move(std::size_t from, std::size_t capacity);

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t held_at_ = 0;
  std::size_t held_size_ = 0;
};

}  // namespace braid::detail
