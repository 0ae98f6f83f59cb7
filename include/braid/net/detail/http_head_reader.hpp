// braid/net/detail/http_head_reader.hpp: reads lines and fields from text that arrives in pieces.
#pragma once

#include <braid/base/config.hpp>
#include <braid/net/http_message.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>
#include <vector>

namespace braid::detail {

/// The fields that determine where a message ends and whether its connection stays open.
struct http_known_fields {
  enum class encoding : std::uint8_t { none, chunked };

  std::optional<std::uint64_t> length;
  encoding transfer = encoding::none;
  std::optional<std::size_t> host;  // the field's number
  bool close = false;
  bool keep_alive = false;
  bool expects_continue = false;
};

/// A reader that reads line by line from text that grows: each call gets the bytes of the previous call again, and the
/// bytes that arrived after it. The results depend only on the bytes, and not on the pieces in which they arrived.
/// Characters are checked as they arrive, and a line is parsed once it is complete.
class BRAID_API http_head_reader {
 public:
  explicit http_head_reader(const http_limits& limits) : limits_(&limits) {}

  /// Returns the next line without its end, or nothing if the line is incomplete. The line must end within the first
  /// `max_count` bytes of the text.
  /// Errors: bad_line_end; head_too_large.
  auto next_line(std::string_view input, std::size_t max_count)
      -> std::expected<std::optional<std::string_view>, http_errc>;

  /// Reads fields. Returns whether the empty line after the fields has arrived.
  /// Errors: the error of the first invalid field.
  auto read_fields(std::string_view input) -> std::expected<bool, http_errc>;

  /// Returns the number of bytes in the lines that were read.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return line_at_; }
  [[nodiscard]] auto known() const noexcept -> const http_known_fields& { return known_; }
  [[nodiscard]] auto fields(std::string_view input) const noexcept -> http_fields { return {input.data(), places_}; }
  [[nodiscard]] auto limits() const noexcept -> const http_limits& { return *limits_; }

  void reset() noexcept;

 private:
  auto add_field(std::string_view input, std::string_view line) -> std::optional<http_errc>;
  auto note(std::string_view name, std::string_view value) -> std::optional<http_errc>;
  auto note_length(std::string_view value) -> std::optional<http_errc>;
  auto note_encoding(std::string_view value) -> std::optional<http_errc>;
  auto note_host(std::string_view value) -> std::optional<http_errc>;
  void note_connection(std::string_view value) noexcept;

  const http_limits* limits_;
  std::size_t line_at_ = 0;     // the start of the first unread line
  std::size_t scanned_to_ = 0;  // no control character before this position
  std::vector<http_field_span> places_;
  http_known_fields known_;
};

/// Returns whether `text` is a host, with or without a port.
[[nodiscard]] BRAID_API auto is_host(std::string_view text) noexcept -> bool;

/// Returns how the fields announce the end of the body. Errors: body_too_large.
[[nodiscard]] BRAID_API auto find_framing(const http_known_fields& known, const http_limits& limits)
    -> std::expected<http_framing, http_errc>;

}  // namespace braid::detail
