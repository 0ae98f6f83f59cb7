// braid/net/redis_cluster.hpp: a client of a Redis Cluster.
#pragma once

#include <braid/base/arena.hpp>
#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/loop.hpp>
#include <braid/net/redis_batch.hpp>
#include <braid/net/redis_options.hpp>
#include <braid/net/resp.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace braid {

namespace detail {

/// The number of slots over which the keys of a cluster are distributed.
inline constexpr std::uint16_t redis_slots = 16'384;

/// Returns the part of a key that determines its slot: the text between the first `{` and the next `}`. If there is no
/// such text, or if it is empty, returns the whole key.
/// Lifetime: the result is a view into the key. Threads: any.
BRAID_API auto redis_hashed_part(std::string_view key) noexcept -> std::string_view;

/// Returns the slot of a key. It is computed from the part of the key that `redis_hashed_part` returns. Keys with the
/// same part in braces have the same slot. Source: the Redis cluster specification; CRC16 as in XMODEM. Cost: 1.5 ns
/// per byte. Threads: any.
BRAID_API auto find_redis_slot(std::string_view key) noexcept -> std::uint16_t;

/// Returns the first key of a command that `write_command` has encoded, or an empty string if the command has no key.
/// Command names are compared without regard to case. If the position of the key is not known, the word after the name
/// counts as the key. If this word is not the key, a node redirects the command. Lifetime: the result is a view into
/// the command. Threads: any.
BRAID_API auto find_redis_key(std::string_view command) noexcept -> std::string_view;

class redis_cluster_state;
}  // namespace detail

/// A client of a Redis Cluster. It opens one connection to each node when the node is first needed. If a node
/// disappears from the map of slots, its connections are closed. The client connects to such a node again only if it is
/// one of `options::nodes` and no node of the map answers. If a node redirects a command, the command is sent to the
/// named node, and the map of slots is requested again. The map is also requested if a node cannot be reached. Commands
/// that were not sent are retried until their deadline, and so are reads that were sent. A write that was sent and got
/// no reply fails. If all known nodes have answered that there is no map, calls fail at once. Errors: the errors of a
/// connection (a call that ends at its deadline returns the last such error); redis_errc::too_many_hops, cross_slot and
/// no_cluster. Threads: the thread of one loop, also for the destructor. Lifetime: must be destroyed before its loop
/// and after its calls.
class BRAID_API redis_cluster {
 public:
  /// Selects which nodes of a cluster execute reads.
  enum class reads : std::uint8_t {
    masters,   ///< the masters, so that reads see earlier writes
    replicas,  ///< a replica of the key's master, round robin, if one is reachable; its data may lag behind
  };

  /// The options of a cluster client: the first nodes, and the options of connections.
  struct options {
    /// A node to which the client connects at first. At least one of these nodes must answer.
    struct node {
      std::string host;  ///< an address, or the path of a Unix socket, which begins with `/`
      std::uint16_t port = 0;
    };
    std::vector<node> nodes;
    redis_options connection = {};  ///< the options of each connection, except its address, its database and `repeats`
    redis_cluster::reads reads = redis_cluster::reads::masters;
    std::uint32_t max_hops = 6;  ///< the maximum number of redirections of a command
    /// The minimum time between two requests for the map of slots.
    duration refresh_pause = std::chrono::milliseconds(100);
  };

  static constexpr duration default_timeout = duration::zero();

  redis_cluster(loop& loop, options options);
  redis_cluster(const redis_cluster&) = delete;
  auto operator=(const redis_cluster&) -> redis_cluster& = delete;
  ~redis_cluster();

  // The following functions do the same as the functions of `redis_calls` with these names. Keys and values must live
  // until the task has ended.
  auto get(std::string_view key, arena& memory, duration timeout = default_timeout)
      -> task<result<std::optional<std::string_view>>>;
  auto set(std::string_view key, std::string_view value, duration timeout = default_timeout) -> task<result<void>>;
  auto hget(std::string_view key, std::string_view field, arena& memory, duration timeout = default_timeout)
      -> task<result<std::optional<std::string_view>>>;
  auto hgetall(std::string_view key, arena& memory, duration timeout = default_timeout)
      -> task<result<std::span<const resp_value>>>;
  auto lrange(std::string_view key, std::int64_t first, std::int64_t last, arena& memory,
              duration timeout = default_timeout) -> task<result<std::span<const resp_value>>>;

  /// Sends any command that has a key. The command counts as a write. An error reply is returned as a value.
  auto command(std::span<const std::string_view> words, arena& memory, duration timeout = default_timeout)
      -> task<result<resp_value>>;

  /// Runs commands whose keys may be in any slots. The commands for one node are sent together, and the nodes run their
  /// parts of the batch concurrently. The replies are in the order of the batch, but the parts are executed in an
  /// unspecified order. If a node is lost, all replies are lost. A batch that names its expected replies consists of
  /// reads: it may be sent to replicas, and is retried if a node is lost.
  /// Errors: redis_errc::no_transactions for a batch with a MULTI; redis_errc::out_of_order if only a part of the
  /// writes to one slot was executed.
  auto run(const redis_batch& batch, arena& memory, duration timeout = default_timeout)
      -> task<result<std::span<const resp_value>>>;

  /// Requests the map of slots now. If all nodes fail, returns the most informative of their errors.
  auto refresh() -> task<result<void>>;

  /// Ends all connections; calls fail with errc::closed.
  void close() noexcept;

  /// If a node has refused a connection with this error, returns the message of the node: see
  /// `redis_connection::refusal_of`.
  [[nodiscard]] auto refusal_of(std::error_code error) const noexcept -> std::string_view;

  /// Returns the address of the master of a slot as `host:port`, or an empty string if it is not known.
  [[nodiscard]] auto owner(std::uint16_t slot) const -> std::string;
  /// Returns how many commands the nodes have redirected.
  [[nodiscard]] auto redirections() const noexcept -> std::uint64_t;

 private:
  std::unique_ptr<detail::redis_cluster_state> state_;
};

}  // namespace braid
