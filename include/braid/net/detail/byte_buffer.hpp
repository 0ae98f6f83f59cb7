// braid/net/detail/byte_buffer.hpp: a contiguous buffer: bytes are appended at the end and removed from the front.
#pragma once

#include <braid/base/config.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace braid::detail {

/// A buffer between a protocol and a descriptor. It grows, but never shrinks by itself.
/// Threads: one at a time. Errors: std::bad_alloc; the buffer is unchanged then.
class BRAID_API byte_buffer {
 public:
  [[nodiscard]] auto bytes() const noexcept -> std::string_view { return {data_.get() + begin_, end_ - begin_}; }
  [[nodiscard]] auto size() const noexcept -> std::size_t { return end_ - begin_; }
  [[nodiscard]] auto empty() const noexcept -> bool { return end_ == begin_; }

  /// Returns free memory after the content, with room for at least `size` bytes. After you have written bytes there,
  /// call `added` to make them part of the buffer.
  [[nodiscard]] auto room(std::size_t size) -> char* {
    if (size > capacity_ - end_) make_room(size);
    return data_.get() + end_;
  }
  void added(std::size_t size) noexcept {
    BRAID_ASSERT(size <= capacity_ - end_, "a buffer cannot add more bytes than its free space holds");
    end_ += size;
  }

  void append(std::string_view text) {
    if (text.empty()) return;
    std::memcpy(room(text.size()), text.data(), text.size());
    added(text.size());
  }

  /// Removes `size` bytes from the front. Requires that the buffer contains at least `size` bytes.
  void removed(std::size_t size) noexcept {
    BRAID_ASSERT(size <= end_ - begin_, "a buffer cannot remove more bytes than it contains");
    begin_ += size;
    if (begin_ == end_) begin_ = end_ = 0;
  }

  /// Drops all bytes after the first `size` bytes. Requires that the buffer contains at least `size` bytes.
  void shorten_to(std::size_t size) noexcept {
    BRAID_ASSERT(size <= end_ - begin_, "a buffer cannot be shortened to more bytes than it contains");
    end_ = begin_ + size;
  }

  void clear() noexcept { begin_ = end_ = 0; }

 private:
  void make_room(std::size_t size);

  std::unique_ptr<char[]> data_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace braid::detail
