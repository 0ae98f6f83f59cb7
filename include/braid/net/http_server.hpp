// braid/net/http_server.hpp: an HTTP server: the router, the server, and the exchange of a request and its answer.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/loop.hpp>
#include <braid/io/sockets.hpp>
#include <braid/io/tls.hpp>
#include <braid/net/http_message.hpp>
#include <braid/task/executor.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace braid {

struct http_events_options;
class http_events;
struct websocket_options;
class websocket;

namespace detail {
class http_call;
}

/// A request and its answer. It exists while the handler runs, and the views that its functions return are valid for
/// the same time. If a handler ends without an answer, or with an exception, the server answers with 500. If the answer
/// has already begun, the server cuts the connection instead, so that the client does not mistake a part for the whole.
/// Threads: the thread of the server's loop.
class BRAID_API http_exchange {
 public:
  http_exchange(const http_exchange&) = delete;
  auto operator=(const http_exchange&) -> http_exchange& = delete;

  [[nodiscard]] auto request() const noexcept -> const http_request_head&;
  /// Returns the segment of the path that matches `{name}` in the pattern, or an empty string if the pattern does not
  /// contain it. The value is not decoded: see `http_url::percent_decoded`.
  [[nodiscard]] auto value(std::string_view name) const noexcept -> std::string_view;

  /// Returns the name of the route, or its pattern if it has no name.
  [[nodiscard]] auto route() const noexcept -> std::string_view;
  /// Returns the address of the client, or of the proxy in front of this server.
  /// Call this function before the handler waits for anything, because it fails once the client has closed the
  /// connection. Cost: a system call. Errors: not_connected if the client has already closed the connection.
  [[nodiscard]] auto peer() const -> result<socket_address>;

  /// Returns the next piece of the request's body when it arrives, or an empty piece at the end of the body. Lifetime:
  /// the piece is valid until the next call. Errors: http_errc::body_too_large, bad_chunk, truncated and too_slow;
  /// http_errc::used_twice if another task of the handler is reading. If the handler does not answer after an error,
  /// the server answers with the status for the error.
  [[nodiscard]] auto read_some() -> task<result<std::string_view>>;
  /// Returns the whole body, or the part that was not read yet. Errors: the errors of `read_some`.
  [[nodiscard]] auto read_all() -> task<result<std::string>>;
  /// Returns whether the whole body is known to have arrived, without reading the body. If the result is false, an
  /// answer that is sent now ends the connection.
  [[nodiscard]] auto has_whole_body() const noexcept -> bool;
  /// Returns the remaining body at once, without a task, if all of it has arrived and is contiguous. Otherwise returns
  /// nothing; use `read_some` in that case. Lifetime: the body is valid until the next call.
  [[nodiscard]] auto read_now() -> std::optional<std::string_view>;
  /// Returns the fields after the body, once the body has ended.
  [[nodiscard]] auto trailers() const noexcept -> http_fields;

  /// Returns whether `reply` or `begin` has begun the answer. After that, neither of the two may be called again.
  [[nodiscard]] auto answered() const noexcept -> bool;
  /// Returns the status of the answer, or nothing if the answer has not begun.
  [[nodiscard]] auto status() const noexcept -> std::optional<http_status>;

  /// Sets a field of the answer. Call it before the answer begins. Errors: the errors of `check_field`; errc::finished
  /// if the answer has begun.
  [[nodiscard]] auto set_field(std::string_view name, std::string_view value) -> result<void>;
  /// Sends the whole answer. A body without a type is sent as UTF-8 text. If `type` is not a valid field value, or
  /// `status` is not between 200 and 999, the answer is 500. Errors: throws std::system_error with
  /// http_errc::answered_twice if an answer has begun. The first answer is not changed, and the handler counts as
  /// failed unless it catches the exception.
  void reply(http_status status) { reply(status, {}, {}); }
  void reply(http_status status, std::string_view text) { reply(status, "text/plain; charset=utf-8", text); }
  void reply(http_status status, std::string_view type, std::string_view body);
  /// Sets a field that follows the body of the answer. Call it before `reply`, or after `begin` until the handler has
  /// ended. An answer with such fields has no Content-Length; over HTTP/1.1 its body is sent in chunks. If the answer
  /// has no body, the fields are not sent. Errors: the errors of `check_field`; forbidden_trailer for a field name that
  /// must not follow a body; errc::finished if the answer is complete or was begun with a length;
  /// std::errc::not_supported for an HTTP/1.0 client.
  [[nodiscard]] auto set_trailer(std::string_view name, std::string_view value) -> result<void>;
  /// Marks the answer as a refusal because the server is overloaded, so that `http_server::options::pacing` applies to
  /// this connection. After the answer, the connection may have to wait before its next request is read.
  void pace() noexcept;

