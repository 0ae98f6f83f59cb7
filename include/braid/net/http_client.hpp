// braid/net/http_client.hpp: an HTTP client that reuses its connections.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/loop.hpp>
#include <braid/io/tls.hpp>
#include <braid/net/http_message.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace braid {

/// The schemes of URLs that a client can call.
enum class http_scheme : std::uint8_t {
  http,
  https,  ///< over TLS
};

/// A URL with the scheme `http` or `https`, such as `http://name:port/target`.
struct http_url {
  http_scheme scheme = http_scheme::http;
  std::string host;          ///< the field Host: the name, and the port if it is not the default; in lower case
  std::string name;          ///< the name without the brackets of an IPv6 address; in lower case
  std::uint16_t port = 80;   ///< 80 or 443 if the URL has no port
  std::string target = "/";  ///< path and query

  /// Returns the scheme, host and port, such as `https://name:port`. URLs with the same origin may share connections
  /// and secrets.
  [[nodiscard]] BRAID_API auto origin() const -> std::string;

  /// Parses a URL. Errors: bad_url if the text is not a URL, has another scheme, or contains a user name.
  [[nodiscard]] BRAID_API static auto parse(std::string_view text) -> result<http_url>;

  /// Resolves a reference that was found in the document at `base`: `next`, `../up`, `?q`, `//host/x`, or a whole URL.
  /// The result is not checked; use `parse` to find out whether it can be called. Source: RFC 3986, 5.2.
  [[nodiscard]] BRAID_API static auto resolve(std::string_view base, std::string_view reference) -> std::string;

  /// Returns `text` with each `%XX` replaced by its byte, including NUL and slash. Errors: bad_target for a percent
  /// sign without two digits.
  [[nodiscard]] BRAID_API static auto percent_decoded(std::string_view text) -> result<std::string>;

  /// Returns the first value of `name` in a query such as `a=1&b=2`. The value is decoded, and plus signs become
  /// spaces. Returns nothing if `name` is missing or its value cannot be decoded.
  [[nodiscard]] BRAID_API static auto query_value(std::string_view query, std::string_view name)
      -> std::optional<std::string>;
};

class resolver;

namespace detail {
class http_pool;
class http_lease;
}  // namespace detail

/// A client that keeps connections by scheme, host and port. A call uses a free connection. If that connection breaks
/// before a byte was received, and the method of the call may be repeated, the call is sent once more over a new
/// connection. Other calls are never sent twice, unless an HTTP/2 server reports that it has not processed the call.
/// Calls to an HTTP/2 server share one connection. Set a deadline around a call: `with_timeout(1s, client.fetch(…))`.
/// An abandoned call closes its connection; with HTTP/2, it only closes its stream. Threads: the loop's thread.
/// Lifetime: must outlive its calls.
class BRAID_API http_client {
 public:
  /// Selects when a client uses HTTP/2. If libnghttp2 is not installed, `negotiated` means `never`.
  enum class http2_use : std::uint8_t {
    never,
    negotiated,  ///< over TLS, if the server chooses it by ALPN
    known,       ///< like `negotiated`, and also with every server of an `http://` URL
  };

  /// The options for HTTP/2.
  struct http2_options {
    http2_use use = http2_use::negotiated;
    std::uint32_t streams = 100;             ///< concurrent calls of a connection, at most; a server may allow fewer
    std::size_t stream_window = 256 * 1024;  ///< bytes of a body that are kept until `read_some`
    std::size_t connection_window = 4 * 1024 * 1024;  ///< bytes that are kept for all calls of a connection
    /// If calls wait and no data arrives for this time, the client sends a ping. If the same time passes again without
    /// an answer to the ping, the connection ends, and its calls fail with timed_out.
    duration ping_interval = 15s;
  };

  /// The options of a client: its limits, its resolver and its TLS context.
  struct options {
    http_limits limits = {.body_bytes = 64 * 1024 * 1024};
    std::size_t connections_per_host = 16;  ///< the maximum number; further calls wait for a connection
    duration idle_timeout = 30s;            ///< an unused connection is closed after this time
    duration connect_timeout = 10s;         ///< the time for name resolution, connection and handshake together
    unsigned redirects = 0;                 ///< the maximum number of redirects that `fetch` follows
    /// The resolver, which converts names to addresses. It must outlive the client. If it is null, only numeric
    /// addresses and `localhost` work, and other names fail with http_errc::no_resolver.
    resolver* names = nullptr;
    /// The TLS context for `https://`. If there is no context, the first such call creates a context that trusts the
    /// authorities of the system. The client then has its own threads, which read the authorities and perform
    /// handshakes. If the context lists protocols, `http/1.1` or `h2` must be in the list.
    std::optional<tls_context> tls = {};
    http2_options http2 = {};
  };

