// rankd/store/redis_store.hpp: a store that reads from a Redis server or cluster, with connections for each event loop.
#pragma once

#include <rankd/store/detail/per_loop.hpp>
#include <rankd/store/redis_options.hpp>
#include <rankd/store/store.hpp>

#include <braid/coro/home.hpp>
#include <braid/net/redis_batch.hpp>
#include <braid/net/redis_cluster.hpp>
#include <braid/net/redis_connection.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace rankd {

struct redis_store_options {
  std::string endpoint_id;  ///< for messages
  redis_address server;     ///< see `parse_redis_options`
  /// The number of connections from each loop to a server, at least one. In a cluster, there is one connection to each
  /// node.
  std::size_t connections = 1;
  server_messages words = server_messages::hidden;
};

/// A store in Redis. Each batch is sent at once as a pipeline, and its task waits for all replies. A batch fails as a
/// whole. The first batch of a loop opens connections for that loop. The connections end with the loop. A read that may
/// be sent a second time uses separate connections for the second attempt. These connections are opened by the first
/// such read of a loop. If replicas of a cluster answer reads, the separate connections lead to masters. If a server is
/// down, a batch fails as soon as the connection is refused, or after the timeouts in the options at the latest. If the
/// address is a single server, a command is never sent twice. In a cluster, a command is repeated until the timeout if
/// the command's key has moved, or if there is no reply. The answers are the same as those of the embedded store with
/// the same data.
/// Threads: any number of event loops at once. Batches must be awaited by tasks of `braid::loop`s. Lifetime: the store
/// must outlive these loops.
/// Errors: those of `redis_connection`, with store_errc::wrong_type for WRONGTYPE.
class redis_store final : public store {
 public:
  /// Creates the store without opening a connection. Requires at least one connection in the options.
  explicit redis_store(redis_store_options options);

  auto ask(store_question question, braid::arena& arena) -> braid::task<store_result<store_answer>> override;
  [[nodiscard]] auto explain(const store_error& error) const -> store_failure override;
  auto report_changes(braid::home& home, braid::redis_tracker& to) -> bool override;

 private:
  using connections = std::variant<braid::redis_pool*, braid::redis_cluster*>;  // null: the loop stops
  struct loop_connections {
    connections who;
    braid::redis_tracker* tracker = nullptr;  // null: changes of keys are not reported
  };

  auto find_connections(braid::home& home, read_attempt attempt) -> connections;
  auto connections_for(braid::home& home, read_hedge hedge) -> connections;
  [[nodiscard]] auto time_for(read_hedge hedge) const noexcept -> braid::duration;
  auto failed(std::error_code error, const braid::home& home, read_hedge hedge, braid::arena& arena)
      -> std::unexpected<store_error>;
  void open(braid::home& home, read_attempt attempt, braid::redis_tracker* tracker);
  static auto keep_connections(redis_store& owner, braid::loop& loop, read_attempt attempt,
                               braid::redis_tracker* tracker) -> braid::task<void>;
  template <typename Redis>
  static auto keep(detail::per_loop<loop_connections>& registry, const braid::loop& loop, Redis& redis,
                   braid::redis_tracker* tracker) -> braid::task<void>;
  template <typename Question>
  static auto ask_each(redis_store& self, Question question, braid::arena& arena)
      -> braid::task<store_result<store_answer>>;
  static auto ask_named(redis_store& self, named_read question, braid::arena& arena)
      -> braid::task<store_result<store_answer>>;
  static auto run(redis_store& self, const braid::redis_batch& batch, read_hedge hedge, braid::arena& arena)
      -> braid::task<store_result<std::span<const braid::resp_value>>>;

  redis_store_options options_;
  detail::per_loop<loop_connections> loops_;
  detail::per_loop<loop_connections> seconds_;  // for reads that are sent a second time
};

}  // namespace rankd
