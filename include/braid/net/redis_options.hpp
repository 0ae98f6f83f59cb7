// braid/net/redis_options.hpp: how a client of Redis connects, and what may go wrong.
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

/// Refusals of a server, by the first word of its error, and refusals of the client. A connection also reports the
/// system's errors, `resp_errc` if the bytes are not valid RESP, errc::deadline_exceeded, errc::closed and errc::full.
enum class redis_errc : std::uint8_t {
  refused = 1,        ///< ERR and every word without a code of its own
  wrong_type,         ///< WRONGTYPE: the key holds another kind of value
  loading,            ///< LOADING: the server reads its data and answers soon
  moved,              ///< MOVED: the slot of the key lives at another node
  ask,                ///< ASK: the slot is being moved to another node
  try_again,          ///< TRYAGAIN: the keys of a command are not at one node for the moment
  cross_slot,         ///< CROSSSLOT: the keys of a command have different slots
  cluster_down,       ///< CLUSTERDOWN
  no_authentication,  ///< NOAUTH: a password is wanted
  wrong_password,     ///< WRONGPASS, and what older servers say instead
  no_permission,      ///< NOPERM: the user may not run the command
  out_of_memory,      ///< OOM: the server's memory is at its limit
  read_only,          ///< READONLY: a write at a replica
  master_down,        ///< MASTERDOWN: a replica that has lost its master
  busy,               ///< BUSY: a script takes too long
  no_script,          ///< NOSCRIPT
  cannot_save,        ///< MISCONF: the server refuses writes because it cannot save them
  aborted,            ///< EXECABORT: a transaction was given up
  too_many_clients,   ///< the server accepts no more connections
  protected_mode,     ///< DENIED: the server accepts connections only from its own machine
  connection_lost,    ///< the connection ended before the reply: whether the command was run is not known
  unexpected_reply,   ///< a reply of a type that the command cannot have, or one to no command
  not_shared,       ///< a command that would change the connection for all its users, such as SUBSCRIBE or a lone MULTI
  no_address,       ///< the endpoint is not an address
  too_many_hops,    ///< a cluster has sent the command from node to node too often
  no_cluster,       ///< the server is not a node of a cluster
  no_transactions,  ///< a MULTI for a cluster, whose nodes would each run a part
  out_of_order,     ///< a cluster has run a command of a batch and not the one before it: the batch is half done
};

namespace detail {

/// Returns the category of `redis_errc`; its messages are sentences. Threads: any.
BRAID_API auto redis_category() noexcept -> const std::error_category&;

}  // namespace detail

/// Converts a `redis_errc` to a std::error_code, implicitly if one is expected.
BRAID_API auto make_error_code(redis_errc code) noexcept -> std::error_code;

namespace detail {

/// Returns the code of an error reply, from its text: "WRONGTYPE Operation against…" is wrong_type. Threads: any.
BRAID_API auto parse_redis_error(std::string_view text) noexcept -> redis_errc;

/// The location of a slot according to the cluster.
struct redis_redirection {
  std::uint16_t slot = 0;
  std::string_view host;  ///< empty: the node that said so
  std::uint16_t port = 0;
};

/// Parses an error of the kind `MOVED 3999 127.0.0.1:6381` or `ASK …`. Returns nothing if it is malformed or of another
/// kind.
/// Threads: any. Lifetime: of the text.
BRAID_API auto parse_redis_redirection(std::string_view text) noexcept -> std::optional<redis_redirection>;

}  // namespace detail

}  // namespace braid

template <>
struct std::is_error_code_enum<braid::redis_errc> : std::true_type {};

