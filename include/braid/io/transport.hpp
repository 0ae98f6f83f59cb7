// braid/io/transport.hpp: what plain and TLS connections have in common, for protocols that are written once over both.
#pragma once

#include <braid/base/error.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/stream_socket.hpp>
#include <braid/io/tls_stream.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

namespace braid {

namespace detail {

template <typename Awaitable>
auto operand_of_await(Awaitable&& from) -> decltype(auto) {
  if constexpr (requires { std::forward<Awaitable>(from).operator co_await(); })
    return std::forward<Awaitable>(from).operator co_await();
  else
    return std::forward<Awaitable>(from);
}

template <typename Awaitable, typename Result>
concept awaited_as = requires(Awaitable from) {
  { operand_of_await(std::move(from)).await_resume() } -> std::same_as<Result>;
};

}  // namespace detail

/// Ends the side of writing: the peer reads to the end of what was written before. Threads: the loop's own. Errors: as
/// `shutdown`.
[[nodiscard]] inline auto end_writing(const stream_socket& of) -> task<result<void>> {
  co_return of.shutdown(socket_side::write);
}
[[nodiscard]] inline auto end_writing(const tls_stream& of) -> task<result<void>> { return of.shutdown(); }

/// The connection that the bytes go through: for addresses and options, and to break it off by `shutdown`.
[[nodiscard]] inline auto socket_of(const stream_socket& of) noexcept -> const stream_socket& { return of; }
[[nodiscard]] inline auto socket_of(const tls_stream& of) noexcept -> const stream_socket& { return of.socket(); }

/// A connection whose bytes are read, written and ended in one way, whatever they go through.
template <typename Stream>
concept transport = std::movable<Stream> &&
                    requires(const Stream& stream, Stream& open, std::span<std::byte> into,
                             std::span<const std::byte> bytes, std::span<const std::span<const std::byte>> parts) {
                      { stream.read_some(into) } -> detail::awaited_as<result<std::size_t>>;
                      { stream.read_exactly(into) } -> detail::awaited_as<result<void>>;
                      { stream.write_all(bytes) } -> detail::awaited_as<result<void>>;
                      { stream.write_all(parts) } -> detail::awaited_as<result<void>>;
                      { end_writing(stream) } -> detail::awaited_as<result<void>>;
                      { socket_of(stream) } -> std::same_as<const stream_socket&>;
                      { stream.on() } -> std::same_as<loop&>;
                      open.close();
                    };

static_assert(transport<stream_socket>);
static_assert(transport<tls_stream>);

}  // namespace braid