  /// Begins an answer that is sent in several pieces. If no length is given, the pieces are sent as chunks. For an
  /// HTTP/1.0 client, which does not support chunks, the end of the connection marks the end of the answer. Errors:
  /// the errors of `reply`.
  void begin(http_status status, std::string_view type = {}, std::optional<std::uint64_t> length = std::nullopt);
  /// Sends a piece, and waits until there is room for the next piece.
  /// Errors: system errors if the client is disconnected or too slow; errc::full if the pieces exceed the length;
  /// errc::finished unless `begin` was called; used_twice if another task of the handler is writing.
  [[nodiscard]] auto write(std::string_view piece) -> task<result<void>>;

  /// Answers with a stream of server-sent events (<braid/net/http_events.hpp>), which ends when `produce` has ended.
  /// The stream is stopped if the client disconnects, or if the server stops. Errors: those of `write` and `begin`.
  [[nodiscard]] auto events(http_events_options options, std::function<task<void>(http_events&)> produce)
      -> task<result<void>>;

  /// Turns the connection into a WebSocket (<braid/net/websocket.hpp>), and closes it when `serve` has ended. A request
  /// that is not a WebSocket request is answered with 426 or 400. Errors: std::errc::protocol_error for such a request;
  /// system errors if the answer could not be sent; exceptions of `serve`.
  [[nodiscard]] auto websocket(websocket_options options, std::function<task<void>(braid::websocket&)> serve)
      -> task<result<void>>;

 private:
  friend class detail::http_call;
  friend class http_events;
  friend class braid::websocket;
  explicit http_exchange(detail::http_call& call) noexcept : call_(&call) {}

  detail::http_call* call_;
};

class http_exchange;

/// A table of routes. Patterns are paths. `{name}` matches one segment that is not empty, and `{name...}` at the end
/// matches the rest of the path. A literal segment takes precedence over `{name}`, and `{name}` over `{name...}`.
/// Segments are compared without decoding, so dots and percent signs have no special meaning.
/// Threads: any, once all routes are added.
class BRAID_API http_router {
  struct node;
  struct route;

 public:
  /// A function that answers a request: a coroutine, or a plain function if it never waits.
  using handler = std::variant<std::function<void(http_exchange&)>, std::function<task<void>(http_exchange&)>>;

  /// The options of one route.
  struct route_options {
    std::string name = {};  ///< the name in reports, traces and `http_exchange::route`; empty: the pattern
    /// The time limit of a handler that is a task. After that time, the handler is stopped and reported. If the answer
    /// has not begun, the client gets 503. The limit does not apply to plain functions, which cannot be interrupted.
    duration deadline = duration::max();
    /// The maximum size of a request's body in bytes. This limit overrides `http_limits::body_bytes` of the server, and
    /// may be larger.
    std::optional<std::uint64_t> body_bytes = {};
    /// If true, a handler that is a task is stopped when its client resets the stream or closes the connection. The
    /// option applies only to HTTP/2: an HTTP/1.1 connection is not read while its handler runs.
    bool stops_with_client = false;
  };

  /// A set of methods.
  class method_set {
   public:
    void add(http_method method) noexcept { bits_ |= bit(method); }
    void add(method_set other) noexcept { bits_ |= other.bits_; }
    [[nodiscard]] auto contains(http_method method) const noexcept -> bool { return (bits_ & bit(method)) != 0; }
    [[nodiscard]] auto empty() const noexcept -> bool { return bits_ == 0; }
    /// Returns a list for the field Allow, such as `GET, HEAD`.
    [[nodiscard]] BRAID_API auto to_string() const -> std::string;

