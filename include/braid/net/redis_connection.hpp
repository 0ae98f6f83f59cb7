// braid/net/redis_connection.hpp: a shared connection to Redis, and a pool of such connections.
#pragma once

#include <braid/base/config.hpp>
#include <braid/net/detail/redis_calls.hpp>
#include <braid/net/detail/redis_shared_connection.hpp>
#include <braid/net/redis_options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

namespace braid {

/// A connection to a Redis server, which many callers may share. It begins to connect when it is constructed. Commands
/// are sent and answered in the order of their calls. The commands of one loop iteration are sent together. While there
/// is no connection, calls wait. If the attempt to connect fails, these calls fail with the error of the attempt. When
/// a connection ends, commands that were sent fail with redis_errc::connection_lost. The other commands wait for the
/// next connection.
/// Threads: the thread of one loop, also for the destructor. Lifetime: must be destroyed before its loop.
class redis_connection : public detail::redis_calls<redis_connection> {
 public:
  enum class state : std::uint8_t { connecting, ready, backing_off, closed };

  /// Begins to connect. Errors: std::bad_alloc. If the endpoint is invalid, later calls return an error.
  redis_connection(loop& loop, redis_options options) : connection_(loop, std::move(options)) {}

  /// Closes the connection. All calls, including later ones, end with errc::closed.
  void close() noexcept { connection_.close(); }

  [[nodiscard]] auto status() const noexcept -> state {
    switch (connection_.status()) {
      case detail::redis_shared_connection::state::ready: return state::ready;
      case detail::redis_shared_connection::state::backing_off: return state::backing_off;
      case detail::redis_shared_connection::state::closed: return state::closed;
      default: return state::connecting;
    }
  }
  [[nodiscard]] auto counts() const noexcept -> const detail::redis_counts& { return connection_.counts(); }
  /// Returns the reason why the last connection has ended or the last attempt to connect has failed. Returns an empty
  /// error code if neither has happened yet.
  [[nodiscard]] auto last_error() const noexcept -> std::error_code { return connection_.last_error(); }
  /// Returns the message with which the server refused the connection, such as "WRONGPASS …" or "ERR max number of
  /// clients reached". `error` is the error with which a call has failed because of the refusal; for any other error,
  /// the result is an empty string. If the message contains the password, the password is removed. Lifetime: the
  /// message is valid until the next attempt to connect has ended.
  [[nodiscard]] auto refusal_of(std::error_code error) const noexcept -> std::string_view {
    return connection_.refusal_of(error);
  }
  /// Returns the invalid reply that the server has sent, if the last error is a `resp_errc`.
  [[nodiscard]] auto last_fault() const noexcept -> const detail::resp_fault& { return connection_.last_fault(); }

  /// Returns the connection that `redis_calls` uses.
  [[nodiscard]] auto shared_connection() noexcept -> detail::redis_shared_connection& { return connection_; }

 private:
  detail::redis_shared_connection connection_;
};

/// Several connections to one server. Each call uses the established connection with the fewest waiting commands, so
/// the order of calls is not kept. A batch is sent over one connection. One connection is enough for a server thread at
/// full load. More connections help with long replies and distant servers.
/// Threads: the thread of one loop, also for the destructor. Lifetime: must be destroyed before its loop.
class redis_pool : public detail::redis_calls<redis_pool> {
 public:
  /// Creates the connections. Requires that the number of connections is at least one. Errors: std::bad_alloc.
  redis_pool(loop& loop, const redis_options& options, std::size_t connections) {
    BRAID_EXPECTS(connections > 0, "a redis_pool needs at least one connection");
    redis_options each = options;
    for (std::size_t i = 0; i < connections; ++i) {
      connections_.push_back(std::make_unique<detail::redis_shared_connection>(loop, each));
      if (each.backoff.seed != 0) ++each.backoff.seed;  // so that they do not all try at the same time
    }
  }

  /// Closes all connections. All calls, including later ones, end with errc::closed.
  void close() noexcept {
    for (const auto& each : connections_) each->close();
  }

  [[nodiscard]] auto size() const noexcept -> std::size_t { return connections_.size(); }
  [[nodiscard]] auto counts(std::size_t connection) const noexcept -> const detail::redis_counts& {
    return connections_[connection]->counts();
  }

  /// If the server has refused a connection with this error, returns its message: see `redis_connection::refusal_of`.
  [[nodiscard]] auto refusal_of(std::error_code error) const noexcept -> std::string_view {
    for (const auto& each : connections_)
      if (const std::string_view text = each->refusal_of(error); !text.empty()) return text;
    return {};
  }

  /// Returns the connection that `redis_calls` uses.
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
