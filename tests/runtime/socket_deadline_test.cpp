// tests/runtime/socket_deadline_test.cpp: exchanges with peers that are slow have one end for all of their calls.
#include <braid/runtime/detail/socket_deadline.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

using braid::detail::socket_deadline;
using namespace std::chrono_literals;

namespace {

/// Two sockets that are connected to each other, with as little room as the system allows.
class socket_pair {
 public:
  socket_pair() {
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, numbers_.data()) == 0);
    const int little = 1;
    for (const int number : numbers_) ::setsockopt(number, SOL_SOCKET, SO_SNDBUF, &little, sizeof little);
  }
  socket_pair(const socket_pair&) = delete;
  auto operator=(const socket_pair&) -> socket_pair& = delete;
  ~socket_pair() {
    for (std::size_t side = 0; side < numbers_.size(); ++side) close(side);
  }

  [[nodiscard]] auto operator[](std::size_t side) const -> int { return numbers_[side]; }
  void close(std::size_t side) {
    if (numbers_[side] >= 0) ::close(numbers_[side]);
    numbers_[side] = -1;
  }

 private:
  std::array<int, 2> numbers_{};
};

/// Waits a moment, or until the peer has gone.
auto pause(int socket) -> bool {
  ::pollfd gone{.fd = socket, .events = POLLRDHUP, .revents = 0};
  return ::poll(&gone, 1, 1) == 0;
}

}  // namespace

TEST_CASE("what is sent in time arrives whole, and the end of the stream is told") {
  socket_pair both;
  const std::string all(100'000, 'x');
  std::thread sender([&] {
    CHECK(socket_deadline(1h).send_all(both[0], all));
    CHECK(socket_deadline(1h).send_all(both[0], ""));
    both.close(0);
  });
  const socket_deadline deadline(1h);
  std::array<char, 1'000> part{};
  std::string heard;
  for (::ssize_t got = 0; (got = deadline.receive(both[1], part)) > 0;)
    heard.append(part.data(), static_cast<std::size_t>(got));
  sender.join();
  CHECK(heard == all);
  CHECK(deadline.receive(both[1], part) == 0);
  CHECK_FALSE(deadline.send_all(both[1], "x"));  // the peer has closed its side
}

TEST_CASE("a peer that says nothing, or takes nothing, is waited for until the deadline") {
  const socket_pair both;
  std::array<char, 10> part{};
  CHECK(socket_deadline(1ms).receive(both[1], part) < 0);
  CHECK_FALSE(socket_deadline(1ms).send_all(both[0], std::string(10'000'000, 'x')));
}

TEST_CASE("a deadline that has passed lets no call begin") {
  const socket_pair both;
  REQUIRE(::send(both[0], "x", 1, 0) == 1);
  std::array<char, 10> part{};
  for (const braid::duration limit : {0ns, -1ns, -1'000'000'000ns}) {
    CHECK(socket_deadline(limit).receive(both[1], part) < 0);
    CHECK_FALSE(socket_deadline(limit).send_all(both[0], "y"));
  }
  CHECK(socket_deadline(1h).receive(both[1], part) == 1);  // of all that, only the first byte was sent
}

TEST_CASE("a byte now and then does not make an exchange longer") {
  socket_pair both;
  std::thread peer([&] {
    for (int i = 0; i < 2'000 && ::send(both[0], "x", 1, MSG_NOSIGNAL) == 1; ++i) static_cast<void>(pause(both[0]));
    ::shutdown(both[0], SHUT_WR);
  });
  const socket_deadline deadline(50ms);
  char byte = 0;
  ::ssize_t got = 1;
  while (got == 1) got = deadline.receive(both[1], std::span(&byte, 1));
  CHECK(got < 0);  // and not 0, the end of the stream
  both.close(1);
  peer.join();
}

TEST_CASE("a peer that takes a little now and then does not make an exchange longer") {
  socket_pair both;
  std::thread peer([&] {
    std::array<char, 64> part{};
    for (int i = 0; i < 2'000 && ::recv(both[1], part.data(), part.size(), 0) > 0; ++i)
      static_cast<void>(pause(both[1]));
    std::array<char, 65'536> rest{};
    while (::recv(both[1], rest.data(), rest.size(), 0) > 0) {}  // what goes on beyond the deadline would succeed
  });
  CHECK_FALSE(socket_deadline(50ms).send_all(both[0], std::string(10'000'000, 'x')));
  both.close(0);
  peer.join();
}
