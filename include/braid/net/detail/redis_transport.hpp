// braid/net/detail/redis_transport.hpp: the bytes between a client and a server: plain sockets, and the place for
// others.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/net/redis_options.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace braid::detail {

/// A connection that never blocks. Whoever puts encryption between implements it on top of another one.
/// Threads: one at a time.
class redis_transport {
 public:
  /// What has to happen with the descriptor before a call is worth another try.
  enum class wants : std::uint8_t { nothing, to_read, to_write };

  redis_transport() = default;
  redis_transport(const redis_transport&) = delete;
  auto operator=(const redis_transport&) -> redis_transport& = delete;
  virtual ~redis_transport();

  [[nodiscard]] virtual auto descriptor() const noexcept -> int = 0;

  /// Goes on with connecting, after the descriptor was ready for what the call before wanted. `nothing`: connected.
  [[nodiscard]] virtual auto connect() noexcept -> result<wants> = 0;

  /// Bytes received; 0 at the end; nothing where none are there yet.
  [[nodiscard]] virtual auto receive(std::span<char> into) noexcept -> result<std::optional<std::size_t>> = 0;

  /// Bytes taken, which may be fewer; 0 where none are taken for the moment.
  [[nodiscard]] virtual auto send(std::string_view bytes) noexcept -> result<std::size_t> = 0;
};

/// A socket to where the options say; connecting has not begun. Errors: redis_errc::no_address, and the system's.
auto make_redis_transport(const redis_options& options) -> result<std::unique_ptr<redis_transport>>;

}  // namespace braid::detail
