// braid/net/redis_pool.hpp: a few connections to one Redis server, for one loop.
#pragma once

#include <braid/base/assert.hpp>
#include <braid/net/detail/redis_shared_connection.hpp>
#include <braid/net/detail/redis_calls.hpp>
#include <braid/net/redis_options.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace braid {

/// Each call takes the connection on which the fewest commands wait, of those that are connected; so calls keep no
/// order among each other. A batch is sent by one connection. One connection carries what a server's thread can do;
/// more are for long replies, and for servers far away. Threads: those of one loop, the destructor too. Lifetime: ends
/// before its loop.
class redis_pool : public detail::redis_calls<redis_pool> {
 public:
  /// Requires at least one connection. Errors: std::bad_alloc.
  redis_pool(loop& on, const redis_options& options, std::size_t connections) {
    BRAID_EXPECTS(connections > 0, "a pool has a connection");
    redis_options each = options;
    for (std::size_t i = 0; i < connections; ++i) {
      connections_.push_back(std::make_unique<detail::redis_shared_connection>(on, each));
      if (each.backoff.seed != 0) ++each.backoff.seed;  // so that they do not all try at the same time
    }
  }

  /// Ends all calls with errc::closed, and those that come after.
  void close() noexcept {
    for (const auto& each : connections_) each->close();
  }

  [[nodiscard]] auto size() const noexcept -> std::size_t { return connections_.size(); }
  [[nodiscard]] auto counts(std::size_t connection) const noexcept -> const redis_counts& {
    return connections_[connection]->counts();
  }

  /// For `redis_calls`.
  [[nodiscard]] auto shared_connection() noexcept -> detail::redis_shared_connection& {
    const auto is_better = [](const auto& one, const auto& other) {
      const bool ready = one->status() == detail::redis_shared_connection::state::ready;
      if (ready != (other->status() == detail::redis_shared_connection::state::ready)) return ready;
      return one->load() < other->load();
    };
    return **std::ranges::min_element(connections_, is_better);
  }

 private:
  std::vector<std::unique_ptr<detail::redis_shared_connection>> connections_;
};

}  // namespace braid
