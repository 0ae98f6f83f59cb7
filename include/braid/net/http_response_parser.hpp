// braid/net/http_response_parser.hpp: reads the head of a response.
#pragma once

#include <braid/base/config.hpp>
#include <braid/net/detail/http_head_reader.hpp>
#include <braid/net/http_error.hpp>
#include <braid/net/http_head.hpp>
#include <braid/net/http_request_parser.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace braid {

/// Incremental parser of HTTP responses; as `http_request_parser`. Informational responses come out like others; a
/// caller that does not want them resets and goes on. Threads: one at a time. Errors: `error` says why a response was
/// refused.
class BRAID_API http_response_parser {
 public:
  explicit http_response_parser(http_limits limits = {}) : limits_(limits) {}
  http_response_parser(const http_response_parser&) = delete;
  auto operator=(const http_response_parser&) -> http_response_parser& = delete;

  /// Looks at all that has come so far of the response to a request of that method.
  auto parse(std::string_view input, http_method asked) -> http_progress;

  [[nodiscard]] auto error() const noexcept -> http_errc { return error_; }
  [[nodiscard]] auto head() const noexcept -> const http_response_head& { return head_; }
  [[nodiscard]] auto size() const noexcept -> std::size_t { return reader_.size(); }

  /// Begins with the next response.
  void reset() noexcept;

 private:
  enum class state : std::uint8_t { start_line, fields, complete, refused };

  auto refuse(http_errc why) -> http_progress;
  auto parse_start_line(std::string_view line) -> std::optional<http_errc>;
  auto finish(std::string_view input, http_method asked) -> http_progress;
  void place_views(std::string_view input);

  http_limits limits_;
  detail::http_head_reader reader_{limits_};
  state state_ = state::start_line;
  http_errc error_{};
  std::size_t reason_size_ = 0;
  http_response_head head_;
};

}  // namespace braid
