// braid/net/http_server.hpp: answers the requests of many connections on one loop.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/loop.hpp>
#include <braid/io/stream_listener.hpp>
#include <braid/io/tls_context.hpp>
#include <braid/net/http_exchange.hpp>
#include <braid/net/http_head.hpp>
#include <braid/net/http_router.hpp>
#include <braid/task/error_callback.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

namespace braid {

/// A request that no handler answers, as the server answers it by itself.
struct http_refusal {
  http_status status = http_status::internal_server_error;
  std::error_code why = {};  ///< the fault of the request; none for 404, 405, and for a handler that said nothing
  const http_request_head* request = nullptr;  ///< null where its head could not be read
};

/// What stands in the answer to a refusal.
struct http_refusal_text {
  std::string type = "text/plain";
  std::string body = {};
};

/// Back pressure: how much of the loop's time may go to answers that refuse (`http_exchange::pace`). A connection that
/// got one beyond that is not read from before its turn; what it sends waits in the kernel.
struct http_pacing {
  double share = 1;        ///< of the loop's time; 1: all of it, so that no request waits
  duration max_wait = 1s;  ///< no connection waits longer than that
  /// How many requests would not be refused now: so many connections have their turn, whatever the share. Asked each
  /// millisecond while any wait, on the loop. Must not throw.
  std::function<std::size_t()> room = {};
};

/// The limits of a server, and what it calls.
struct http_server_options {
  http_limits limits = {};
  std::size_t connections = 10'000;  ///< more wait to be accepted; idle ones are closed for them
  duration head_timeout = 10s;   ///< from the first byte of a request, or from the connection, to the end of the head
  duration body_timeout = 60s;   ///< from the first read of the body to its end
  duration idle_timeout = 60s;   ///< between two requests
  duration write_timeout = 30s;  ///< for each piece of an answer
  duration linger_timeout = 2s;  ///< to let a client read the last answer
  error_callback on_error = {};  ///< what handlers throw; without it the message goes to stderr
  /// Words the server's own answers, one call for each; without it they are the phrase of the status. On the loop.
  std::function<http_refusal_text(const http_refusal&)> format_refusal = {};
  /// Connections go through TLS, as a server of this context; its protocols, if any, must have `http/1.1`.
  /// A handshake has the context's time or `head_timeout`, whichever is less.
  std::optional<tls_context> tls = {};
  http_pacing pacing = {};
  std::size_t handshakes = 1'000;  ///< under way at a time; for one more the oldest is given up
};

/// What a server has done so far.
struct http_server_counts {
  std::uint64_t accepted = 0;  ///< connections
  std::uint64_t requests = 0;  ///< those that came to a handler, or to 404 or 405
  std::uint64_t refused = 0;   ///< requests with a fault
  std::uint64_t timeouts = 0;
  std::uint64_t failed = 0;             ///< handlers that threw, or said nothing
  std::size_t open = 0;                 ///< connections at the moment
  std::size_t paced = 0;                ///< of them, those that wait to be read from again
  std::size_t handshakes = 0;           ///< connections at the moment that are not open yet
  std::uint64_t failed_handshakes = 0;  ///< of connections that were no TLS, too slow, refused or given up
  std::uint64_t resumed = 0;            ///< connections that went on from an earlier session of TLS
};

/// One server for one loop. For several loops make several, each with a listener of its own that has `reuse_port`.
/// Threads: the loop's own. Lifetime: outlives `serve`, which `stop` ends, or the program ends with a sentence; the
/// router outlives it.
/// Protocol: docs/design/http.md
class BRAID_API http_server {
 public:
  http_server(loop& on, const http_router& routes, http_server_options options = {});
  ~http_server();
  http_server(const http_server&) = delete;
  auto operator=(const http_server&) -> http_server& = delete;

  /// Takes connections until `stop`, and ends when the last one has. Once. Errors: what `accept` says.
  [[nodiscard]] auto serve(stream_listener listener) -> task<result<void>>;

  /// Takes no more connections, closes idle ones, lets requests that have begun be answered, with `Connection: close`,
  /// and waits until `serve` has ended. What is left after `grace` is cut. From another thread by `sync_wait` on the
  /// loop.
  [[nodiscard]] auto stop(duration grace) -> task<void>;

  /// Handshakes that begin from now on are by this context; connections go on with the one that they have. Requires a
  /// server that has `http_server_options::tls`.
  void replace_tls(tls_context by);

  [[nodiscard]] auto counts() const noexcept -> http_server_counts;

 private:
  class state;
  friend class detail::http_connection;

  std::unique_ptr<state> state_;
};

}  // namespace braid
