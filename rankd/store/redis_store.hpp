// rankd/store/redis_store.hpp: a Redis server as a store, by a few connections for each event loop that asks.
#pragma once

#include <rankd/store/store.hpp>

#include <braid/coro/home.hpp>
#include <braid/net/redis_options.hpp>
#include <braid/net/redis_pool.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace rankd {

struct redis_store_options {
  std::string endpoint_id;      ///< for messages
  braid::redis_options server;  ///< `redis_options_of`
  std::size_t connections = 1;  ///< of each loop; at least one
};

/// Each batch is one pipeline, sent at once, for which its task waits. The first batch of a loop makes that loop's
/// connections, which end with it. A batch fails as a whole; a server that is away costs the time that its connection
/// is refused in, and at most the timeouts of the options. Nothing is asked twice. What it answers is what the embedded
/// store answers on the same data.
/// Threads: any event loops at once; batches are awaited by tasks of `braid::loop`s. Lifetime: outlives these loops.
/// Errors: those of `redis_connection`, with WRONGTYPE as store_errc::wrong_type.
class redis_store final : public store {
 public:
  /// Connects to nobody yet. Requires a connection.
  explicit redis_store(redis_store_options options);

  auto hget(key_batch keys, std::string_view field, braid::arena& arena)
      -> braid::task<braid::result<field_batch>> override;
  auto hgetall(key_batch keys, braid::arena& arena) -> braid::task<braid::result<hash_batch>> override;
  auto lrange_ids(key_batch keys, std::uint32_t first, braid::arena& arena)
      -> braid::task<braid::result<id_batch>> override;

  [[nodiscard]] auto explain(std::error_code why) const -> store_failure override;

 private:
  class seat;

  auto pool_of(braid::home& where) -> braid::redis_pool*;
  auto find(const braid::home& where) -> braid::redis_pool*;
  static auto keep_connections(redis_store& owner, braid::loop& on) -> braid::task<void>;
  static auto run(redis_store& self, const braid::redis_batch& batch, braid::arena& arena)
      -> braid::task<braid::result<std::span<const braid::resp_value>>>;

  redis_store_options options_;
  std::mutex mutex_;
  std::vector<std::pair<const braid::home*, braid::redis_pool*>> pools_;  // under the mutex; a loop's own is used by it
};

}  // namespace rankd
