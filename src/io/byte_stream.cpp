// src/io/byte_stream.cpp: implements the reads and writes of byte streams, which may need several system calls.
#include <braid/io/byte_stream.hpp>

#include "../platform/system.hpp"

#include <braid/base/config.hpp>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace braid::detail {
namespace {

constexpr std::size_t max_system_read = std::size_t{1} << 30U;  // a count fits into an int

auto system_failure(int negative) -> std::unexpected<std::error_code> { return fail(to_error_code(-negative)); }

}  // namespace

template <typename Value>
read_operation<Value>::read_operation(open_descriptor* from, std::span<std::byte> buffer) noexcept
    : io_operation(from, io_interest::read, aim::bytes), rest_{.iov_base = buffer.data(), .iov_len = buffer.size()} {
  if constexpr (!std::is_void_v<Value>) {
    BRAID_EXPECTS(!buffer.empty(), "a read needs room for at least one byte, because 0 means the end of the stream");
    rest_.iov_len = std::min(rest_.iov_len, max_system_read);
  }
  message().msg_iov = &rest_;
  message().msg_iovlen = 1;
}

template <typename Value>
read_operation<Value>::read_operation(read_operation&& other) noexcept
    : io_operation(std::move(other)), rest_(other.rest_) {  // NOLINT(bugprone-use-after-move): moves the base only
  message().msg_iov = &rest_;
  message().msg_iovlen = 1;
}

template <typename Value>
auto read_operation<Value>::attempt() noexcept -> bool {
  for (;;) {
    if (rest_.iov_len == 0) return true;
    const int outcome = move_now(*this);
    if (outcome == -EAGAIN) return registration().ends_read_waits() && give_up();
    if (absorb(outcome)) return true;
    if (!registration().may_be_ready(io_interest::read)) return false;
  }
}

/// Ends the read with ECANCELED. Marks the descriptor as possibly readable, so that the next read tries the system call
/// first.
template <typename Value>
auto read_operation<Value>::give_up() noexcept -> bool {
  registration().set_ready(io_interest::read, true);
  return absorb(-ECANCELED);
}

template <typename Value>
auto read_operation<Value>::absorb(int outcome) noexcept -> bool {
  if (outcome < 0) {
    result_ = system_failure(outcome);
    return true;
  }
  const auto count = static_cast<std::size_t>(outcome);
  if constexpr (std::is_void_v<Value>) {
    rest_.iov_base = static_cast<std::byte*>(rest_.iov_base) + count;
    rest_.iov_len -= count;
    if (count == 0) result_ = fail(errc::ended);
    return count == 0 || rest_.iov_len == 0;
  } else {
    result_ = count;
    return true;
  }
}

template <typename Value>
write_operation<Value>::write_operation(open_descriptor* to, std::span<const std::byte> bytes) noexcept
    : io_operation(to, io_interest::write, aim::bytes), only_(bytes), parts_(&only_, 1) {
  gather();
}

template <typename Value>
write_operation<Value>::write_operation(open_descriptor* to, std::span<const std::span<const std::byte>> parts) noexcept
    : io_operation(to, io_interest::write, aim::bytes), parts_(parts) {
  gather();
}

template <typename Value>
write_operation<Value>::write_operation(write_operation&& other) noexcept
    : io_operation(std::move(other)),  // moves the base only: NOLINTBEGIN(bugprone-use-after-move)
      only_(other.only_),
      parts_(other.parts_) {
  if (parts_.data() == &other.only_) parts_ = std::span(&only_, 1);  // NOLINTEND(bugprone-use-after-move)
  gather();
}

/// Returns the next parts to write, but not more than one system call accepts.
template <typename Value>
void write_operation<Value>::gather() noexcept {
  std::size_t count = 0;
  std::size_t bytes = 0;
  std::size_t skipped = written_;
  for (const std::span<const std::byte> part : parts_) {
    if (count == max_parts || bytes == max_system_read) break;
    const auto rest = part.subspan(skipped).first(std::min(part.size() - skipped, max_system_read - bytes));
    skipped = 0;
    if (rest.empty()) continue;
    gathered_[count++] = {.iov_base = const_cast<std::byte*>(rest.data()), .iov_len = rest.size()};  // only read
    bytes += rest.size();
  }
  message().msg_iov = gathered_.data();
  message().msg_iovlen = count;
}

template <typename Value>
void write_operation<Value>::skip(std::size_t bytes) noexcept {
  written_ += bytes;
  while (!parts_.empty() && written_ >= parts_.front().size()) {
    written_ -= parts_.front().size();
    parts_ = parts_.subspan(1);
  }
}

template <typename Value>
auto write_operation<Value>::attempt() noexcept -> bool {
  for (;;) {
    if (message().msg_iovlen == 0) return absorb(0);
    const int outcome = move_now(*this);
    if (outcome == -EAGAIN) return false;
    if (absorb(outcome)) return true;
  }
}

template <typename Value>
auto write_operation<Value>::absorb(int outcome) noexcept -> bool {
  if (outcome < 0) {
    result_ = system_failure(outcome);
    return true;
  }
  if constexpr (std::is_void_v<Value>) {
    skip(static_cast<std::size_t>(outcome));
    gather();
    return message().msg_iovlen == 0;
  } else {
    result_ = static_cast<std::size_t>(outcome);
    return true;
  }
}

template class read_operation<std::size_t>;
template class read_operation<void>;
template class write_operation<std::size_t>;
template class write_operation<void>;

}  // namespace braid::detail

namespace braid {

void byte_stream::end_read_waits() const noexcept {
  BRAID_EXPECTS(open_ != nullptr, "this stream is not open");
  detail::io_operation::end_read_waits(*open_);
}

void byte_stream::move_to(loop& other) noexcept {
  BRAID_EXPECTS(open_ != nullptr, "this stream is not open");
  open_->move_to(other);
}

}  // namespace braid
