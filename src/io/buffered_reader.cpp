// src/io/buffered_reader.cpp: manages the free space and the growth of a buffered reader's buffer.
#include <braid/io/byte_stream.hpp>

#include <braid/base/config.hpp>

#include <algorithm>
#include <cstring>

namespace braid {
namespace {

// docs/design/constants.md gives the reason for this value.
constexpr std::size_t min_read = 4096;

}  // namespace

void buffered_reader::consume(std::size_t size) noexcept {
  BRAID_EXPECTS(size <= end_ - begin_, "only buffered bytes can be consumed");
  begin_ += size;
}

auto buffered_reader::taken(std::size_t size) noexcept -> std::span<const std::byte> {
  const auto front = buffered().first(size);
  consume(size);
  return front;
}

/// Returns the free space behind the received bytes, or an empty span if the buffer is full.
auto buffered_reader::room() -> std::span<std::byte> {
  if (begin_ == end_) begin_ = end_ = 0;
  if (end_ == buffer_.size() && begin_ != 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) buffer_.resize(std::min(max_size_, std::max(min_read, 2 * buffer_.size())));
  return std::span(buffer_).subspan(end_);
}

auto buffered_reader::fill() -> task<result<std::size_t>> {
  const std::span<std::byte> into = room();
  if (into.empty()) co_return fail(errc::full);
  const result<std::size_t> got = co_await stream_->read_some(into);
  if (got) end_ += *got;
  co_return got;
}

auto buffered_reader::read_until(std::string_view delimiter) -> task<result<std::span<const std::byte>>> {
  BRAID_EXPECTS(!delimiter.empty(), "a delimiter must not be empty");
  for (std::size_t searched = 0;;) {
    const std::string_view seen = text_of(buffered());
    if (const std::size_t at = seen.find(delimiter, searched); at != seen.npos) co_return taken(at + delimiter.size());
    searched = seen.size() - std::min(seen.size(), delimiter.size() - 1);
    const result<std::size_t> got = co_await fill();
    if (!got) co_return fail(got.error() == errc::full ? make_error_code(errc::too_long) : got.error());
    if (*got != 0) continue;
    if (begin_ != end_) co_return fail(errc::ended);
    co_return std::span<const std::byte>();
  }
}

auto buffered_reader::read_exactly(std::size_t size) -> task<result<std::span<const std::byte>>> {
  if (size > max_size_) co_return fail(errc::too_long);
  while (end_ - begin_ < size) {
    const result<std::size_t> got = co_await fill();
    if (!got) co_return fail(got.error());
    if (*got == 0) co_return fail(errc::ended);
  }
  co_return taken(size);
}

}  // namespace braid
