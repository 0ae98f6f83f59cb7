// braid/net/redis_options.hpp: the options of a Redis client, and its error codes.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/io/sockets.hpp>
#include <braid/io/tls.hpp>
#include <braid/net/detail/resp_parser.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace braid {

/// The error codes of a Redis client. Errors of the server are determined by the first word of its error reply; the
/// others are errors of the client. A connection also reports system errors, `resp_errc` if the bytes are not valid
/// RESP, errc::deadline_exceeded, errc::closed and errc::full.
enum class redis_errc : std::uint8_t {
  refused = 1,        ///< ERR and every word without a code of its own
  wrong_type,         ///< WRONGTYPE: the key holds another kind of value
  loading,            ///< LOADING: the server reads its data and answers soon
  moved,              ///< MOVED: the slot of the key belongs to another node
  ask,                ///< ASK: the slot is being moved to another node
  try_again,          ///< TRYAGAIN: the keys of a command are temporarily on different nodes
  cross_slot,         ///< CROSSSLOT: the keys of a command have different slots
  cluster_down,       ///< CLUSTERDOWN
  no_authentication,  ///< NOAUTH: the server requires a password
  wrong_password,     ///< WRONGPASS, and the corresponding errors of older servers
  no_permission,      ///< NOPERM: the user may not run the command
  out_of_memory,      ///< OOM: the server's memory is at its limit
  read_only,          ///< READONLY: a write at a replica
  master_down,        ///< MASTERDOWN: a replica that has lost its master
  busy,               ///< BUSY: a script takes too long
  no_script,          ///< NOSCRIPT
  cannot_save,        ///< MISCONF: the server refuses writes because it cannot save them
  aborted,            ///< EXECABORT: the transaction was aborted
  too_many_clients,   ///< the server accepts no more connections
  protected_mode,     ///< DENIED: the server accepts connections only from its own machine
  connection_lost,    ///< the connection ended before the reply: whether the command was run is not known
  unexpected_reply,   ///< a reply of a type that the command cannot have, or a reply without a command
  not_shared,       ///< a command that would change the connection for all its users, such as SUBSCRIBE or a lone MULTI
  no_address,       ///< the endpoint is not an address
  too_many_hops,    ///< a cluster has sent the command from node to node too often
  no_cluster,       ///< the server is not a node of a cluster
  no_transactions,  ///< a MULTI was sent to a cluster, whose nodes would each execute a part
  out_of_order,     ///< a cluster has executed a command of a batch but not an earlier one
};

namespace detail {

/// Returns the category of `redis_errc`; its messages are sentences. Threads: any.
BRAID_API auto redis_category() noexcept -> const std::error_category&;

}  // namespace detail

/// Converts a `redis_errc` to a std::error_code, implicitly if one is expected.
BRAID_API auto make_error_code(redis_errc code) noexcept -> std::error_code;

namespace detail {

/// Returns the error code for the text of an error reply: "WRONGTYPE Operation against…" is wrong_type. Threads: any.
BRAID_API auto parse_redis_error(std::string_view text) noexcept -> redis_errc;

/// The location of a slot, as reported by a node.
struct redis_redirection {
  std::uint16_t slot = 0;
  std::string_view host;  ///< empty: the node that sent the error
  std::uint16_t port = 0;
};

/// Parses an error such as `MOVED 3999 127.0.0.1:6381` or `ASK …`. Returns nothing if the text is malformed or is
/// another error. Threads: any. Lifetime: the result contains views into the text.
BRAID_API auto parse_redis_redirection(std::string_view text) noexcept -> std::optional<redis_redirection>;

}  // namespace detail

}  // namespace braid

template <>
struct std::is_error_code_enum<braid::redis_errc> : std::true_type {};

