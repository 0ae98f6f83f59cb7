// tests/io/transport_test.cpp: code that is written once, over plain and over TLS connections.
#include <braid/io/tls.hpp>

#include <braid/io/byte_stream.hpp>
#include <braid/io/sockets.hpp>
#include <braid/task/executors.hpp>

#include <tests/support/scratch_folder.hpp>
#include <tests/support/tls_scene.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <tuple>
#include <utility>

using namespace braid;
using testing::test_loop;

namespace {

// [echo]
template <transport Stream>
auto echo(Stream of) -> task<void> {
  std::array<std::byte, 100> room{};
  for (;;) {
    const result<std::size_t> got = co_await of.read_some(room);
    if (!got || *got == 0) break;
    const auto answer = std::span<const std::byte>(room).first(*got);
    const std::array parts{bytes_of("<"), answer, bytes_of(">")};
    const result<void> wrote = co_await of.write_all(parts);
    CHECK(wrote.has_value());
  }
  std::ignore = co_await end_writing(of);  // the peer may have gone
}
// [/echo]

// clang-format off: a page shows these lines
// [serve]
auto serve_one(tls_context as, stream_listener& listener) -> task<void> {
  result<stream_socket> socket = co_await listener.accept();
  if (!socket) co_return;
  result<tls_stream> stream =
      co_await tls_stream::accept(std::move(as), std::move(*socket));
  if (stream) co_await echo(std::move(*stream));
}
// [/serve]
// clang-format on

// clang-format off: a page shows these lines
// [ask]
auto ask_server(loop& io, tls_context as, socket_address at)
    -> task<result<std::string>> {
  result<stream_socket> socket =
      co_await stream_socket::connect(io, std::move(at));
  if (!socket) co_return fail(socket.error());
  result<tls_stream> stream = co_await tls_stream::connect(
      std::move(as), std::move(*socket), "localhost");
  if (!stream) co_return fail(stream.error());
  const result<void> wrote = co_await stream->write_all(bytes_of("hello"));
  if (!wrote) co_return fail(wrote.error());
  std::array<std::byte, 7> room{};
  const result<void> read = co_await stream->read_exactly(room);
  if (!read) co_return fail(read.error());
  std::ignore = co_await stream->shutdown();
  co_return std::string(text_of(room));
}
// [/ask]
// clang-format on

template <transport Stream>
auto ask(Stream of) -> task<std::string> {
  static_cast<void>(co_await of.write_all(bytes_of("word")));
  std::array<std::byte, 6> room{};
  const result<void> read = co_await of.read_exactly(room);
  CHECK(read.has_value());
  std::ignore = co_await end_writing(of);
  std::array<std::byte, 1> more{};
  const result<std::size_t> end = co_await of.read_some(more);
  CHECK(end == 0);
  CHECK(socket_of(of).local_address().has_value());
  of.close();
  co_return std::string(text_of(room));
}

template <transport Stream>
auto talk(test_loop& here, Stream one, Stream other) -> std::string {
  auto both = when_all(ask(std::move(one)), echo(std::move(other)));
  return std::get<0>(here.run(std::move(both)).take());
}

}  // namespace

TEST_CASE("the same code talks over a plain connection and over TLS") {
  test_loop here;
  auto plain = stream_socket::pair(here.io()).value();
  CHECK(talk(here, std::move(plain.first), std::move(plain.second)) == "<word>");
  auto ends = here.run(testing::shake_hands(here.io(), testing::client_context(), testing::server_context())).take();
  CHECK(talk(here, std::move(ends.client.value()), std::move(ends.server.value())) == "<word>");
}

TEST_CASE("a server and a client of TLS need few lines") {
  const testing::scratch_folder folder;
  const auto& people = testing::tls_people::known();
  folder.write("chain.pem", people.server.certificate);
  folder.write("key.pem", people.server.key);
  folder.write("authority.pem", people.authority.certificate);
  const std::string at = folder.path().string() + "/";
  // clang-format off: a page shows these lines
  // [contexts]
  blocking_pool blocking_threads;
  const result<tls_context> server = tls_context::server({
      .identity = {.chain = tls_context::pem::file(at + "chain.pem"),
                   .key = tls_context::pem::file(at + "key.pem")},
      .protocols = {"http/1.1"},
      .handshakes = &blocking_threads,
  });
  const result<tls_context> client = tls_context::client(
      {.authorities = tls_context::pem::file(at + "authority.pem")});
  // [/contexts]
  // clang-format on
  REQUIRE(server.has_value());
  REQUIRE(client.has_value());
  test_loop here;
  stream_listener listener = stream_listener::listen(here.io(), socket_address::loopback(0)).value();
  auto both = when_all(ask_server(here.io(), *client, listener.local_address().value()), serve_one(*server, listener));
  CHECK(std::get<0>(here.run(std::move(both)).take()) == "<hello>");
}

TEST_CASE("what cannot end its side of writing is no transport") {
  CHECK_FALSE(transport<pipe_stream>);
  CHECK_FALSE(transport<int>);
}
