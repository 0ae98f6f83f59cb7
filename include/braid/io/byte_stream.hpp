// braid/io/byte_stream.hpp: byte streams: reading and writing, pipes, and a buffered reader.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/backend.hpp>
#include <braid/io/detail/io_operation.hpp>
#include <braid/io/loop.hpp>

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace braid {

namespace detail {

/// A read operation. With `Value` = std::size_t it reads once and returns the number of bytes. With void it reads until
/// the buffer is full.
template <typename Value>
class BRAID_API __attribute__((warn_unused)) read_operation final : public io_operation {
 public:
  read_operation(open_descriptor* from, std::span<std::byte> buffer) noexcept;
  read_operation(read_operation&& other) noexcept;
  [[nodiscard]] auto await_resume() const noexcept -> result<Value> { return result_; }

 private:
  auto attempt() noexcept -> bool override;
  auto absorb(int outcome) noexcept -> bool override;
  auto give_up() noexcept -> bool;

  iovec rest_;
  result<Value> result_;
};

/// A write operation. With `Value` = std::size_t it writes once. With void it writes until everything is written.
template <typename Value>
class BRAID_API __attribute__((warn_unused)) write_operation final : public io_operation {
 public:
  write_operation(open_descriptor* to, std::span<const std::byte> bytes) noexcept;
  write_operation(open_descriptor* to, std::span<const std::span<const std::byte>> parts) noexcept;
  write_operation(write_operation&& other) noexcept;
  [[nodiscard]] auto await_resume() const noexcept -> result<Value> { return result_; }

 private:
  static constexpr std::size_t max_parts = 16;  // the maximum number of parts of one call

  auto attempt() noexcept -> bool override;
  auto absorb(int outcome) noexcept -> bool override;
  void gather() noexcept;
  void skip(std::size_t bytes) noexcept;

  std::span<const std::byte> only_;
  std::span<const std::span<const std::byte>> parts_;  // the parts that are not written yet
  std::size_t written_ = 0;                            // the number of written bytes of the first part
  result<Value> result_;
  std::array<iovec, max_parts> gathered_;  // the last member, because most writes have one part and do not use it
};

extern template class BRAID_API read_operation<std::size_t>;
extern template class BRAID_API read_operation<void>;
extern template class BRAID_API write_operation<std::size_t>;
extern template class BRAID_API write_operation<void>;

}  // namespace detail

/// Returns the bytes of a string as a view. Lifetime: the view is valid as long as the string.
[[nodiscard]] inline auto bytes_of(std::string_view text) noexcept -> std::span<const std::byte> {
  return std::as_bytes(std::span(text));
}

/// Returns bytes as a std::string_view. Lifetime: the view is valid as long as the bytes.
[[nodiscard]] inline auto text_of(std::span<const std::byte> bytes) noexcept -> std::string_view {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// One end of a byte stream. Tasks of the stream's loop await its calls; one task reads at a time, and one writes. A
/// stop or a deadline ends a wait early; bytes that have arrived are kept for the next read.
/// Threads: the loop's thread. A stream that no task has waited on may be created and moved on other threads. Lifetime:
/// the stream must outlive its reads and writes, and must be destroyed before its loop. Buffers must live until the
/// call has ended. Errors: system errors, such as connection_reset and broken_pipe; SIGPIPE is not raised.
/// bad_file_descriptor if this end does not support the operation. Cost: a system call. The first wait also makes one
/// registration, which lasts until the stream is closed.
class BRAID_API byte_stream {
 public:
  byte_stream() = default;

  [[nodiscard]] explicit operator bool() const noexcept { return open_ != nullptr; }
  /// Returns the number of the descriptor, or -1 if the stream is not open.
  [[nodiscard]] auto number() const noexcept -> int { return open_ != nullptr ? open_->number() : -1; }
  /// Returns the loop of the stream. Requires an open stream.
  [[nodiscard]] auto on() const noexcept -> loop& {
    BRAID_EXPECTS(open_ != nullptr, "this stream is not open");
    return open_->on();
  }

  /// Waits for bytes and reads them to the front of `buffer`, which must not be empty. Returns the number of bytes as a
  /// result<std::size_t>. 0 means that the peer has ended the stream.
  [[nodiscard]] auto read_some(std::span<std::byte> buffer) const noexcept {
    return detail::read_operation<std::size_t>(open_.get(), buffer);
  }

  /// Fills `buffer`, and returns a result<void>.
  /// Errors: errc::ended if the stream ends first. If a stop interrupts the call, the bytes that it had read are lost.
  [[nodiscard]] auto read_exactly(std::span<std::byte> buffer) const noexcept {
    return detail::read_operation<void>(open_.get(), buffer);
  }

  /// Waits until there is room, writes as much of `bytes` as there is room for, and returns the number of bytes as a
  /// result<std::size_t>.
  [[nodiscard]] auto write_some(std::span<const std::byte> bytes) const noexcept {
    return detail::write_operation<std::size_t>(open_.get(), bytes);
  }

  /// Writes all of `bytes`, and returns a result<void>. If a stop interrupts the call, a part may have been written.
  [[nodiscard]] auto write_all(std::span<const std::byte> bytes) const noexcept {
    return detail::write_operation<void>(open_.get(), bytes);
  }

  [[nodiscard]] auto write_all(std::string_view text) const noexcept { return write_all(bytes_of(text)); }

  /// Writes all parts, one after the other, without copying them together.
  [[nodiscard]] auto write_all(std::span<const std::span<const std::byte>> parts) const noexcept {
    return detail::write_operation<void>(open_.get(), parts);
  }

  /// Ends the wait of a read that another task has begun. The read returns the bytes that have arrived, or
  /// operation_canceled if there are none. Later reads also return at once instead of waiting, until `allow_read_waits`
  /// is called. The peer and its data are not affected. The waiting task is queued, not resumed at once. Requires an
  /// open stream.
  void end_read_waits() const noexcept;
  /// Ends the effect of `end_read_waits`: reads may wait again. Requires that no task reads.
  void allow_read_waits() const noexcept { open_->registration().set_ends_read_waits(false); }

  /// Moves the stream to another loop. From then on the tasks of that loop use the stream. Use this in a server that
  /// accepts connections on one loop and serves them on several. Requires an open stream that no task reads or writes.
  /// Threads: the loop's thread. Before a task has waited on the stream, other threads may also call this.
  void move_to(loop& other) noexcept;

  /// Closes the stream. Bytes that were written are still delivered. Requires that no task reads or writes.
  void close() noexcept { open_.reset(); }

 protected:
  byte_stream(loop& loop, descriptor owned, detail::io_registration::kind kind)
      : open_(std::make_unique<detail::open_descriptor>(loop, std::move(owned), kind)) {}

  [[nodiscard]] auto registration() const noexcept -> detail::open_descriptor* { return open_.get(); }

 private:
  std::unique_ptr<detail::open_descriptor> open_;
};

/// One end of a pipe, which either reads or writes. Cost: a write to a pipe takes three more system calls than a write
/// to a socket. The additional calls prevent SIGPIPE.
class BRAID_API pipe_stream : public byte_stream {
 public:
  pipe_stream() = default;

  /// Takes ownership of a descriptor, and makes it non-blocking. Errors: operation_not_permitted for a regular file,
  /// because a loop cannot wait for a regular file; system errors.
  [[nodiscard]] static auto adopt(loop& loop, descriptor end) -> result<pipe_stream>;

  /// Creates a pipe. Returns the end for reading and the end for writing.
  /// Errors: system errors.
  [[nodiscard]] static auto pair(loop& loop) -> result<std::pair<pipe_stream, pipe_stream>>;

 private:
  pipe_stream(loop& loop, descriptor end) : byte_stream(loop, std::move(end), detail::io_registration::kind::other) {}
};

/// A reader with its own buffer, which grows up to a limit. Its calls return views into the buffer, which are valid
/// until the next call. If a stop interrupts a call, the buffer keeps all bytes for the next call.
/// Threads: the same as for the stream. Lifetime: the same as for the stream. While the reader exists, no other code
/// may read the stream.
class BRAID_API buffered_reader {
 public:
  static constexpr std::size_t default_max_size = std::size_t{64} * 1024;

  explicit buffered_reader(const byte_stream& from, std::size_t max_size = default_max_size) noexcept
      : stream_(&from), max_size_(max_size) {}

  /// Returns the bytes up to and including the first `delimiter`, which must not be empty. Returns nothing if the
  /// stream has ended.
  /// Errors: errc::ended if the stream ends without a delimiter; errc::too_long if there is no delimiter within the
  /// limit; errors of the stream.
  [[nodiscard]] auto read_until(std::string_view delimiter) -> task<result<std::span<const std::byte>>>;

  /// Returns exactly `size` bytes. Errors: errc::ended if the stream ends first; errc::too_long if `size` exceeds the
  /// limit; errors of the stream.
  [[nodiscard]] auto read_exactly(std::size_t size) -> task<result<std::span<const std::byte>>>;

  /// Reads once, appends the bytes to the buffer, and returns the number of bytes. 0 means that the stream has ended.
  /// Errors: errc::full if the buffer is full; errors of the stream.
  [[nodiscard]] auto fill() -> task<result<std::size_t>>;

  /// Returns the bytes that are in the buffer and were not returned by a call yet.
  [[nodiscard]] auto buffered() const noexcept -> std::span<const std::byte> {
    return std::span(buffer_).subspan(begin_, end_ - begin_);
  }
  /// Removes `size` bytes from the front of the buffer.
  void consume(std::size_t size) noexcept;

 private:
  [[nodiscard]] auto room() -> std::span<std::byte>;
  [[nodiscard]] auto taken(std::size_t size) noexcept -> std::span<const std::byte>;

  const byte_stream* stream_;
  std::size_t max_size_;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;  // the start of the buffered bytes
  std::size_t end_ = 0;
};

}  // namespace braid