   private:
    static constexpr auto bit(http_method method) noexcept -> unsigned { return 1U << static_cast<unsigned>(method); }
    unsigned bits_ = 0;
  };

  static constexpr std::size_t max_names = 8;

  http_router();
  http_router(http_router&&) noexcept;
  auto operator=(http_router&&) noexcept -> http_router&;
  ~http_router();

  /// Adds a handler `fn(http_exchange&)` for requests with that method whose path matches the pattern. The handler
  /// returns a task<void> or nothing; an empty task counts as ended. A GET handler also answers HEAD requests if there
  /// is no HEAD handler. Requires that the pattern is valid, is not yet registered for the method, and contains no name
  /// twice. The handler may run for several requests at the same time.
  template <std::invocable<http_exchange&> Fn>
  auto add(http_method method, std::string_view pattern, route_options options, Fn fn) -> http_router& {
    if constexpr (std::is_void_v<std::invoke_result_t<Fn&, http_exchange&>>)
      insert(method, pattern, std::move(options), std::function<void(http_exchange&)>(std::move(fn)));
    else
      insert(method, pattern, std::move(options), std::function<task<void>(http_exchange&)>(std::move(fn)));
    return *this;
  }
  template <std::invocable<http_exchange&> Fn>
  auto add(http_method method, std::string_view pattern, Fn fn) -> http_router& {
    return add(method, pattern, route_options(), std::move(fn));
  }
  template <std::invocable<http_exchange&> Fn>
  auto get(std::string_view pattern, Fn fn) -> http_router& {
    return add(http_method::get, pattern, std::move(fn));
  }
  template <std::invocable<http_exchange&> Fn>
  auto get(std::string_view pattern, route_options options, Fn fn) -> http_router& {
    return add(http_method::get, pattern, std::move(options), std::move(fn));
  }
  template <std::invocable<http_exchange&> Fn>
  auto post(std::string_view pattern, Fn fn) -> http_router& {
    return add(http_method::post, pattern, std::move(fn));
  }
  template <std::invocable<http_exchange&> Fn>
  auto post(std::string_view pattern, route_options options, Fn fn) -> http_router& {
    return add(http_method::post, pattern, std::move(options), std::move(fn));
  }
  template <std::invocable<http_exchange&> Fn>
  auto put(std::string_view pattern, Fn fn) -> http_router& {
    return add(http_method::put, pattern, std::move(fn));
  }
  template <std::invocable<http_exchange&> Fn>
  auto put(std::string_view pattern, route_options options, Fn fn) -> http_router& {
    return add(http_method::put, pattern, std::move(options), std::move(fn));
  }
  template <std::invocable<http_exchange&> Fn>
  auto patch(std::string_view pattern, Fn fn) -> http_router& {
    return add(http_method::patch, pattern, std::move(fn));
  }
  template <std::invocable<http_exchange&> Fn>
  auto patch(std::string_view pattern, route_options options, Fn fn) -> http_router& {
    return add(http_method::patch, pattern, std::move(options), std::move(fn));
  }
  template <std::invocable<http_exchange&> Fn>
  auto delete_(std::string_view pattern, Fn fn) -> http_router& {
    return add(http_method::delete_, pattern, std::move(fn));
  }
  template <std::invocable<http_exchange&> Fn>
  auto delete_(std::string_view pattern, route_options options, Fn fn) -> http_router& {
    return add(http_method::delete_, pattern, std::move(options), std::move(fn));
  }