namespace braid {

/// The version of Redis' protocol that a connection speaks.
enum class redis_protocol : std::uint8_t {
  resp2,  ///< what every server speaks
  resp3,  ///< by HELLO 3; a server before 6.0 refuses it
};

/// Whether a read that equals another read of the same iteration of the loop is sent a second time.
enum class redis_repeats : std::uint8_t {
  sent,    ///< every command is sent
  shared,  ///< identical reads of an iteration are sent once, and each caller gets a copy; a write in between ends
           ///< that. Batches, and what a cluster is asked, are always sent.
};

/// The delays between attempts to connect: `first`, then twice as long each time, up to `max_delay`; the actual delay
/// is half of that plus a random part of the other half.
struct redis_backoff {
  duration first = std::chrono::milliseconds(10);
  duration max_delay = std::chrono::milliseconds(500);
  std::uint64_t seed = 0;  ///< of the random part; 0: another one for each connection
};

namespace detail {
class redis_shared_connection;
}  // namespace detail

/// A receiver of what servers report about keys that a client has read (CLIENT TRACKING), for a client that keeps what
/// it reads. A report about a key arrives after the reply that it makes stale. Reports may be lost when a connection
/// ends or a slot of a cluster moves; then all keys are reported.
/// Threads: those of the loop of its connections. Lifetime: outlives its connections, which its functions must not use.
class redis_tracker {
 public:
  redis_tracker() = default;
  redis_tracker(const redis_tracker&) = delete;
  auto operator=(const redis_tracker&) -> redis_tracker& = delete;

  /// Reports that a key which was read may have changed.
  virtual void key_changed(std::string_view key) noexcept = 0;
  /// Reports that any key may have changed.
  virtual void all_changed() noexcept = 0;

  /// Whether each established connection reports changes. If it is false, a server has refused tracking, and changes
  /// of the keys that it serves are not reported.
  [[nodiscard]] auto is_complete() const noexcept -> bool { return untracked_ == 0; }

 protected:
  virtual ~redis_tracker() = default;

 private:
  friend class detail::redis_shared_connection;

  std::uint32_t untracked_ = 0;  // established connections whose server has refused
};

/// The address of a server, the greeting of a connection, and its limits.
struct redis_options {
  std::string host = "127.0.0.1";  ///< an IPv4 or IPv6 address, or a name if there is a resolver
  std::uint16_t port = 6379;
  std::string socket_path = {};  ///< the path of a Unix socket, which is used in place of the host if it is not empty
  /// Resolves names.
  /// Lifetime: that of the loop, or until each attempt to connect has ended.
  resolver* names = nullptr;

  /// The context of a client, for a connection by TLS; nothing for a plain connection. Its rules of verification apply.
  std::optional<tls_context> tls = {};
  std::string server_name = {};  ///< the name in the server's certificate; empty: the host

  std::string user = {};      ///< with a password; empty for the server's default user
  std::string password = {};  ///< empty for no password
  std::uint32_t database = 0;
  redis_protocol protocol = redis_protocol::resp2;
  bool reads_from_replica = false;  ///< greets with READONLY, so that a replica of a cluster answers reads
  /// Asks the server to report changes of keys to it, by RESP3 and CLIENT TRACKING. A server that refuses either is
  /// used without, by `protocol`.
  redis_tracker* tracker = nullptr;

  duration connect_timeout = std::chrono::seconds(1);  ///< for the connection and the greeting
  duration request_timeout = std::chrono::seconds(1);  ///< the timeout of a command without a timeout of its own
  duration silence =
      std::chrono::seconds(5);  ///< without a byte while replies are due, after which the connection is given up
  /// The same if the call whose reply is next has ended without it; never more than `silence`.
  duration silence_when_left = std::chrono::milliseconds(750);
  redis_backoff backoff = {};

  static constexpr std::uint32_t max_in_flight = 65'536;

  /// Commands that wait for their replies; further ones wait to be sent. More than `max_in_flight` counts as that.
  std::uint32_t in_flight = 1024;
  /// the maximum number of calls that wait to be sent; further ones are refused with errc::full
  std::uint32_t queue = 65'536;
  redis_repeats repeats = redis_repeats::sent;
  detail::resp_limits limits = {};
};

}  // namespace braid
