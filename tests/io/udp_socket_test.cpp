// tests/io/udp_socket_test.cpp: datagrams.
#include <braid/io/sockets.hpp>

#include <braid/coro/with_scope.hpp>
#include <braid/io/byte_stream.hpp>

#include <tests/support/child.hpp>
#include <tests/support/scripted_home.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <span>
#include <string>
#include <system_error>
#include <vector>

using namespace braid;
using testing::test_loop;

namespace {

auto on_loopback(loop& io, udp_socket::options options = {}) -> udp_socket {
  return udp_socket::bind(io, socket_address::loopback(0), options).value();
}

}  // namespace

TEST_CASE("a datagram arrives whole, with its sender's address, and is answered") {
  test_loop here;
  const udp_socket one = on_loopback(here.io());
  const udp_socket two = on_loopback(here.io());
  auto body = [&]() -> task<void> {
    std::array<std::byte, 100> room{};
    const auto to = two.local_address().value();
    const auto sent = co_await one.send_to(bytes_of("ping"), to);
    CHECK(sent.has_value());
    const auto got = co_await two.receive(room);
    REQUIRE(got.has_value());
    CHECK(text_of(std::span(room).first(got->size)) == "ping");
    CHECK(got->is_whole);
    CHECK(got->from == one.local_address().value());
    static_cast<void>(co_await two.send_to(bytes_of(""), got->from));
    const auto empty = co_await one.receive(room);
    CHECK(empty->size == 0);
    CHECK(empty->from == to);
  };
  CHECK(here.run(body()).has_value());
}

TEST_CASE("what does not fit is cut off, and the datagram says so") {
  test_loop here;
  const udp_socket one = on_loopback(here.io());
  auto body = [&]() -> task<void> {
    std::array<std::byte, 3> room{};
    const auto self = one.local_address().value();
    static_cast<void>(co_await one.send_to(bytes_of("abcdef"), self));
    static_cast<void>(co_await one.send_to(bytes_of("xyz"), self));
    const auto cut = co_await one.receive(room);
    CHECK(cut->size == 3);
    CHECK_FALSE(cut->is_whole);
    const auto whole = co_await one.receive(room);
    CHECK(whole->is_whole);
    CHECK(text_of(room) == "xyz");
  };
  CHECK(here.run(body()).has_value());
}

TEST_CASE("a receiver waits until something comes, again and again") {
  test_loop here;
  const udp_socket one = on_loopback(here.io());
  const udp_socket two = on_loopback(here.io());
  int received = 0;
  auto receives = [&]() -> task<void> {
    for (;;) {
      std::array<std::byte, 10> room{};
      const auto got = co_await two.receive(room);
      if (got) ++received;
    }
  };
  here.io().spawn(receives());
  const auto to = two.local_address().value();
  for (int round = 1; round <= 50; ++round) {
    auto sends = [&]() -> task<void> { static_cast<void>(co_await one.send_to(bytes_of("x"), to)); };
    CHECK(here.run(sends()).has_value());
    CHECK(here.run_until([&] { return received == round; }));
  }
  here.stop();
}

TEST_CASE("a connected socket hears its peer only, and learns that the peer is gone") {
  test_loop here;
  const udp_socket one = on_loopback(here.io());
  udp_socket two = on_loopback(here.io());
  const udp_socket stranger = on_loopback(here.io());
  REQUIRE(one.connect(two.local_address().value()));
  auto body = [&]() -> task<void> {
    std::array<std::byte, 10> room{};
    const auto unconnected = co_await stranger.send(bytes_of("x"));
    CHECK(unconnected.error() == std::errc::destination_address_required);
    static_cast<void>(co_await stranger.send_to(bytes_of("stranger"), one.local_address().value()));
    static_cast<void>(co_await two.send_to(bytes_of("peer"), one.local_address().value()));
    const auto got = co_await one.receive(room);
    CHECK(text_of(std::span(room).first(got->size)) == "peer");
    two.close();
    static_cast<void>(co_await one.send(bytes_of("anybody?")));
    const auto nobody = co_await one.receive(room);
    CHECK(nobody.error() == std::errc::connection_refused);
  };
  CHECK(here.run(body()).has_value());
}

TEST_CASE("a deadline ends a receive, and what comes later is there for the next") {
  test_loop here;
  const udp_socket one = on_loopback(here.io());
  const auto self = one.local_address().value();
  std::array<std::byte, 10> room{};
  auto receives = [&]() -> task<std::size_t> {
    const auto got = co_await one.receive(room);
    co_return got->size;
  };
  auto body = [&]() -> task<void> {
    const auto late = co_await with_timeout(1ms, receives());
    CHECK(late.error() == errc::deadline_exceeded);
    static_cast<void>(co_await one.send_to(bytes_of("later"), self));
    const std::size_t size = co_await receives();
    CHECK(size == 5);
  };
  CHECK(here.run_through(body(), 100us).has_value());
}

TEST_CASE("what is too long, or no address, is refused") {
  test_loop here;
  const udp_socket one = on_loopback(here.io());
  CHECK(udp_socket::bind(here.io(), one.local_address().value()).error() == std::errc::address_in_use);
  CHECK(udp_socket::bind(here.io(), socket_address()).error() == errc::invalid_argument);
  CHECK(udp_socket::bind(here.io(), socket_address::unix_abstract("x").value()).error() == errc::invalid_argument);
  CHECK_FALSE(udp_socket().local_address());
  const std::vector<std::byte> huge(70'000);
  auto body = [&]() -> task<void> {
    const auto sent = co_await one.send_to(huge, one.local_address().value());
    CHECK(sent.error() == std::errc::message_size);
  };
  CHECK(here.run(body()).has_value());
}

TEST_CASE("sockets that share a port each get what some senders send") {
  test_loop here;
  const udp_socket first = on_loopback(here.io(), {.reuse_port = true});
  const auto at = first.local_address().value();
  const udp_socket second = udp_socket::bind(here.io(), at, {.reuse_port = true}).value();
  std::array<int, 2> received{};
  auto receives = [&](const udp_socket& by, int& count) -> task<void> {
    std::array<std::byte, 10> room{};
    for (;;)
      if (co_await by.receive(room)) ++count;
  };
  here.io().spawn(receives(first, received[0]));
  here.io().spawn(receives(second, received[1]));
  auto sends = [&]() -> task<void> {
    for (int i = 0; i < 100; ++i) {
      const udp_socket one = on_loopback(here.io());
      static_cast<void>(co_await one.send_to(bytes_of("x"), at));
    }
  };
  CHECK(here.run(sends()).has_value());
  CHECK(here.run_until([&] { return received[0] + received[1] == 100; }));
  CHECK(received[0] > 5);
  CHECK(received[1] > 5);
  here.stop();
}

TEST_CASE("a loop that goes before a socket of its own ends the program, and so does a task of another home") {
  const testing::child_end outlived = testing::run_in_child([] {
    udp_socket left;
    const auto io = loop::create().value();
    left = on_loopback(*io);
  });
  CHECK(outlived.signal == SIGABRT);
  CHECK(outlived.errors.find("must be destroyed before their loop") != std::string::npos);
  const testing::child_end strange = testing::run_in_child([] {
    test_loop here;
    const udp_socket one = on_loopback(here.io());
    testing::scripted_home elsewhere;
    std::array<std::byte, 10> room{};
    auto body = [&]() -> task<void> { static_cast<void>(co_await one.receive(room)); };
    elsewhere.root().spawn(body());
    elsewhere.run_all();
  });
  CHECK(strange.signal == SIGABRT);
  CHECK(strange.errors.find("used by tasks of its own loop") != std::string::npos);
}