  /// A call to a server. Store this object in a variable before you pass it to `fetch` or `open`, because g++ 12
  /// destroys temporaries in an awaited expression twice.
  struct call {
    http_method method = http_method::get;
    std::string url;
    std::vector<std::pair<std::string, std::string>> fields = {};
    std::string body = {};
    /// A function that produces the body in pieces: it returns the next piece each time, and an empty piece at the end.
    /// The body is sent in chunks, and the HTTP call is never repeated.
    std::function<task<result<std::string>>()> pieces = {};
  };

  /// An answer with its whole body.
  struct answer {
    http_status status = http_status::ok;
    std::vector<std::pair<std::string, std::string>> fields;
    std::string body;
    std::string url;  ///< the URL of the answer, after redirects

    /// Returns the value of the first field with that name. Names are compared without regard to case.
    [[nodiscard]] BRAID_API auto field(std::string_view name) const noexcept -> std::optional<std::string_view>;
  };

  /// An answer whose body arrives piece by piece. After the end of the body, other calls can use the connection. If
  /// this object is destroyed earlier, the connection is closed, or the HTTP/2 stream is reset.
  /// Threads: the thread of the client's loop. Lifetime: must be destroyed before the client.
  class BRAID_API incoming {
   public:
    incoming(incoming&& other) noexcept;
    auto operator=(incoming&&) noexcept -> incoming&;
    ~incoming();

    /// Returns the head of the answer. The views are valid as long as this object.
    [[nodiscard]] auto head() const noexcept -> const http_response_head&;
    /// Returns the next piece of the body, or an empty piece at the end of the body. Lifetime: the piece is valid until
    /// the next call. Errors: http_errc::truncated, bad_chunk, body_too_large, bad_frame and reset_stream; system
    /// errors.
    [[nodiscard]] auto read_some() -> task<result<std::string_view>>;
    /// Returns the trailer fields, which follow the body. Call it after `read_some` has returned an empty piece. The
    /// views are valid as long as this object.
    [[nodiscard]] auto trailers() const noexcept -> http_fields;

   private:
    friend class http_client;
    explicit incoming(std::unique_ptr<detail::http_lease> lease) noexcept;

    std::unique_ptr<detail::http_lease> lease_;
  };

  http_client(loop& loop, options options);
  explicit http_client(loop& loop) : http_client(loop, options()) {}
  ~http_client();
  http_client(const http_client&) = delete;
  auto operator=(const http_client&) -> http_client& = delete;

  /// Sends a call, and returns the answer once its head has arrived. If an answer with an error or a redirect (a status
  /// of 300 or above) arrives before the whole body is sent, the rest of the body is not sent, and `pieces` is stopped.
  /// In all other cases the whole body is sent first. Data that the server sends in the meantime is kept, up to
  /// `limits.body_bytes`. Informational answers are skipped, redirects are not followed.
  /// Errors: bad_target for the URL; bad_field and reserved_field; errors of the response's head; http_errc::truncated;
  /// too_many_responses; no_http2, bad_frame, speaks_http1, refused_stream and reset_stream with HTTP/2; system errors,
  /// such as connection_refused; errors of the resolver; errors of a TLS handshake, such as tls_errc::wrong_host;
  /// errc::deadline_exceeded if connecting takes too long.
  [[nodiscard]] auto open(call call) -> task<result<incoming>>;

  /// Sends a call as `open` does, and returns the answer with the whole body. Follows redirects if the options allow
  /// it, but not from https to http. Authorization and Cookie are not sent to another host, port or scheme.
  [[nodiscard]] auto fetch(call call) -> task<result<answer>>;

  /// Sends a GET request. Errors: the errors of `fetch`.
  [[nodiscard]] auto get(std::string url) -> task<result<answer>>;

  /// Returns the number of open connections that no call uses.
  [[nodiscard]] auto idle_connections() const noexcept -> std::size_t;

 private:
  std::unique_ptr<detail::http_pool> pool_;
};

}  // namespace braid
