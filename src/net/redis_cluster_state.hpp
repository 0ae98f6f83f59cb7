// src/net/redis_cluster_state.hpp: declares the nodes of a cluster and the map of its slots, and routes commands to the
// nodes.
#pragma once

#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/net/detail/redis_shared_connection.hpp>
#include <braid/net/redis_cluster.hpp>
#include <braid/net/redis_options.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace braid::detail {

/// Returns whether the error is temporary, so that a repeated command may succeed.
auto is_transient(redis_errc code) noexcept -> bool;

/// Returns the most useful reason for a missing reply. If the node was unreachable until the deadline, returns the
/// reason why it could not be reached. A node whose connection was closed because it was silent counts as unreachable.
auto find_reason(std::error_code error, const redis_shared_connection& asked) noexcept -> std::error_code;

/// A node of the cluster. The object exists as long as the map of slots contains the node or a call waits for it.
struct redis_node : std::enable_shared_from_this<redis_node> {
  redis_node(std::string name, std::uint16_t number) : host(std::move(name)), port(number) {}

  std::string host;
  std::uint16_t port;
  std::unique_ptr<redis_shared_connection> connection;          // for all commands; null until it is needed
  std::unique_ptr<redis_shared_connection> replica_connection;  // the connection that was greeted with READONLY
  std::vector<redis_node*> replicas;                            // the replicas, which are also nodes of the map
  std::size_t next_replica = 0;
  time_point avoided_until{};  // not used as a replica until then, because a request got no reply in time
};

enum class redis_access : std::uint8_t { read, write };

/// Replaces `error` by `now`. Keeps `error` if `now` is only a timeout and `error` is more specific, so that the call
/// fails with the more specific error. For writes, `now` always replaces `error`, because a write without a reply may
/// have been executed.
void take_reason(std::error_code& error, std::error_code now, redis_access asked) noexcept;

class redis_cluster_state {
 public:
  redis_cluster_state(loop& loop, redis_cluster::options options);

  /// Sends one encoded command, and follows redirections until there is a reply or `deadline` has passed.
  auto send(std::string_view command, redis_access access, arena& memory, time_point deadline)
      -> task<result<resp_value>>;
  auto run(const redis_batch& batch, arena& memory, time_point deadline) -> task<result<std::span<const resp_value>>>;
  auto refresh(time_point deadline) -> task<result<void>>;
  void close() noexcept;

  [[nodiscard]] auto make_deadline(duration timeout) const noexcept -> time_point;
  [[nodiscard]] auto owner(std::uint16_t slot) const noexcept -> const redis_node* { return owners_[slot]; }
  [[nodiscard]] auto redirections() const noexcept -> std::uint64_t { return redirections_; }
  [[nodiscard]] auto refusal_of(std::error_code error) const noexcept -> std::string_view;

 private:
  using node_ptr = std::shared_ptr<redis_node>;

  /// The node to send a command to. `connection` is null if no owner of the slot is known.
  struct place {
    redis_shared_connection* connection = nullptr;
    node_ptr node;
    bool is_replica = false;
  };
  /// The next target of a command, and the number of its redirections so far.
  struct way {
    std::uint16_t slot = 0;
    redis_access access = redis_access::write;
    node_ptr target = nullptr;  // the target of a redirection; null to use the map
    bool asking = false;
    bool masters_only = false;  // only masters are used, because a replica has failed
    std::uint32_t hops = 0;
    std::uint32_t waits = 0;
  };
  enum class verdict : std::uint8_t { over, again, wait };
  class watch;
  struct part;

  [[nodiscard]] auto remaining(time_point deadline) const noexcept -> duration;
  [[nodiscard]] auto measure_share(time_point limit, std::size_t nodes) const noexcept -> duration;
  [[nodiscard]] auto time_for(const place& asked, time_point deadline, time_point limit) const noexcept -> duration;
  auto choose(const way& route) -> place;
  auto place_for(redis_node& owner, const way& route) -> place;
  void avoid(const place& replica) noexcept;
  void left(const place& asked) noexcept;
  [[nodiscard]] auto find(std::string_view host, std::uint16_t port) const noexcept -> node_ptr;
  auto node_at(std::string_view host, std::uint16_t port) -> node_ptr;
  void keep_only(const std::vector<node_ptr>& in_map);
  [[nodiscard]] auto nodes_to_ask() const -> std::vector<node_ptr>;
  auto find_connection(redis_node& node) -> redis_shared_connection&;
  auto find_replica_connection(redis_node& node) -> redis_shared_connection&;
  auto make_connection(const redis_node& node, bool replica) -> std::unique_ptr<redis_shared_connection>;
  auto judge(way& route, const resp_value& reply, const place& from) -> result<verdict>;
  auto judge(way& route, std::error_code error, const place& from) noexcept -> verdict;
  void learn(std::uint16_t slot, redis_node& owner) noexcept;
  auto learn(const resp_value& slots, const redis_node& from) -> bool;
  [[nodiscard]] auto may_ask_for_map() const noexcept -> bool;
  void no_map(std::error_code error, bool all_have_answered) noexcept;
  auto ask_for_map(time_point deadline) -> task<result<void>>;
  auto refresh_if_stale(time_point deadline) -> task<void>;
  auto pause(way& route, time_point deadline) -> task<void>;
  auto run_part(part& group, time_point deadline) -> task<void>;
  auto run_asking(part& group, node_ptr target, std::vector<std::uint32_t> commands, time_point deadline) -> task<void>;
  void part_failed(part& group, std::error_code error, const place& asked);

  loop* loop_;
  redis_cluster::options options_;
  // The nodes of the map, and the nodes that later redirections have named. At first, the list contains the configured
  // nodes.
  std::vector<node_ptr> nodes_;
  std::array<redis_node*, redis_slots> owners_{};
  time_point refreshed_{};
  std::size_t next_asked_ = 0;
  std::uint64_t redirections_ = 0;
  std::error_code map_error_ = errc::deadline_exceeded;  // the reason why a slot has no owner
  // Says whether every node has reported why it has no map, and no node is expected to have a map soon.
  bool is_refused_ = false;
  bool has_map_ = false;  // true even if the map is stale
  bool is_stale_ = true;
  bool is_refreshing_ = false;
  bool is_closed_ = false;
};

}  // namespace braid::detail
