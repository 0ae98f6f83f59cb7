// tests/support/tested_transport.hpp: what tests of HTTP talk through: plain connections, or TLS where
// BRAID_TEST_TRANSPORT says so.
#pragma once

#include <braid/coro/task.hpp>
#include <braid/io/sockets.hpp>
#include <braid/io/tls.hpp>
#include <braid/net/http_client.hpp>
#include <braid/net/http_server.hpp>

#include <tests/support/tls_scene.hpp>

#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace braid::testing {

inline auto tests_tls() -> bool {
  static const char* const named = std::getenv("BRAID_TEST_TRANSPORT");
  return named != nullptr && named == std::string_view("tls");
}

/// One for the program: what is resumed must be of one context.
inline auto tested_server_context() -> const tls_context& {
  static const tls_context made = [] {
    tls_context::server_options how = known_server();
    how.protocols = {"http/1.1"};
    return server_context(how);
  }();
  return made;
}
inline auto tested_client_context() -> tls_context {
  tls_context::client_options how = trusting_client();
  how.protocols = {"http/1.1"};
  return client_context(how);
}

inline auto tested(http_server::options how) -> http_server::options {
  if (tests_tls() && !how.tls) how.tls = tested_server_context();
  return how;
}
inline auto tested(http_client::options how) -> http_client::options {
  if (tests_tls() && !how.tls) how.tls = tested_client_context();
  return how;
}

inline auto tested_url(const socket_address& at, std::string_view path = {}) -> std::string {
  return ((tests_tls() ? "https://" : "http://") + at.to_string()) += path;
}

/// A connection of either kind.
class tested_stream {
 public:
  tested_stream() = default;
  explicit tested_stream(stream_socket plain) : stream_(std::move(plain)) {}
  explicit tested_stream(tls_stream secure) : stream_(std::move(secure)) {}

  static auto as_client(stream_socket socket) -> task<result<tested_stream>> {
    if (!tests_tls()) co_return tested_stream(std::move(socket));
    auto shaking = tls_stream::connect(tested_client_context(), std::move(socket), "localhost");
    co_return shaken(co_await std::move(shaking));
  }
  static auto as_server(stream_socket socket) -> task<result<tested_stream>> {
    if (!tests_tls()) co_return tested_stream(std::move(socket));
    auto shaking = tls_stream::accept(tested_server_context(), std::move(socket));
    co_return shaken(co_await std::move(shaking));
  }

  auto read_some(std::span<std::byte> into) const -> task<result<std::size_t>> {
    if (const auto* const plain = std::get_if<stream_socket>(&stream_)) co_return co_await plain->read_some(into);
    co_return co_await std::get<tls_stream>(stream_).read_some(into);
  }
  auto write_all(std::span<const std::byte> bytes) const -> task<result<void>> {
    if (const auto* const plain = std::get_if<stream_socket>(&stream_)) co_return co_await plain->write_all(bytes);
    co_return co_await std::get<tls_stream>(stream_).write_all(bytes);
  }
  auto finish() const -> task<result<void>> {
    if (const auto* const plain = std::get_if<stream_socket>(&stream_)) co_return co_await end_writing(*plain);
    co_return co_await end_writing(std::get<tls_stream>(stream_));
  }
  [[nodiscard]] auto socket() const -> const stream_socket& {
    if (const auto* const plain = std::get_if<stream_socket>(&stream_)) return *plain;
    return std::get<tls_stream>(stream_).socket();
  }

 private:
  static auto shaken(result<tls_stream> stream) -> result<tested_stream> {
    if (!stream) return fail(stream.error());
    return tested_stream(std::move(*stream));
  }

  std::variant<stream_socket, tls_stream> stream_;
};

}  // namespace braid::testing
