// tests/io/transport_test.cpp: code that is written once, over plain and over TLS connections.
#include <braid/io/transport.hpp>

#include <braid/io/pipe_stream.hpp>

#include <tests/support/tls_scene.hpp>
#include <tests/support/turned_loop.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

using namespace braid;
using testing::turned_loop;

namespace {

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
  const result<void> ended = co_await end_writing(of);
  CHECK(ended.has_value());
}

template <transport Stream>
auto ask(Stream of) -> task<std::string> {
  static_cast<void>(co_await of.write_all(bytes_of("word")));
  std::array<std::byte, 6> room{};
  const result<void> read = co_await of.read_exactly(room);
  CHECK(read.has_value());
  static_cast<void>(co_await end_writing(of));
  std::array<std::byte, 1> more{};
  const result<std::size_t> end = co_await of.read_some(more);
  CHECK(end == 0);
  CHECK(socket_of(of).local_address().has_value());
  of.close();
  co_return std::string(text_of(room));
}

template <transport Stream>
auto talk(turned_loop& here, Stream one, Stream other) -> std::string {
  auto both = when_all(ask(std::move(one)), echo(std::move(other)));
  return std::get<0>(here.run(std::move(both)).take());
}

}  // namespace

TEST_CASE("the same code talks over a plain connection and over TLS") {
  turned_loop here;
  auto plain = stream_socket::pair(here.io()).value();
  CHECK(talk(here, std::move(plain.first), std::move(plain.second)) == "<word>");
  auto ends =
      here.run(testing::shake_hands(here.io(), testing::client_context(), testing::server_context())).take();
  CHECK(talk(here, std::move(ends.client.value()), std::move(ends.server.value())) == "<word>");
}

TEST_CASE("what cannot end its side of writing is no transport") {
  CHECK_FALSE(transport<pipe_stream>);
  CHECK_FALSE(transport<int>);
}
