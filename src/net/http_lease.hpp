// src/net/http_lease.hpp: declares one call of a client with its answer, for all versions of HTTP.
#pragma once

#include <braid/base/error.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/task.hpp>
#include <braid/net/http_client.hpp>
#include <braid/net/http_message.hpp>

#include <optional>
#include <string_view>

namespace braid::detail {

inline constexpr int max_informational = 8;  // answers before the final one
/// The lowest status after which a client need not send the rest of its call.
inline constexpr int first_refusing = 300;

/// A call, which uses an HTTP/1.1 connection alone or a stream of an HTTP/2 connection. If the object is destroyed
/// before the end of the answer, the connection is closed, or the stream is reset.
class http_lease {
 public:
  http_lease() = default;
  http_lease(const http_lease&) = delete;
  auto operator=(const http_lease&) -> http_lease& = delete;
  virtual ~http_lease() = default;

  /// Sends the call and receives the head of the answer. A long call is sent while the answer is received, because the
  /// server may answer before it has received the whole call. `head_and_body` is the call in the format of HTTP/1.1.
  /// Errors: the error of the failed receive; the error of the failed send, if the send failed first; the error of the
  /// function that produces the body.
  virtual auto converse(const http_url& url, std::string_view head_and_body, const http_client::call& call)
      -> task<result<void>> = 0;
  virtual auto read_some() -> task<result<std::string_view>> = 0;
  [[nodiscard]] virtual auto head() const noexcept -> const http_response_head& = 0;
  [[nodiscard]] virtual auto trailers() const noexcept -> http_fields = 0;

  /// Returns whether a call that has failed can be sent again, because the server has not processed it, or because the
  /// connection was reused and ended before any byte of the answer arrived.
  [[nodiscard]] virtual auto may_repeat(const http_client::call& call) const noexcept -> bool = 0;
  /// Moves the permit for an HTTP/1.1 connection out of this call, for the next attempt.
  [[nodiscard]] virtual auto take_permit() noexcept -> std::optional<async_semaphore::permit> = 0;
};

}  // namespace braid::detail
