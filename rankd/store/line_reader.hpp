// rankd/store/line_reader.hpp: the lines of a file one after another, in the form that simdjson needs.
#pragma once

#include <braid/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd {

/// A line without its line end, and without the byte-order mark of the file. `text` is followed by line_reader::padding
/// readable bytes.
struct text_line {
  std::string_view text;  ///< empty if the line is longer than line_reader::longest
  std::uint64_t number = 0;
  bool too_long = false;
};

/// A position between two lines of a file.
struct line_position {
  std::uint64_t bytes = 0;  ///< the number of bytes before the position
  std::uint64_t lines = 0;  ///< the number of lines before the position

  auto operator==(const line_position&) const -> bool = default;
};

/// Returns the position of the first line that begins at or after `bytes` in a regular file. Returns the end of the
/// file if there is no such line. Lines begin at 0 and after each line feed. Blocks: on the disk, to read the file up
/// to this position. Errors: those of the system.
auto find_line(const std::filesystem::path& file, std::uint64_t bytes) -> braid::result<line_position>;

/// Reads a file in large pieces. The memory is limited by the maximum length of a line. Threads: a single thread.
/// Lifetime: a line is valid until the next line is read.
class line_reader {
 public:
  static constexpr std::size_t max_bytes = std::size_t{16} << 20U;
  static constexpr std::size_t padding = 64;

  /// Opens a file and begins at `start`, which is the beginning of the file or a position between two lines.
  static auto open(const std::filesystem::path& file, line_position start = {}) -> braid::result<line_reader>;
  /// Reads standard input.
  static auto standard_input() -> braid::result<line_reader>;

  line_reader(line_reader&& other) noexcept;
  auto operator=(line_reader&&) -> line_reader& = delete;
  ~line_reader();

  /// Returns the next line, or nothing at the end. A line that is too long is skipped and reported once.
  /// Blocks: on the disk.
  auto next() -> braid::result<std::optional<text_line>>;

  /// Returns the number of bytes that precede the next line in the file.
  [[nodiscard]] auto bytes_done() const noexcept -> std::uint64_t { return done_.bytes; }
  [[nodiscard]] auto position() const noexcept -> line_position { return done_; }

  /// Returns the size of the buffer in bytes.
  [[nodiscard]] auto reserved() const noexcept -> std::size_t { return buffer_.size(); }

 private:
  line_reader(int descriptor, line_position start) : descriptor_(descriptor), done_(start) {}

  auto fill() -> braid::result<void>;
  auto take(std::size_t length, std::size_t terminator) -> text_line;
  auto pass_over() -> braid::result<std::optional<text_line>>;
  [[nodiscard]] auto pending() const noexcept -> std::string_view { return {buffer_.data() + begin_, end_ - begin_}; }

  int descriptor_;
  bool at_end_ = false;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;     ///< the first byte that does not belong to a returned line
  std::size_t end_ = 0;       ///< the end of the bytes that were read
  std::size_t searched_ = 0;  ///< the number of bytes after begin_ that are known to contain no line end
  line_position done_;
};

}  // namespace rankd