  /// The route that matches a path. Lifetime: it is valid as long as the router and the path.
  class match {
   public:
    /// Returns the handler, or null if no pattern matches.
    [[nodiscard]] auto handler() const noexcept -> const http_router::handler*;
    /// Returns the segment of the path that matches `{name}` in the pattern, not decoded.
    [[nodiscard]] auto value(std::string_view name) const noexcept -> std::optional<std::string_view>;
    /// Returns the matching pattern as it was added. It is empty if no pattern matches, or if the pattern has no
    /// handler for the method.
    [[nodiscard]] auto pattern() const noexcept -> std::string_view;
    /// Returns the options of the route, or null if no route matches.
    [[nodiscard]] auto options() const noexcept -> const http_router::route_options*;
    /// Returns the methods for which the path has handlers. The set is empty if no pattern matches.
    [[nodiscard]] auto allowed() const noexcept -> http_router::method_set { return allowed_; }

   private:
    friend class http_router;
    const route* route_ = nullptr;
    http_router::method_set allowed_;
    std::array<std::string_view, max_names> values_;
  };

  /// Finds the route for a request. Cost: some ten nanoseconds for each segment.
  [[nodiscard]] auto find(http_method method, std::string_view path) const noexcept -> match;

 private:
  void insert(http_method method, std::string_view pattern, route_options options, handler answer);
  auto find_place(std::string_view whole, std::vector<std::string>& names) -> node*;
  [[nodiscard]] static auto try_route(const node& node, http_method method, match& match) noexcept -> bool;
  [[nodiscard]] static auto search(const node& node, http_method method, std::string_view rest, std::size_t names,
                                   match& match) noexcept -> bool;

  std::unique_ptr<node> root_;
};

/// A server for one loop. To use several loops, create a server for each loop. Each server needs its own listener with
/// the option `reuse_port`. Threads: the loop's thread. Lifetime: must not be destroyed before `serve` has ended (call
/// `stop`); otherwise the program is terminated with a message. The router must outlive the server.
/// Protocol: docs/design/http.md
class BRAID_API http_server {
 public:
  /// A request that the server itself refuses, and the status of the answer that it intends to send.
  struct refusal {
    http_status status = http_status::internal_server_error;
    /// The reason for the refusal. The code is empty for 404, for 405, and if a handler did not answer.
    std::error_code why = {};
    const http_request_head* request = nullptr;  ///< null if its head could not be read
    /// The value of the request's field Content-Type. For HTTP/2, the value is known even if the head of the request is
    /// invalid or too large. If the value is unknown, this text is empty.
    std::string_view content_type = {};
  };

  /// The answer to a refused request.
  struct refusal_text {
    std::string type = "text/plain";
    std::string body = {};
    std::optional<http_status> status = {};  ///< nothing: the status that the server intends to send
    std::vector<std::pair<std::string, std::string>> fields = {};  ///< further fields; invalid ones are left out
  };

  /// Back pressure: limits the share of the loop's time that is spent on refusals (`http_exchange::pace`). If refusals
  /// exceed the share, the refused connections wait for their turn before they are read again. Meanwhile, the data that
  /// arrives on these connections waits in the kernel.
  struct pacing {
    double share = 1;        ///< the share of the loop's time; 1: all of it, so that no request waits
    duration max_wait = 1s;  ///< no connection waits longer than that
    /// Returns how many more requests the program would accept now. The server reads that many waiting connections,
    /// regardless of the share. Called on the loop each millisecond while connections wait. Must not throw.
    std::function<std::size_t()> room = {};
  };

  /// The options of HTTP/2. A client chooses HTTP/2 by ALPN ("h2"), or by the first bytes of a plain connection. HTTP/2
  /// needs libnghttp2, which is loaded for the first such client. If this library is missing, such clients are refused
  /// (docs/http2.md).
  struct http2_options {
    bool enabled = true;
    std::uint32_t streams = 100;                    ///< the maximum of concurrent requests of a connection
    std::uint32_t stream_window = 64 * 1024;        ///< bytes of a request's body that are kept for its handler
    std::uint32_t connection_window = 1024 * 1024;  ///< bytes for all requests of a connection together
  };

