// rankd/store/line_reader.hpp: the lines of a file one after another, as simdjson wants to be given them.
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

/// A line without its end. `text` is followed by line_reader::padding readable bytes.
struct text_line {
  std::string_view text;  ///< empty where the line is longer than line_reader::longest
  std::uint32_t number = 0;
  bool too_long = false;
};

/// Reads a file in large pieces; memory is bounded by the longest line.
/// Threads: one. Lifetime: a line is valid until the next is read.
class line_reader {
 public:
  static constexpr std::size_t longest = std::size_t{16} << 20U;
  static constexpr std::size_t padding = 64;

  static auto open(const std::filesystem::path& file) -> braid::result<line_reader>;

  line_reader(line_reader&& other) noexcept;
  auto operator=(line_reader&&) -> line_reader& = delete;
  ~line_reader();

  /// The next line, or nothing at the end. A line that is too long is passed over and reported once.
  /// Blocks: on the disk.
  auto next() -> braid::result<std::optional<text_line>>;

  /// Bytes of the file that lines were made of so far.
  [[nodiscard]] auto bytes_done() const noexcept -> std::uint64_t { return bytes_done_; }

  /// Bytes of memory that it holds.
  [[nodiscard]] auto reserved() const noexcept -> std::size_t { return buffer_.size(); }

 private:
  explicit line_reader(int descriptor) : descriptor_(descriptor) {}

  auto fill() -> braid::result<void>;
  auto take(std::size_t length, std::size_t terminator) -> text_line;
  auto pass_over() -> braid::result<std::optional<text_line>>;
  [[nodiscard]] auto pending() const noexcept -> std::string_view { return {buffer_.data() + begin_, end_ - begin_}; }

  int descriptor_;
  bool at_end_ = false;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;     ///< first byte that belongs to no line yet
  std::size_t end_ = 0;       ///< end of what was read
  std::size_t searched_ = 0;  ///< bytes after begin_ that are known to hold no line end
  std::uint64_t bytes_done_ = 0;
  std::uint32_t number_ = 0;
};

}  // namespace rankd
