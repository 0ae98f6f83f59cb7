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

/// How many slots the keys of a cluster are spread over.
inline constexpr std::uint16_t redis_slots = 16'384;

/// What decides on the slot of a key: what stands between the first `{` and the next `}`, where that is not empty, else
/// all of it. Lifetime: of the key. Threads: any.
BRAID_API auto redis_hashed_part(std::string_view key) noexcept -> std::string_view;

/// The slot of a key, by its hashed part. Keys with the same part in braces lie in the same slot. Source: the Redis
/// cluster specification; CRC16 as in XMODEM. Cost: 1.5 ns a byte. Threads: any.
BRAID_API auto redis_slot_of(std::string_view key) noexcept -> std::uint16_t;

/// Returns the first key of an encoded command, as `write_command` has written it; empty if it has none. Names of
/// commands are the same in any case. If the position of the key is not known, the word behind the name counts as the
/// key, and the redirection of a node says better. Lifetime: of the command. Threads: any.
BRAID_API auto redis_key_of(std::string_view command) noexcept -> std::string_view;

class redis_cluster_state;
}  // namespace detail

/// One connection to each node that is needed, made when it is. A node that is not in the map of slots any more
/// is dropped: its connections are closed, and it is not dialed again, unless it is one of `options::nodes` and no node
/// of the map answers. A command that a node redirects is sent again to where it says; the map of slots is asked for
/// anew then, and when a node cannot be reached. What was not sent is tried again until its deadline, and so is a read
/// that was; a write that was sent and has no reply fails. Where all known nodes have said that there is no map, calls
/// fail at once. Errors: as those of a connection, at the deadline the last one; redis_errc::too_many_hops, cross_slot,
/// no_cluster. Threads: those of one loop, the destructor too. Lifetime: ends before its loop and after its calls.
class BRAID_API redis_cluster {
 public:
  /// Which nodes of a cluster answer reads.
  enum class reads : std::uint8_t {
    masters,   ///< what was written before is seen
    replicas,  ///< a replica of the key's master, round robin, where one is reachable; it may lag behind
  };

  /// Where a cluster is, and how its nodes are asked.
  struct options {
    /// Nodes to begin with, of which one must answer.
    struct node {
      std::string host;  ///< an address, or the path of a Unix socket, which begins with `/`
      std::uint16_t port = 0;
    };
    std::vector<node> nodes;
    redis_options connection = {};  ///< of each connection, but for its place, its database and `repeats`
    redis_cluster::reads reads = redis_cluster::reads::masters;
    std::uint32_t max_hops = 6;                               ///< redirections of a command
    duration refresh_pause = std::chrono::milliseconds(100);  ///< the map of slots is asked for no more often
  };

  static constexpr duration default_timeout = duration::zero();

  redis_cluster(loop& on, options how);
  redis_cluster(const redis_cluster&) = delete;
  auto operator=(const redis_cluster&) -> redis_cluster& = delete;
  ~redis_cluster();

  // As in `redis_calls`. Keys and values stay until the task has ended.
  auto get(std::string_view key, arena& memory, duration timeout = default_timeout)
      -> task<result<std::optional<std::string_view>>>;
  auto set(std::string_view key, std::string_view value, duration timeout = default_timeout) -> task<result<void>>;
  auto hget(std::string_view key, std::string_view field, arena& memory, duration timeout = default_timeout)
      -> task<result<std::optional<std::string_view>>>;
  auto hgetall(std::string_view key, arena& memory, duration timeout = default_timeout)
      -> task<result<std::span<const resp_value>>>;
  auto lrange(std::string_view key, std::int64_t first, std::int64_t last, arena& memory,
              duration timeout = default_timeout) -> task<result<std::span<const resp_value>>>;

  /// Any command with a key, which counts as a write. A reply that is an error is a value.
  auto command(std::span<const std::string_view> words, arena& memory, duration timeout = default_timeout)
      -> task<result<resp_value>>;

  /// Commands with keys of any slots: those of a node are sent together, and all nodes are asked at once. Replies are
  /// in the order of the batch; those of different nodes were made in any order. Where a node is lost, all are. A batch
  /// that says what it expects is one of reads, for replicas too, and is asked again where a node is lost.
  /// Errors: redis_errc::no_transactions for a batch with a MULTI, out_of_order where writes to one slot were half
  /// done.
  auto run(const redis_batch& batch, arena& memory, duration timeout = default_timeout)
      -> task<result<std::span<const resp_value>>>;

  /// Asks for the map of slots now. Errors: the most informative one of those of the nodes.
  auto refresh() -> task<result<void>>;

  /// Ends all connections; calls fail with errc::closed.
  void close() noexcept;

  /// As of a `redis_connection`, of any node.
  [[nodiscard]] auto refusal_of(std::error_code why) const noexcept -> std::string_view;

  /// The address of the master of a slot, `host:port`; empty where it is not known.
  [[nodiscard]] auto owner(std::uint16_t slot) const -> std::string;
  /// Commands that nodes have sent elsewhere.
  [[nodiscard]] auto redirections() const noexcept -> std::uint64_t;

 private:
  std::unique_ptr<detail::redis_cluster_state> state_;
};

}  // namespace braid
