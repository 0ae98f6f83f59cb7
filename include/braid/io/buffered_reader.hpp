// braid/io/buffered_reader.hpp: reading lines and blocks from a stream, whatever pieces they come in.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/byte_stream.hpp>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace braid {

/// Reads ahead into a buffer of its own, which grows up to a limit. What it gives is a view into the buffer, until the
/// next call. A stop in the middle of a call takes nothing out of the buffer: the next call finds all of it.
/// Threads: as the stream's. Lifetime: of the stream, which nothing else reads.
class BRAID_API buffered_reader {
 public:
  static constexpr std::size_t default_max_size = std::size_t{64} * 1024;

  explicit buffered_reader(const byte_stream& from, std::size_t max_size = default_max_size) noexcept
      : from_(&from), max_size_(max_size) {}

  /// The bytes up to and including the first `delimiter`, which is not empty. Nothing where the stream has ended.
  /// Errors: errc::ended where it ends without a delimiter; errc::full where there is none within the limit; the
  /// stream's.
  [[nodiscard]] auto read_until(std::string_view delimiter) -> task<result<std::span<const std::byte>>>;

  /// Errors: errc::ended where the stream ends before; errc::full where `size` is beyond the limit; the stream's.
  [[nodiscard]] auto read_exactly(std::size_t size) -> task<result<std::span<const std::byte>>>;

  /// Reads once, behind what is buffered, and gives how much. 0: the stream has ended. Errors: errc::full where the
  /// buffer is; the stream's.
  [[nodiscard]] auto fill() -> task<result<std::size_t>>;

  /// What was read and not given yet.
  [[nodiscard]] auto buffered() const noexcept -> std::span<const std::byte> {
    return std::span(buffer_).subspan(begin_, end_ - begin_);
  }
  /// Takes bytes from the front of it.
  void consume(std::size_t size) noexcept;

 private:
  [[nodiscard]] auto room() -> std::span<std::byte>;
  [[nodiscard]] auto taken(std::size_t size) noexcept -> std::span<const std::byte>;

  const byte_stream* from_;
  std::size_t max_size_;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;  // of what is buffered
  std::size_t end_ = 0;
};

}  // namespace braid
