// braid/net/redis_cluster.hpp: a client of a cluster of Redis servers.
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

/// Returns the part of a key that determines its slot: the text between the first `{` and the next `}`, if it is not
/// empty, otherwise the whole key.
/// Lifetime: of the key. Threads: any.
BRAID_API auto redis_hashed_part(std::string_view key) noexcept -> std::string_view;

/// Returns the slot of a key, by its hashed part. Keys with the same part in braces lie in the same slot. Source: the
/// Redis cluster specification; CRC16 as in XMODEM. Cost: 1.5 ns a byte. Threads: any.
BRAID_API auto find_redis_slot(std::string_view key) noexcept -> std::uint16_t;

/// Returns the first key of an encoded command, as `write_command` has written it; empty if it has none. Names of
/// commands are the same in any case. If the position of the key is not known, the word after the name counts as the
/// key; if it is the wrong one, a node redirects the command.
/// Lifetime: of the command. Threads: any.
BRAID_API auto find_redis_key(std::string_view command) noexcept -> std::string_view;

class redis_cluster_state;
}  // namespace detail

/// A client of a Redis Cluster. It has one connection to each node that is needed, and opens it then. A node that
/// disappears from the map of slots is dropped: its connections are closed, and it is not dialed again, unless it is
/// one of `options::nodes` and no node of the map answers. If a node redirects a command, the command is sent to the
/// named node, and the map of slots is requested again; the map is also requested if a node cannot be reached. Commands
/// that were not sent are retried until their deadline, and so are reads that were sent; a write that was sent and has
/// no reply fails. If all known nodes have answered that there is no map, calls fail at once.
/// Errors: as those of a connection, at the deadline the last one; redis_errc::too_many_hops, cross_slot, no_cluster.
/// Threads: those of one loop, the destructor too. Lifetime: ends before its loop and after its calls.
class BRAID_API redis_cluster {
 public:
  /// The nodes of a cluster that answer reads.
  enum class reads : std::uint8_t {
    masters,   ///< earlier writes are seen
    replicas,  ///< a replica of the key's master, round robin, if one is reachable; its data may lag behind
  };

  /// The nodes of a cluster, and how they are used.
  struct options {
    /// Nodes to begin with, of which one must answer.
    struct node {
      std::string host;  ///< an address, or the path of a Unix socket, which begins with `/`
      std::uint16_t port = 0;
    };
    std::vector<node> nodes;
    redis_options connection = {};  ///< of each connection, but for its place, its database and `repeats`
    redis_cluster::reads reads = redis_cluster::reads::masters;
    std::uint32_t max_hops = 6;  ///< redirections of a command
    /// the minimum time between two requests for the map of slots
    duration refresh_pause = std::chrono::milliseconds(100);
  };

  static constexpr duration default_timeout = duration::zero();

  redis_cluster(loop& loop, options options);
  redis_cluster(const redis_cluster&) = delete;
  auto operator=(const redis_cluster&) -> redis_cluster& = delete;
  ~redis_cluster();

  // The same calls as in `redis_calls`. Keys and values must live until the task has ended.
  auto get(std::string_view key, arena& memory, duration timeout = default_timeout)
      -> task<result<std::optional<std::string_view>>>;
  auto set(std::string_view key, std::string_view value, duration timeout = default_timeout) -> task<result<void>>;
  auto hget(std::string_view key, std::string_view field, arena& memory, duration timeout = default_timeout)
      -> task<result<std::optional<std::string_view>>>;
  auto hgetall(std::string_view key, arena& memory, duration timeout = default_timeout)
      -> task<result<std::span<const resp_value>>>;
  auto lrange(std::string_view key, std::int64_t first, std::int64_t last, arena& memory,
              duration timeout = default_timeout) -> task<result<std::span<const resp_value>>>;

  /// Sends any command with a key. It counts as a write. A reply that is an error is returned as a value.
  auto command(std::span<const std::string_view> words, arena& memory, duration timeout = default_timeout)
      -> task<result<resp_value>>;

  /// Runs commands with keys of any slots: the commands for one node are sent together, and all nodes are asked at
  /// once. Replies are in the order of the batch; different nodes execute their parts in any order. If a node is lost,
  /// all replies are. A batch that names its expected replies consists of reads: it may be sent to replicas, and is
  /// retried if a node is lost.
  /// Errors: redis_errc::no_transactions for a batch with a MULTI, out_of_order if writes to one slot were executed in
  /// part.
  auto run(const redis_batch& batch, arena& memory, duration timeout = default_timeout)
      -> task<result<std::span<const resp_value>>>;

  /// Requests the map of slots now.
  /// Errors: the most informative error of the nodes.
  auto refresh() -> task<result<void>>;

  /// Ends all connections; calls fail with errc::closed.
  void close() noexcept;

  /// Returns the refusal of any node, as for a `redis_connection`.
  [[nodiscard]] auto refusal_of(std::error_code error) const noexcept -> std::string_view;

  /// Returns the address of the master of a slot, `host:port`; empty if it is not known.
  [[nodiscard]] auto owner(std::uint16_t slot) const -> std::string;
  /// Commands that nodes have sent elsewhere.
  [[nodiscard]] auto redirections() const noexcept -> std::uint64_t;

 private:
  std::unique_ptr<detail::redis_cluster_state> state_;
};

}  // namespace braid
