// braid/net/http_client.hpp: a client of HTTP with connections that it keeps.
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

/// `http://name:port/target`, or `https://`.
struct http_url {
  http_scheme scheme = http_scheme::http;
  std::string host;          ///< name, and the port unless it is the scheme's: what the field Host says
  std::string name;          ///< without the brackets of an address of version 6
  std::uint16_t port = 80;   ///< without a word 80, or 443 for https
  std::string target = "/";  ///< path and query

  /// Scheme and host, as in `https://name:port`: URLs with the same one may share connections and secrets.
  [[nodiscard]] BRAID_API auto origin() const -> std::string;

  /// Errors: bad_url if the text is not a URL, has another scheme, or contains a user.
  [[nodiscard]] BRAID_API static auto parse(std::string_view text) -> result<http_url>;

  /// Returns the URL that `reference` leads to when it is found at `base`: `next`, `../up`, `?q`, `//host/x`, or a
  /// whole URL. Neither is checked; `parse` says whether the outcome can be asked for. Source: RFC 3986, 5.2.
  [[nodiscard]] BRAID_API static auto resolve(std::string_view base, std::string_view reference) -> std::string;

  /// Returns `text` with each `%XX` replaced by its byte, NUL and slash included. Errors: bad_target for a percent sign
  /// without two digits.
  [[nodiscard]] BRAID_API static auto percent_decoded(std::string_view text) -> result<std::string>;

  /// Returns the first value of `name` in `a=1&b=2`, decoded, with plus signs as spaces. Returns nothing if `name` is
  /// missing or its value cannot be decoded.
  [[nodiscard]] BRAID_API static auto query_value(std::string_view query, std::string_view name)
      -> std::optional<std::string>;
};

class resolver;

namespace detail {
class http_pool;
class http_lease;
}  // namespace detail

/// A client that keeps connections by scheme, host and port. A call uses a free connection. If that connection has
/// broken meanwhile and no byte was received, the call is sent over a new one, once, if its method may be repeated.
/// Nothing else is ever sent twice. Set a deadline around a call: `with_timeout(1s, client.fetch(…))`; an abandoned
/// call closes its connection.
/// Threads: the loop's own. Lifetime: outlives its calls.
class BRAID_API http_client {
 public:
  /// The limits of a client, and how it reaches hosts.
  struct options {
    http_limits limits = {.body_bytes = 64 * 1024 * 1024};
    std::size_t connections_per_host = 16;  ///< further calls wait for one
    duration idle_timeout = 30s;            ///< an unused connection is closed after this time
    duration connect_timeout = 10s;         ///< for name, connection and handshake together
    unsigned redirects = 0;                 ///< the maximum number of redirects that `fetch` follows
    /// Resolves names to addresses, and outlives the client. If it is null, only numbers and `localhost` work; others
    /// fail with http_errc::no_resolver.
    resolver* names = nullptr;
    /// The context of a client, for `https://`. Without it, the first such call creates a context that trusts the
    /// authorities of the system, and the client then has its own threads, which read them and perform handshakes. If
    /// the context names protocols, `http/1.1` must be one of them.
    std::optional<tls_context> tls = {};
  };

  /// A call to a server. Name the object before you await the call: g++ 12 destroys a temporary in the awaited
  /// expression twice.
  struct call {
    http_method method = http_method::get;
    std::string url;
    std::vector<std::pair<std::string, std::string>> fields = {};
    std::string body = {};
    /// Produces the body in pieces: returns the next one each time, and an empty one at the end. It is sent in chunks,
    /// and such a call is never repeated.
    std::function<task<result<std::string>>()> pieces = {};
  };

  /// A whole answer.
  struct answer {
    http_status status = http_status::ok;
    std::vector<std::pair<std::string, std::string>> fields;
    std::string body;
    std::string url;  ///< the last one, after redirects

    /// Returns the first field with that name. Upper and lower case are the same in names.
    [[nodiscard]] BRAID_API auto field(std::string_view name) const noexcept -> std::optional<std::string_view>;
  };

  /// An answer whose body arrives piece by piece. After its end the connection is free for other calls; if it is
  /// abandoned earlier, the connection is closed.
  /// Threads: the client's loop. Lifetime: ends before the client.
  class BRAID_API incoming {
   public:
    incoming(incoming&& other) noexcept;
    auto operator=(incoming&&) noexcept -> incoming&;
    ~incoming();

    /// Lifetime of the views: as this object.
    [[nodiscard]] auto head() const noexcept -> const http_response_head&;
    /// Returns the next piece of the body; empty at its end. Lifetime: until the next call. Errors: truncated,
    /// bad_chunk, body_too_large; the system's.
    [[nodiscard]] auto read_some() -> task<result<std::string_view>>;

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

  /// Sends a call, and returns the answer once its head has arrived. An answer that refuses (status from 300) may
  /// arrive before everything is sent: then the rest is not sent, and pieces are stopped. Otherwise everything is sent
  /// first; what the server sends meanwhile is kept, up to `limits.body_bytes`. Informational answers are skipped,
  /// redirects are not followed.
  /// Errors: bad_target for the URL; bad_field and reserved_field; those of the response's head; truncated;
  /// too_many_responses; the system's, such as connection_refused; the resolver's; those of a TLS handshake, such as
  /// tls_errc::wrong_host; errc::deadline_exceeded for the connection.
  [[nodiscard]] auto open(call call) -> task<result<incoming>>;

  /// Does the same, and returns the whole body. Follows redirects if the options say so, but not from https to http;
  /// Authorization and Cookie are not sent to another host, port or scheme.
  [[nodiscard]] auto fetch(call call) -> task<result<answer>>;

  /// Returns a GET. Errors: as `fetch`.
  [[nodiscard]] auto get(std::string url) -> task<result<answer>>;

  /// Connections that wait for another call.
  [[nodiscard]] auto idle_connections() const noexcept -> std::size_t;

 private:
  std::unique_ptr<detail::http_pool> pool_;
};

}  // namespace braid
