// bench/echo/cases.hpp: what echo servers of all libraries are measured by: the same client, and the time of their
// thread.
#pragma once

#include <bench/harness/program.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bench {

inline constexpr std::size_t message_size = 64;

namespace detail {

[[noreturn]] inline void give_up(const char* what) {
  std::perror(what);
  std::exit(3);
}

inline auto connected(std::uint16_t port) -> int {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(made, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) give_up("connect");
  const int on = 1;
  ::setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return made;
}

}  // namespace detail

/// Sends and receives on all connections until so many answers have come; gives how many did, of which each was right.
inline auto talk(std::uint16_t port, std::size_t connections, std::uint64_t round_trips) -> std::uint64_t {
  const int poll = ::epoll_create1(EPOLL_CLOEXEC);
  std::vector<int> sockets;
  std::array<char, message_size> message{};
  for (std::size_t i = 0; i < connections; ++i) {
    sockets.push_back(detail::connected(port));
    epoll_event event{.events = EPOLLIN, .data = {.fd = sockets.back()}};
    ::epoll_ctl(poll, EPOLL_CTL_ADD, sockets.back(), &event);
  }
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  const auto say = [&](int to) {
    message.fill(static_cast<char>(to));
    if (::send(to, message.data(), message.size(), MSG_NOSIGNAL) != static_cast<::ssize_t>(message_size))
      detail::give_up("send");
    ++sent;
  };
  for (const int each : sockets)
    if (sent < round_trips) say(each);
  std::array<epoll_event, 512> events{};
  while (answered < round_trips) {
    const int count = ::epoll_wait(poll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      const int from = events[static_cast<std::size_t>(i)].data.fd;
      std::array<char, message_size> answer{};
      if (::recv(from, answer.data(), answer.size(), MSG_WAITALL) != static_cast<::ssize_t>(message_size))
        detail::give_up("recv");
      if (answer.front() != static_cast<char>(from) || answer.back() != static_cast<char>(from)) return 0;
      ++answered;
      if (sent < round_trips) say(from);
    }
  }
  for (const int each : sockets) ::close(each);
  ::close(poll);
  return answered;
}

/// `serve(ready)` runs a server on the calling thread, calls `ready(port)` once it listens, and returns after `stop()`,
/// which another thread calls.
template <typename Serve, typename Stop>
auto timed_echo(const parameters& given, Serve serve, Stop stop) -> sample {
  const std::size_t connections = given.number("connections", 64);
  const std::uint64_t round_trips = given.number("round_trips", 400'000);
  std::uint16_t port = 0;
  double server_ns = 0;
  std::latch listening(1);
  std::thread server([&] {
    const double begin = thread_cpu_ns();
    serve([&](std::uint16_t bound) {
      port = bound;
      listening.count_down();
    });
    server_ns = thread_cpu_ns() - begin;
  });
  listening.wait();
  sample measured =
      timed(static_cast<double>(round_trips), round_trips, [&] { return talk(port, connections, round_trips); });
  stop();
  server.join();
  measured.extra = {{"server_cpu_ns", server_ns / static_cast<double>(round_trips)}};
  return measured;
}

}  // namespace bench
