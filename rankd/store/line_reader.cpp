// rankd/store/line_reader.cpp: splits a buffer into lines, and refills it.
#include <rankd/store/line_reader.hpp>

#include <rankd/registry/file.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace rankd {
namespace {

constexpr std::size_t read_piece = std::size_t{256} << 10U;

}  // namespace

auto line_reader::open(const std::filesystem::path& file, line_position start) -> braid::result<line_reader> {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return braid::fail(braid::last_system_error());
  line_reader reader(descriptor, start);
  if (start.bytes != 0 && ::lseek(descriptor, static_cast<::off_t>(start.bytes), SEEK_SET) < 0)
    return braid::fail(braid::last_system_error());
  return reader;
}

auto line_reader::standard_input() -> braid::result<line_reader> {
  const int descriptor = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0) return braid::fail(braid::last_system_error());
  return line_reader(descriptor, {});
}

auto find_line(const std::filesystem::path& file, std::uint64_t bytes) -> braid::result<line_position> {
  auto reader = line_reader::open(file);
  if (!reader) return braid::fail(reader.error());
  while (reader->bytes_done() < bytes) {
    const auto line = reader->next();
    if (!line) return braid::fail(line.error());
    if (!*line) break;
  }
  return reader->position();
}

line_reader::line_reader(line_reader&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      at_end_(other.at_end_),
      buffer_(std::move(other.buffer_)),
      begin_(other.begin_),
      end_(other.end_),
      searched_(other.searched_),
      done_(other.done_) {}

line_reader::~line_reader() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

auto line_reader::fill() -> braid::result<void> {
  if (begin_ > 0) std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= std::exchange(begin_, 0);
  if (buffer_.size() < end_ + read_piece + padding)
    buffer_.resize(std::max(end_ + read_piece + padding, 2 * buffer_.size()));
  ::ssize_t got = 0;
  do got = ::read(descriptor_, buffer_.data() + end_, buffer_.size() - padding - end_);
  while (got < 0 && errno == EINTR);
  if (got < 0) return braid::fail(braid::last_system_error());
  end_ += static_cast<std::size_t>(got);
  at_end_ = got == 0;
  return {};
}

auto line_reader::take(std::size_t length, std::size_t terminator) -> text_line {
  const std::string_view text(buffer_.data() + begin_, length);
  const text_line line{done_.bytes == 0 ? without_mark(text) : text, ++done_.lines, length > max_bytes};
  begin_ += length + terminator;
  done_.bytes += length + terminator;
  searched_ = 0;
  return line.too_long ? text_line{{}, line.number, true} : line;
}

auto line_reader::next() -> braid::result<std::optional<text_line>> {
  for (;;) {
    const std::size_t end = pending().find('\n', searched_);
    if (end != std::string_view::npos) return take(end, 1);
    searched_ = pending().size();
    if (searched_ > max_bytes) return pass_over();
    if (at_end_ && searched_ > 0) return take(searched_, 0);
    if (at_end_) return std::nullopt;
    if (auto done = fill(); !done) return braid::fail(done.error());
  }
}

auto line_reader::pass_over() -> braid::result<std::optional<text_line>> {
  std::size_t end = std::string_view::npos;
  while (end == std::string_view::npos && !at_end_) {
    done_.bytes += pending().size();
    begin_ = end_ = 0;
    if (auto done = fill(); !done) return braid::fail(done.error());
    end = pending().find('\n');
  }
  const std::size_t rest = end == std::string_view::npos ? pending().size() : end + 1;
  begin_ += rest;
  done_.bytes += rest;
  searched_ = 0;
  return text_line{{}, ++done_.lines, true};
}

}  // namespace rankd