  /// The options of a server: its limits and its callbacks.
  struct options {
    http_limits limits = {};
    std::size_t connections = 10'000;  ///< the maximum number; others wait, and idle connections are closed for them
    duration head_timeout = 10s;       ///< from the first byte of a request, or the connection, to the end of the head
    duration body_timeout = 60s;       ///< the time from the first read of the body to its end
    duration idle_timeout = 60s;       ///< the time between two requests
    duration write_timeout = 30s;      ///< the time for each piece of an answer
    duration linger_timeout = 2s;      ///< the time for a client to read the last answer
    error_callback on_error = {};      ///< receives exceptions of handlers; without it they are printed on stderr
    /// A function that returns the text of the server's own refusals. It is called on the loop, once for each request
    /// that the server itself refuses. Without this function, the text is the phrase of the status.
    std::function<http_server::refusal_text(const http_server::refusal&)> format_refusal = {};
    /// If set, connections use TLS with this server context. If the context lists protocols, `http/1.1` or `h2` must be
    /// in the list. The time limit of a handshake is the context's limit or `head_timeout`, whichever is less.
    std::optional<tls_context> tls = {};
    http_server::pacing pacing = {};
    http_server::http2_options http2 = {};
    std::size_t handshakes = 1'000;  ///< the maximum number at a time; beyond it, the oldest is abandoned
    /// If true, handlers that are tasks run with `trace_context::current` bound to a span of the request's trace. So
    /// calls of an `http_client` in such handlers continue the trace (<braid/net/trace_context.hpp>).
    bool traces = false;
    /// If true, each request is an activity in a trace of the process. The activity lasts from the request's head to
    /// the end of its handler. Its name is the method and the pattern: `GET /users/{id}`. Switch it off if the program
    /// has its own activities.
    bool activities = true;
  };

  /// The counters of a server.
  struct totals {
    std::uint64_t accepted = 0;  ///< accepted connections
    std::uint64_t requests = 0;  ///< requests that reached a handler, or 404 or 405
    std::uint64_t refused = 0;   ///< invalid requests
    std::uint64_t timeouts = 0;
    std::uint64_t failed = 0;              ///< handlers that threw, or did not answer
    std::size_t open = 0;                  ///< connections at the moment
    std::size_t http2 = 0;                 ///< open connections that use HTTP/2
    std::size_t paced = 0;                 ///< open connections that wait to be read again
    std::size_t handshakes = 0;            ///< connections at the moment that are not open yet
    std::uint64_t failed_handshakes = 0;   ///< handshakes that were too slow, refused or abandoned, or were no TLS
    std::uint64_t resumed = 0;             ///< connections that resumed an earlier TLS session
    std::size_t event_streams = 0;         ///< streams of events at the moment
    std::uint64_t events = 0;              ///< events that were sent
    std::size_t websockets = 0;            ///< WebSockets at the moment
    std::uint64_t websocket_messages = 0;  ///< messages that WebSockets received
  };

  http_server(loop& loop, const http_router& routes, options options);
  http_server(loop& loop, const http_router& routes) : http_server(loop, routes, options()) {}
  ~http_server();
  http_server(const http_server&) = delete;
  auto operator=(const http_server&) -> http_server& = delete;

  /// Accepts connections until `stop` is called, and ends when the last connection has ended. Call it once. Errors:
  /// the errors of `accept`.
  [[nodiscard]] auto serve(stream_listener listener) -> task<result<void>>;

  /// Stops the server: it accepts no more connections and closes idle connections. Waits until `serve` has ended.
  /// Requests that have begun are still answered, with `Connection: close`. Connections that are left after `grace` are
  /// cut. A handler of this server may also call this function. The call does not wait then, because `serve` ends only
  /// after the handler. From another thread, use `sync_wait` on the loop.
  [[nodiscard]] auto stop(duration grace) -> task<void>;

  /// Returns whether libnghttp2 can be loaded. If the library cannot be loaded, no server supports HTTP/2, and a TLS
  /// context must not offer `h2`.
  /// Threads: any. Blocks: the first call blocks while it loads the library.
  [[nodiscard]] static auto has_http2() -> bool;

  /// Uses this context for handshakes that begin from now on. Existing connections keep the previous context. Requires
  /// a server with `http_server::options::tls`.
  void replace_tls(tls_context context);

  [[nodiscard]] auto counts() const noexcept -> totals;

 private:
  class state;

  std::unique_ptr<state> state_;
};

}  // namespace braid
