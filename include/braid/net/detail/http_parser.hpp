// braid/net/detail/http_parser.hpp: parsers of HTTP messages, for programs that manage connections themselves.
#pragma once

#include <braid/base/config.hpp>
#include <braid/net/detail/http_head_reader.hpp>
#include <braid/net/http_message.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace braid {

namespace detail {

/// The progress of a parser that parses a head.
enum class http_progress : std::uint8_t {
  needs_more,  ///< nothing is wrong so far
  complete,
  refused,
};

/// A parser of request heads, one after the other. The result does not depend on the pieces in which the bytes arrived.
/// Threads: one at a time. Cost: about 1 ns for each byte; no allocation once the list of fields has grown. Source: RFC
/// 9112. If the RFC permits lenient or strict parsing, the parser is strict.
class BRAID_API http_request_parser {
 public:
  explicit http_request_parser(http_limits limits = {}) : limits_(limits) {}
  http_request_parser(const http_request_parser&) = delete;
  auto operator=(const http_request_parser&) -> http_request_parser& = delete;

  /// Parses everything that has arrived so far. `input` must begin with the first byte of the request; its address may
  /// change between calls.
  auto parse(std::string_view input) -> http_progress;

  /// Returns the reason why the message was refused.
  [[nodiscard]] auto error() const noexcept -> http_errc { return error_; }
  /// Returns whether any byte of a request has arrived.
  [[nodiscard]] auto started() const noexcept -> bool { return started_; }
  /// Returns the parsed head. Requires that the head is complete. Lifetime: the head contains views into the input of
  /// the last `parse` call.
  [[nodiscard]] auto head() const noexcept -> const http_request_head& { return head_; }
  /// Returns the size of the head in bytes.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return reader_.size(); }

  /// Prepares for the next request.
  void reset() noexcept;

 private:
  enum class state : std::uint8_t { begin, start_line, fields, complete, refused };
  struct part {
    std::size_t at = 0;
    std::size_t size = 0;
  };

  auto refuse(http_errc error) -> http_progress;
  auto read_start_line(std::string_view input) -> http_progress;
  auto parse_start_line(std::string_view line) -> std::optional<http_errc>;
  auto parse_target(std::string_view target) -> std::optional<http_errc>;
  auto finish(std::string_view input) -> http_progress;
  void place_views(std::string_view input);

  http_limits limits_;
  detail::http_head_reader reader_{limits_};
  state state_ = state::begin;
  bool started_ = false;
  http_errc error_{};
  std::size_t line_at_ = 0;
  part target_;
  part authority_;  // the authority of an absolute target
  part path_;
  http_request_head head_;
};

/// An incremental parser of HTTP responses, like `http_request_parser`. Informational responses are returned like other
/// responses; a caller that ignores them resets the parser and continues.
/// Threads: one at a time. Errors: `error` returns the reason why a response was refused.
class BRAID_API http_response_parser {
 public:
  explicit http_response_parser(http_limits limits = {}) : limits_(limits) {}
  http_response_parser(const http_response_parser&) = delete;
  auto operator=(const http_response_parser&) -> http_response_parser& = delete;

  /// Parses everything that has arrived so far. `method` is the method of the request that is answered.
  auto parse(std::string_view input, http_method method) -> http_progress;

  [[nodiscard]] auto error() const noexcept -> http_errc { return error_; }
  [[nodiscard]] auto head() const noexcept -> const http_response_head& { return head_; }
  [[nodiscard]] auto size() const noexcept -> std::size_t { return reader_.size(); }

  /// Prepares for the next response.
  void reset() noexcept;

 private:
  enum class state : std::uint8_t { start_line, fields, complete, refused };

  auto refuse(http_errc error) -> http_progress;
  auto parse_start_line(std::string_view line) -> std::optional<http_errc>;
  auto finish(std::string_view input, http_method method) -> http_progress;
  void place_views(std::string_view input);

  http_limits limits_;
  detail::http_head_reader reader_{limits_};
  state state_ = state::start_line;
  http_errc error_{};
  std::size_t reason_size_ = 0;
  http_response_head head_;
};

}  // namespace detail

}  // namespace braid
