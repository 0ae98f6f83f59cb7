// tests/io/stream_listener_test.cpp: taking connections, also when there are too many.
#include <braid/io/sockets.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>

#include <tests/support/child.hpp>
#include <tests/support/connections.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

int refused_accepts = 0;  // how many calls have been
int refuses_with = 0;     // the error of every accept; 0: the system decides

}  // namespace

/// In place of the system's, as the library finds it: a rule of a firewall refuses every connection.
extern "C" [[gnu::visibility("default")]] auto accept4(int listener, sockaddr* peer, socklen_t* size, int flags)
    -> int {
  if (refuses_with == 0) return static_cast<int>(::syscall(SYS_accept4, listener, peer, size, flags));
  ++refused_accepts;
  errno = refuses_with;
  return -1;
}

using namespace braid;
using testing::plain_peer;
using testing::test_loop;

namespace {

auto on_loopback(loop& io, stream_listener::options options = {}) -> stream_listener {
  return stream_listener::listen(io, socket_address::loopback(0), options).value();
}

auto find_option(int number, int level, int name) -> int {
  int value = -1;
  socklen_t size = sizeof(value);
  ::getsockopt(number, level, name, &value, &size);
  return value;
}

/// Accepts until it is stopped.
auto accept_all(stream_listener& from, std::vector<stream_socket>& into) -> task<void> {
  for (;;) into.push_back(std::move((co_await from.accept()).value()));
}

/// Whether the peer has been told that its connection is over.
auto is_over(const plain_peer& peer) -> bool {
  char byte = 0;
  ::pollfd asked{.fd = peer.number(), .events = POLLIN, .revents = 0};
  return ::poll(&asked, 1, 0) == 1 && ::recv(peer.number(), &byte, 1, MSG_DONTWAIT) <= 0;
}

/// In a process of its own, because descriptors run out. `check` says whether all is well; what is not is printed.
void without_descriptors(void (*act)(void (*check)(bool, const char*))) {
  const testing::child_end end = testing::run_in_child([act] {
    act([](bool holds, const char* sentence) {
      if (!holds) std::fputs(sentence, stderr);
    });
  });
  CHECK(end.errors == "");
  CHECK(end.signal == 0);
}

/// The number that the next descriptor gets; all below are in use.
auto next_number() -> rlim_t {
  const descriptor probe(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return static_cast<rlim_t>(probe.number());
}

void allow_descriptors(rlim_t count) {
  ::rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = count;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

TEST_CASE("an address may be a text") {
  test_loop here;
  const auto listener = stream_listener::listen(here.io(), "127.0.0.1:0").value();
  CHECK(listener.local_address()->port() != 0);
  CHECK(stream_listener::listen(here.io(), "nowhere").error() == errc::bad_address);
}

TEST_CASE("connections are accepted in order, those that came before included") {
  test_loop here;
  stream_listener listener = on_loopback(here.io());
  const auto at = listener.local_address().value();
  CHECK(at.port() != 0);
  std::vector<plain_peer> peers;
  for (int i = 0; i < 3; ++i) peers.push_back(plain_peer::connected_to(at));
  std::vector<stream_socket> accepted;
  here.io().spawn(accept_all(listener, accepted));
  CHECK(here.run_until([&] { return accepted.size() == 3; }));
  peers.push_back(plain_peer::connected_to(at));
  CHECK(here.run_until([&] { return accepted.size() == 4; }));
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK((::fcntl(accepted[i].number(), F_GETFL) & O_NONBLOCK) != 0);
    CHECK((::fcntl(accepted[i].number(), F_GETFD) & FD_CLOEXEC) != 0);
    sockaddr_storage storage{};
    socklen_t size = sizeof(storage);
    ::getsockname(peers[i].number(), reinterpret_cast<sockaddr*>(&storage), &size);
    CHECK(accepted[i].peer_address().value() ==
          socket_address::from_system(reinterpret_cast<const sockaddr*>(&storage), size).value());
  }
  here.stop();
}

TEST_CASE("where every accept is refused the loop goes on, and who comes later is taken") {
  test_loop here;
  stream_listener listener = on_loopback(here.io());
  const auto at = listener.local_address().value();
  const plain_peer first = plain_peer::connected_to(at);
  std::vector<stream_socket> accepted;
  refuses_with = EPERM;
  refused_accepts = 0;
  here.io().spawn(accept_all(listener, accepted));
  here.run_once(100);
  CHECK(refused_accepts > 0);
  CHECK(refused_accepts <= 64);  // and then it waits
  here.advance(11ms);
  CHECK(refused_accepts > 64);
  CHECK(refused_accepts <= 128);
  refuses_with = 0;
  here.advance(11ms);
  CHECK(here.run_until([&] { return accepted.size() == 1; }));
  here.stop();
}

TEST_CASE("accepted connections have the options of their listener") {
  test_loop here;
  stream_listener listener = on_loopback(
      here.io(), {.connection = {.no_delay = true, .keep_alive = std::chrono::seconds(9), .receive_buffer = 20'000}});
  const plain_peer peer = plain_peer::connected_to(listener.local_address().value());
  auto body = [&]() -> task<void> {
    const auto accepted = co_await listener.accept();
    CHECK(find_option(accepted->number(), IPPROTO_TCP, TCP_NODELAY) == 1);
    CHECK(find_option(accepted->number(), IPPROTO_TCP, TCP_KEEPIDLE) == 9);
    CHECK(find_option(accepted->number(), SOL_SOCKET, SO_RCVBUF) == 40'000);
  };
  CHECK(here.run(body()).has_value());
}

TEST_CASE("an address in use is refused, and free again when its listener is gone") {
  test_loop here;
  std::optional<stream_listener> first = on_loopback(here.io());
  const auto at = first->local_address().value();
  const auto second = stream_listener::listen(here.io(), at);
  CHECK(second.error() == std::errc::address_in_use);
  const plain_peer peer = plain_peer::connected_to(at);
  auto body = [&]() -> task<void> { static_cast<void>(co_await first->accept()); };
  CHECK(here.run(body()).has_value());
  first.reset();
  CHECK(stream_listener::listen(here.io(), at).has_value());
  CHECK(stream_listener::listen(here.io(), socket_address::ip("192.0.2.1", 0).value()).error() ==
        std::errc::address_not_available);
}

TEST_CASE("listeners that share a port all get connections") {
  test_loop here;
  constexpr std::size_t shards = 4;
  std::vector<stream_listener> listeners;
  listeners.push_back(on_loopback(here.io(), {.reuse_port = true}));
  const auto at = listeners[0].local_address().value();
  while (listeners.size() < shards)
    listeners.push_back(stream_listener::listen(here.io(), at, {.reuse_port = true}).value());
  std::vector<std::vector<stream_socket>> accepted(shards);
  for (std::size_t i = 0; i < shards; ++i) here.io().spawn(accept_all(listeners[i], accepted[i]));
  std::vector<plain_peer> peers;
  for (int i = 0; i < 200; ++i) peers.push_back(plain_peer::connected_to(at));
  CHECK(here.run_until([&] {
    std::size_t all = 0;
    for (const auto& each : accepted) all += each.size();
    return all == peers.size();
  }));
  for (const auto& each : accepted) CHECK(each.size() > 10);  // by chance fewer: once in 10^12
  here.stop();
}

TEST_CASE("a stop ends an accept, and the listener goes on with the next") {
  test_loop here;
  stream_listener listener = on_loopback(here.io());
  const auto at = listener.local_address().value();
  std::vector<stream_socket> accepted;
  auto body = [&]() -> task<void> {
    const auto late = co_await with_timeout(1ms, accept_all(listener, accepted));
    CHECK(late.error() == errc::deadline_exceeded);
    const plain_peer peer = plain_peer::connected_to(at);
    auto one = co_await listener.accept();
    CHECK(one.has_value());
  };
  CHECK(here.run_through(body(), 100us).has_value());
  CHECK(accepted.empty());
}

TEST_CASE("a connection that was reset before it was accepted disturbs nobody") {
  test_loop here;
  stream_listener listener = on_loopback(here.io());
  const auto at = listener.local_address().value();
  plain_peer gone = plain_peer::connected_to(at);
  gone.reset();
  const plain_peer peer = plain_peer::connected_to(at);
  peer.send("x");
  auto body = [&]() -> task<std::string> {
    for (;;) {
      const auto accepted = co_await listener.accept();
      std::byte room[8];
      const auto got = co_await accepted->read_some(room);
      if (got) co_return std::string(text_of(std::span(room).first(*got)));
    }
  };
  CHECK(here.run(body()).take() == "x");
}

TEST_CASE("without descriptors a connection is closed at once, and served again as soon as there are some") {
  without_descriptors([](void (*check)(bool, const char*)) {
    test_loop here;
    stream_listener listener = on_loopback(here.io());
    const auto at = listener.local_address().value();
    std::vector<plain_peer> peers;
    for (int i = 0; i < 8; ++i) peers.push_back(plain_peer::connected_to(at));
    allow_descriptors(next_number() + 1);  // one more can be accepted
    std::vector<stream_socket> accepted;
    here.io().spawn(accept_all(listener, accepted));
    const auto over = [&] {
      int count = 0;
      for (const plain_peer& each : peers) count += is_over(each) ? 1 : 0;
      return count;
    };
    check(here.run_until([&] { return over() == 7; }), "those that cannot be served are not told\n");
    check(accepted.size() == 1, "the one that can be is not served\n");
    check(listener.refused() == 7, "refusals are not counted\n");
    here.run_once(50);
    check(listener.refused() == 7, "refusals go on without connections\n");
    peers.clear();
    accepted.clear();
    peers.push_back(plain_peer::connected_to(at));
    check(here.run_until([&] { return accepted.size() == 1; }), "it does not serve again\n");
    check(listener.refused() == 7, "it refuses what it could serve\n");
    here.stop();
  });
}

TEST_CASE("without even a reserve the listener waits, and serves when there are descriptors") {
  without_descriptors([](void (*check)(bool, const char*)) {
    test_loop here;
    std::optional<stream_listener> listener;
    std::vector<plain_peer> peers;
    allow_descriptors(next_number() + 1);  // for its own: so it has no reserve
    listener.emplace(on_loopback(here.io()));
    const auto at = listener->local_address().value();
    std::vector<stream_socket> accepted;
    here.io().spawn(accept_all(*listener, accepted));
    here.run_once();
    allow_descriptors(1000);
    peers.push_back(plain_peer::connected_to(at));
    allow_descriptors(static_cast<rlim_t>(peers[0].number()) + 1);
    here.run_once(20);
    check(accepted.empty(), "it serves what it cannot\n");
    allow_descriptors(1000);
    check(here.run_until([&] {
      here.advance(10ms);
      return accepted.size() == 1;
    }),
          "it does not serve again\n");
    here.stop();
  });
}

TEST_CASE("two that accept at once, and a listener that goes meanwhile, end the program") {
  const auto ends_with = [](std::string_view sentence, auto act) {
    const testing::child_end end = testing::run_in_child([&] {
      test_loop here;
      stream_listener listener = on_loopback(here.io());
      act(here, listener);
    });
    CAPTURE(end.errors);
    CHECK(end.signal == SIGABRT);
    CHECK(end.errors.find(sentence) != std::string::npos);
  };
  auto accepts = [](stream_listener& by) -> task<void> { static_cast<void>(co_await by.accept()); };
  ends_with("one task at a time", [&](test_loop& here, stream_listener& by) {
    here.io().spawn(accepts(by));
    here.io().spawn(accepts(by));
  });
  ends_with("must not be destroyed while", [&](test_loop& here, stream_listener& by) {
    here.io().spawn(accepts(by));
    by.close();
  });
  ends_with("is not open", [&](test_loop& here, stream_listener& by) {
    by.close();
    here.io().spawn(accepts(by));
  });
}

TEST_CASE("a listener that was moved from is closed, and to accept by it ends the program") {
  test_loop here;
  stream_listener listener = on_loopback(here.io());
  const stream_listener moved = std::move(listener);
  CHECK(moved.local_address().has_value());
  CHECK_FALSE(listener);
  CHECK(listener.local_address().error() == std::errc::bad_file_descriptor);
  CHECK(listener.waiting().error() == std::errc::bad_file_descriptor);
  const testing::child_end end = testing::run_in_child([] {
    test_loop own;
    stream_listener source = on_loopback(own.io());
    const stream_listener target = std::move(source);
    auto accepts = [](stream_listener& by) -> task<void> { static_cast<void>(co_await by.accept()); };
    own.io().spawn(accepts(source));
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("is not open") != std::string::npos);
}

TEST_CASE("a listener knows how many wait to be accepted, where it is of TCP") {
  test_loop here;
  stream_listener listener = on_loopback(here.io());
  CHECK(listener.waiting() == 0U);
  std::vector<plain_peer> peers;
  for (int i = 0; i < 3; ++i) peers.push_back(plain_peer::connected_to(listener.local_address().value()));
  CHECK(testing::eventually([&] { return listener.waiting() == 3U; }));
  auto accepting = listener.accept();
  const auto accepted = here.run(std::move(accepting)).take();
  CHECK(accepted.has_value());
  CHECK(listener.waiting() == 2U);
  listener.close();
  CHECK_FALSE(listener.waiting().has_value());
}