namespace braid {

/// The version of the Redis protocol that a connection uses.
enum class redis_protocol : std::uint8_t {
  resp2,  ///< every server supports it
  resp3,  ///< chosen by HELLO 3; a server before 6.0 refuses it
};

/// Selects what happens to a read that equals another read of the same loop iteration.
enum class redis_repeats : std::uint8_t {
  sent,    ///< every command is sent
  shared,  ///< identical reads of an iteration are sent once, unless a write is between them; each caller gets a copy.
           ///< Batches and commands to a cluster are always sent.
};

/// The delays between attempts to connect. The nominal delay is `first`, and doubles each time up to `max_delay`. The
/// actual delay is half of the nominal delay plus a random part of the other half.
struct redis_backoff {
  duration first = std::chrono::milliseconds(10);
  duration max_delay = std::chrono::milliseconds(500);
  std::uint64_t seed = 0;  ///< the seed of the random part; 0: another seed for each connection
};

namespace detail {
class redis_shared_connection;
}  // namespace detail

/// An interface for clients that cache what they read. It receives the reports of servers about changes of keys that
/// the client has read (CLIENT TRACKING). If a reply with a value of a key has become stale, the report about this key
/// always arrives after the reply. Reports may be lost when a connection ends or a slot of a cluster moves; in these
/// cases all keys are reported. Threads: the thread of the loop of its connections. Lifetime: must outlive its
/// connections. Its functions must not use the connections.
class redis_tracker {
 public:
  redis_tracker() = default;
  redis_tracker(const redis_tracker&) = delete;
  auto operator=(const redis_tracker&) -> redis_tracker& = delete;

  /// Called when the value of a key that was read may have changed.
  virtual void key_changed(std::string_view key) noexcept = 0;
  /// Called when the values of all keys may have changed.
  virtual void all_changed() noexcept = 0;

  /// Returns whether each established connection reports changes. If the result is false, a server has refused
  /// tracking, and changes of its keys are not reported.
  [[nodiscard]] auto is_complete() const noexcept -> bool { return untracked_ == 0; }

 protected:
  virtual ~redis_tracker() = default;

 private:
  friend class detail::redis_shared_connection;

  std::uint32_t untracked_ = 0;  // the number of established connections without reports of changes
};

/// The options of a connection: the address of the server, how to greet it, and limits.
struct redis_options {
  std::string host = "127.0.0.1";  ///< an IPv4 or IPv6 address, or a name if there is a resolver
  std::uint16_t port = 6379;
  std::string socket_path = {};  ///< the path of a Unix socket, which is used in place of the host if it is not empty
  /// The resolver, which converts host names to addresses. Lifetime: must exist until the loop has ended, or at least
  /// until each attempt to connect has ended.
  resolver* names = nullptr;

  /// The client context for a TLS connection. The server is verified as this context requires. Without a context, the
  /// connection does not use TLS.
  std::optional<tls_context> tls = {};
  std::string server_name = {};  ///< the name in the server's certificate; empty: the host

  std::string user = {};      ///< the user for a password; empty: the server's default user
  std::string password = {};  ///< empty for no password
  std::uint32_t database = 0;
  redis_protocol protocol = redis_protocol::resp2;
  bool reads_from_replica = false;  ///< greets with READONLY, so that a replica of a cluster answers reads
  /// If set, receives the server's reports of changed keys, by RESP3 and CLIENT TRACKING. If a server refuses RESP3 or
  /// tracking, the connection works without reports and uses `protocol`.
  redis_tracker* tracker = nullptr;

  duration connect_timeout = std::chrono::seconds(1);  ///< the time for the connection and the greeting
  duration request_timeout = std::chrono::seconds(1);  ///< the timeout of a command without a timeout of its own
  duration silence = std::chrono::seconds(5);  ///< the silence after which a connection with due replies is abandoned
  /// The limit that replaces `silence` after the caller of the next due reply has stopped waiting. A value above
  /// `silence` is reduced to `silence`.
  duration silence_when_left = std::chrono::milliseconds(750);
  redis_backoff backoff = {};

  static constexpr std::uint32_t max_in_flight = 65'536;

  /// The maximum number of commands that wait for their replies. Further commands wait to be sent. A larger value is
  /// reduced to `max_in_flight`.
  std::uint32_t in_flight = 1024;
  /// The maximum number of calls that wait to be sent. Further calls fail with errc::full.
  std::uint32_t queue = 65'536;
  redis_repeats repeats = redis_repeats::sent;
  detail::resp_limits limits = {};
};

}  // namespace braid
