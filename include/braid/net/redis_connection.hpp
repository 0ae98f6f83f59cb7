// braid/net/redis_connection.hpp: a connection to a Redis server that many tasks share, and that connects again by
// itself.
#pragma once

#include <braid/net/detail/redis_shared_connection.hpp>
#include <braid/net/detail/redis_calls.hpp>
#include <braid/net/redis_options.hpp>

#include <cstdint>
#include <system_error>

namespace braid {

/// Begins to connect when it is made. Commands are sent in the order of their calls, those of an iteration of the loop
/// together, and answered in that order. While there is no connection calls wait: when the attempt fails, they fail
/// with its reason. When a connection ends, what was sent fails with redis_errc::connection_lost, and what was not
/// waits for the next. Threads: those of one loop, the destructor too. Lifetime: ends before its loop.
class redis_connection : public detail::redis_calls<redis_connection> {
 public:
  enum class state : std::uint8_t { connecting, ready, backing_off, closed };

  /// Errors: std::bad_alloc. An endpoint that is wrong is an error of the calls.
  redis_connection(loop& on, redis_options options) : connection_(on, std::move(options)) {}

  /// Ends all calls with errc::closed, and those that come after.
  void close() noexcept { connection_.close(); }

  [[nodiscard]] auto status() const noexcept -> state {
    switch (connection_.status()) {
      case detail::redis_shared_connection::state::ready: return state::ready;
      case detail::redis_shared_connection::state::backing_off: return state::backing_off;
      case detail::redis_shared_connection::state::closed: return state::closed;
      default: return state::connecting;
    }
  }
  [[nodiscard]] auto counts() const noexcept -> const redis_counts& { return connection_.counts(); }
  /// Why the last connection, or the last attempt to get one, has ended; none at first.
  [[nodiscard]] auto last_error() const noexcept -> std::error_code { return connection_.last_error(); }
  /// Where the last error is a `resp_errc`: what the server has sent.
  [[nodiscard]] auto last_fault() const noexcept -> const resp_fault& { return connection_.last_fault(); }

  /// For `redis_calls`.
  [[nodiscard]] auto shared_connection() noexcept -> detail::redis_shared_connection& { return connection_; }

 private:
  detail::redis_shared_connection connection_;
};

}  // namespace braid
