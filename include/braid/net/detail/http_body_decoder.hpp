// braid/net/detail/http_body_decoder.hpp: decodes the body of a message from the bytes after its head.
#pragma once

#include <braid/base/config.hpp>
#include <braid/net/detail/http_head_reader.hpp>
#include <braid/net/http_message.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace braid::detail {

/// Returns whether a field must not follow the body, because it decides on framing, routing or authorization (RFC 9110,
/// 6.5.1).
[[nodiscard]] auto is_forbidden_trailer(std::string_view name) -> bool;

/// A decoder for bodies, which works piece by piece and without copying. Chunk extensions are checked and dropped;
/// trailers are kept. Threads: one at a time. Cost: some nanoseconds for each piece or chunk.
class BRAID_API http_body_decoder {
 public:
  /// The result of a step. The first `consumed` bytes of the input are no longer needed. `data` is the part of these
  /// bytes that belongs to the body.
  struct piece {
    std::size_t consumed = 0;
    std::string_view data;
  };

  explicit http_body_decoder(http_limits limits = {}) : limits_(limits) {}
  http_body_decoder(const http_body_decoder&) = delete;
  auto operator=(const http_body_decoder&) -> http_body_decoder& = delete;

  /// Starts to decode the body of a message. `framing` comes from the head of the message.
  void start(http_framing framing) noexcept;
  /// Starts to decode a body that may have `max_bytes` bytes. This limit replaces the configured limit, for later
  /// bodies too.
  void start(http_framing framing, std::uint64_t max_bytes) noexcept {
    limits_.body_bytes = max_bytes;
    start(framing);
  }

  /// Consumes input up to the end of the next piece of data or up to the end of the body. If the input contains
  /// neither, consumes all of it. Requires that there was no error so far. The returned data is a part of the input.
  /// Errors: body_too_large, bad_chunk; for trailers, the error of the field.
  auto next(std::string_view input) -> std::expected<piece, http_errc>;

  /// Called when the connection has no more input.
  /// Errors: http_errc::truncated, unless the body has ended or extends to the end of the connection.
  auto end_of_input() noexcept -> std::expected<void, http_errc>;

  [[nodiscard]] auto finished() const noexcept -> bool { return state_ == state::finished; }
  /// Returns whether the next `bytes` bytes of input certainly contain the end of the body. For a chunked body, returns
  /// false until the end of the body was decoded.
  [[nodiscard]] auto ends_within(std::size_t bytes) const noexcept -> bool {
    return finished() || (state_ == state::plain && left_ <= bytes);
  }
  /// Returns the fields after the last chunk.
  /// Lifetime: the fields are valid until the next call of `start`.
  [[nodiscard]] auto trailers() const noexcept -> http_fields { return trailer_reader_.fields(trailer_text_); }

 private:
  enum class state : std::uint8_t {
    size_first,  // a digit must follow
    size,
    extension_name,    // after a semicolon
    extension_value,   // after an equals sign
    extension_quoted,  // inside quotation marks
    extension_escape,  // after a backslash in them
    extension_end,     // after the closing quotation mark
    size_lf,
    data,
    data_cr,
    data_lf,
    plain,  // data without chunks
    until_close,
    trailers,
    finished,
  };

  auto take_data(std::string_view input, std::size_t offset) noexcept -> piece;
  auto step(char c) noexcept -> std::optional<http_errc>;
  auto step_size(char c) noexcept -> std::optional<http_errc>;
  auto step_extension(char c) noexcept -> std::optional<http_errc>;
  auto end_of_size() noexcept -> std::optional<http_errc>;
  auto take_trailers(std::string_view input) -> std::expected<std::size_t, http_errc>;

  http_limits limits_;
  state state_ = state::finished;
  bool part_is_empty_ = true;        // the current part of an extension is empty
  std::uint8_t digits_ = 0;          // the number of digits of the current size
  std::uint64_t left_ = 0;           // data of this chunk, or of the body
  std::uint64_t total_ = 0;          // data of the chunks so far
  std::size_t extension_bytes_ = 0;  // the size of the extensions of all chunks together
  std::string trailer_text_;
  detail::http_head_reader trailer_reader_{limits_};
};

}  // namespace braid::detail
