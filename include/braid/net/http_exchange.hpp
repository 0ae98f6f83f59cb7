// braid/net/http_exchange.hpp: one request to a server, and the answer to it, as a handler sees them.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/net/http_fields.hpp>
#include <braid/net/http_head.hpp>
#include <braid/net/http_status.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace braid {

namespace detail {
class http_connection;
}

/// Lives as long as the handler runs, and so does everything that it gives a view of. A handler that ends without an
/// answer, or by an exception, makes the server answer 500; where its answer has begun, the connection is cut instead,
/// so that the client does not take a part for the whole. Threads: the server's loop.
class BRAID_API http_exchange {
 public:
  http_exchange(const http_exchange&) = delete;
  auto operator=(const http_exchange&) -> http_exchange& = delete;

  [[nodiscard]] auto request() const noexcept -> const http_request_head&;
  /// What stands in the path where the pattern has `{name}`; empty where it has no such name. As it came: see
  /// `percent_decoded`.
  [[nodiscard]] auto value(std::string_view name) const noexcept -> std::string_view;

  /// The next piece of the request's body, as it comes; empty at its end. Lifetime: until the next call.
  /// Errors: body_too_large, bad_chunk, truncated, too_slow; what is answered where the handler says nothing.
  [[nodiscard]] auto read_some() -> task<result<std::string_view>>;
  /// All of it, or all that is left. Errors: as `read_some`.
  [[nodiscard]] auto read_all() -> task<result<std::string>>;
  /// Whether all of the body has come, as far as that is known without reading it. Where it has not, an answer now ends
  /// the connection.
  [[nodiscard]] auto has_whole_body() const noexcept -> bool;
  /// What is left of the body, where all of it has come and lies in one piece: at once, without a task. Nothing
  /// otherwise, and `read_some` gives it then. Lifetime: until the next call.
  [[nodiscard]] auto read_now() -> std::optional<std::string_view>;
  /// What came behind the body, once that has ended.
  [[nodiscard]] auto trailers() const noexcept -> http_fields;

  /// A field of the answer. Before it begins. Errors: as `check_field`; the answer has begun: errc::finished.
  [[nodiscard]] auto set_field(std::string_view name, std::string_view value) -> result<void>;
  /// The whole answer. Requires that none has begun. A body without a type is text in UTF-8. A `type` that is not the
  /// value of a field makes it a 500.
  void reply(http_status status) { reply(status, {}, {}); }
  void reply(http_status status, std::string_view text) { reply(status, "text/plain; charset=utf-8", text); }
  void reply(http_status status, std::string_view type, std::string_view body);
  /// Says that the answer refuses because the server is full, so that `http_server_options::pacing` holds for this
  /// connection: once the answer is sent it may have to wait before its next request is read.
  void pace() noexcept;

  /// Begins an answer of several pieces. Without a length it is sent in chunks, and to HTTP/1.0 up to the end of the
  /// connection. Requires that none has begun.
  void begin(http_status status, std::string_view type = {}, std::optional<std::uint64_t> length = std::nullopt);
  /// Sends a piece, and waits until there is room for the next. Errors: the system's where the client has gone or is
  /// too slow; errc::full for more than the length.
  [[nodiscard]] auto write(std::string_view piece) -> task<result<void>>;

 private:
  friend class detail::http_connection;
  explicit http_exchange(detail::http_connection& by) noexcept : by_(&by) {}

  detail::http_connection* by_;
};

}  // namespace braid
