// tests/io/stream_socket_test.cpp: connections: how they are made, told apart and ended.
#include <braid/io/sockets.hpp>

#include <braid/coro/with_scope.hpp>

#include <tests/support/child.hpp>
#include <tests/support/connections.hpp>
#include <tests/support/pipes.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

using namespace braid;
using testing::served_peer;
using testing::test_loop;

namespace {

auto find_option(int number, int level, int name) -> int {
  int value = -1;
  socklen_t size = sizeof(value);
  ::getsockopt(number, level, name, &value, &size);
  return value;
}

/// An address of this machine on which nobody listens, and, while it is held, nobody will.
struct unused_address {
  descriptor held{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  auto value() const -> socket_address {
    const auto at = socket_address::loopback(0);
    REQUIRE(::bind(held.number(), at.data(), at.size()) == 0);
    sockaddr_storage storage{};
    socklen_t size = sizeof(storage);
    ::getsockname(held.number(), reinterpret_cast<sockaddr*>(&storage), &size);
    return socket_address::from_system(reinterpret_cast<const sockaddr*>(&storage), size).value();
  }
};

auto read_text(const byte_stream& from) -> task<std::string> {
  std::array<std::byte, 100> room{};
  const auto got = co_await from.read_some(room);
  if (!got) throw std::system_error(got.error());
  co_return std::string(text_of(std::span(room).first(*got)));
}

/// Connects, is accepted, and says a word in both directions.
auto meet(loop& io, socket_address at) -> task<void> {
  stream_listener listener = stream_listener::listen(io, at).value();
  const socket_address bound = listener.local_address().value();
  auto made = co_await stream_socket::connect(io, bound);
  REQUIRE(made.has_value());
  auto accepted = co_await listener.accept();
  REQUIRE(accepted.has_value());
  CHECK(made->peer_address().value() == bound);
  CHECK(accepted->local_address().value() == bound);
  CHECK(accepted->peer_address().value() == made->local_address().value());
  static_cast<void>(co_await made->write_all(bytes_of("there")));
  const std::string there = co_await read_text(*accepted);
  CHECK(there == "there");
  static_cast<void>(co_await accepted->write_all(bytes_of("and back")));
  const std::string back = co_await read_text(*made);
  CHECK(back == "and back");
}

}  // namespace

TEST_CASE("a client and a server meet by IPv4, by IPv6, and by both kinds of Unix names") {
  test_loop here;
  const testing::scratch_folder folder;
  const std::string path = folder.path() / "x.sock";
  CHECK(here.run(meet(here.io(), socket_address::loopback(0))).has_value());
  CHECK(here.run(meet(here.io(), socket_address::unix_file(path).value())).has_value());
  const auto name = "braid-test-" + std::to_string(::getpid());
  CHECK(here.run(meet(here.io(), socket_address::unix_abstract(name).value())).has_value());
  const auto six = socket_address::ip("::1", 0).value();
  if (stream_listener::listen(here.io(), six)) CHECK(here.run(meet(here.io(), six)).has_value());
}

TEST_CASE("where nobody listens a connection is refused") {
  test_loop here;
  const unused_address nobody;
  const auto at = nobody.value();
  auto body = [&]() -> task<void> {
    const auto by_tcp = co_await stream_socket::connect(here.io(), at);
    CHECK(by_tcp.error() == std::errc::connection_refused);
    const auto by_name =
        co_await stream_socket::connect(here.io(), socket_address::unix_abstract("braid-nobody-is-here").value());
    CHECK(by_name.error() == std::errc::connection_refused);
    const auto by_file = co_await stream_socket::connect(here.io(), socket_address::unix_file("/no/such").value());
    CHECK(by_file.error() == std::errc::no_such_file_or_directory);
    const auto nowhere = co_await stream_socket::connect(here.io(), socket_address());
    CHECK(nowhere.error() == std::errc::address_family_not_supported);
  };
  CHECK(here.run(body()).has_value());
  CHECK_FALSE(here.io().backend().has_watches());
}

TEST_CASE("a connect to a Unix listener without room waits for it") {
  test_loop here;
  const auto at = socket_address::unix_abstract("braid-room-" + std::to_string(::getpid())).value();
  stream_listener listener = stream_listener::listen(here.io(), at, {.backlog = 0}).value();
  std::vector<stream_socket> made;
  auto connects = [&]() -> task<void> {
    auto one = co_await stream_socket::connect(here.io(), at);
    made.push_back(std::move(one.value()));
  };
  for (int i = 0; i < 4; ++i) here.io().spawn(connects());
  here.run_once();
  CHECK(made.size() < 4);
  std::vector<stream_socket> accepted;
  auto accepts = [&]() -> task<void> {
    while (accepted.size() < 4) accepted.push_back(std::move((co_await listener.accept()).value()));
  };
  CHECK(here.run_through(accepts(), 1ms).has_value());
  CHECK(here.run_until([&] {
    here.advance(1ms);
    return made.size() == 4;
  }));
}

TEST_CASE("a deadline ends a connect that gets no answer, and its descriptor is closed") {
  test_loop here;
  // A listener whose backlog is full answers nobody.
  const descriptor deaf(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto any = socket_address::loopback(0);
  REQUIRE(::bind(deaf.number(), any.data(), any.size()) == 0);
  REQUIRE(::listen(deaf.number(), 0) == 0);
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  ::getsockname(deaf.number(), reinterpret_cast<sockaddr*>(&storage), &size);
  const auto at = socket_address::from_system(reinterpret_cast<const sockaddr*>(&storage), size).value();
  std::vector<stream_socket> made;
  const std::size_t before = testing::open_descriptors();
  bool late = false;
  auto connects = [&]() -> task<void> {
    while (!late) {
      auto one = co_await with_timeout(5ms, stream_socket::connect(here.io(), at));
      late = !one.has_value() && one.error() == errc::deadline_exceeded;
      if (one && *one) made.push_back(std::move(*one));
    }
  };
  CHECK(here.run_through(connects(), 1ms).has_value());
  CHECK(late);
  CHECK(testing::open_descriptors() == before + made.size());
}

TEST_CASE("shutdown ends one direction and leaves the other") {
  test_loop here;
  served_peer both = served_peer::on(here.io());
  CHECK(both.served.shutdown(stream_socket::side::write));
  CHECK(both.peer.receive().empty());
  both.peer.send("still");
  auto body = [&]() -> task<void> {
    const std::string text = co_await read_text(both.served);
    CHECK(text == "still");
    const auto wrote = co_await both.served.write_all(bytes_of("no more"));
    CHECK(wrote.error() == std::errc::broken_pipe);
    CHECK(both.served.shutdown(stream_socket::side::read));
    const std::string end = co_await read_text(both.served);
    CHECK(end.empty());
    CHECK(both.served.shutdown(stream_socket::side::both).has_value());
  };
  CHECK(here.run(body()).has_value());
}

TEST_CASE("a shutdown wakes the reader that waits") {
  test_loop here;
  served_peer both = served_peer::on(here.io());
  bool over = false;
  auto body = [&]() -> task<void> {
    const std::string text = co_await read_text(both.served);
    over = text.empty();
  };
  here.io().spawn(body());
  here.run_once();
  CHECK(both.served.shutdown(stream_socket::side::both));
  CHECK(here.run_until([&] { return over; }));
}

TEST_CASE("options reach the system, and what does not concern a socket is passed over") {
  test_loop here;
  served_peer both = served_peer::on(here.io(), {.no_delay = false});
  const int number = both.served.number();
  CHECK(find_option(number, IPPROTO_TCP, TCP_NODELAY) == 0);
  CHECK(find_option(number, SOL_SOCKET, SO_KEEPALIVE) == 0);
  CHECK(both.served.set_options(
      {.keep_alive = std::chrono::seconds(33), .send_buffer = 32'768, .receive_buffer = 16'384}));
  CHECK(find_option(number, IPPROTO_TCP, TCP_NODELAY) == 1);
  CHECK(find_option(number, SOL_SOCKET, SO_KEEPALIVE) == 1);
  CHECK(find_option(number, IPPROTO_TCP, TCP_KEEPIDLE) == 33);
  CHECK(find_option(number, SOL_SOCKET, SO_SNDBUF) == 65'536);
  CHECK(find_option(number, SOL_SOCKET, SO_RCVBUF) == 32'768);
  auto local = stream_socket::pair(here.io()).value();
  CHECK(local.first.set_options({.no_delay = true, .keep_alive = std::chrono::seconds(33)}));
}

TEST_CASE("descriptors of sockets do not block and are closed on exec; only sockets are adopted") {
  test_loop here;
  served_peer both = served_peer::on(here.io());
  CHECK((::fcntl(both.served.number(), F_GETFL) & O_NONBLOCK) != 0);
  CHECK((::fcntl(both.served.number(), F_GETFD) & FD_CLOEXEC) != 0);
  auto pipe = testing::ends::of_pipe();
  CHECK(stream_socket::adopt(here.io(), std::move(pipe.first)).error() == std::errc::not_a_socket);
  CHECK(stream_socket::adopt(here.io(), descriptor()).error() == std::errc::bad_file_descriptor);
}

TEST_CASE("a socket that is used by a task of another loop ends the program") {
  const testing::child_end end = testing::run_in_child([] {
    test_loop here;
    auto both = stream_socket::pair(here.io()).value();
    const auto other = loop::create().value();
    auto body = [&]() -> task<void> { co_await read_text(both.first); };
    other->run([&] { other->spawn(body()); });
  });
  CHECK(end.signal == SIGABRT);
}
