// tests/sim/programs/sockets.hpp: what the programs about sockets share: checks, connections, and a choice of parts.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <csignal>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

namespace simulated {

using namespace std::chrono_literals;

inline int failures = 0;

inline void check(bool holds, const char* what) {
  if (holds) return;
  ++failures;
  std::printf("FAILED: %s\n", what);
}

#define CHECK(condition) check((condition), #condition)

inline auto any_port() -> sockaddr_in {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return at;
}

inline auto as_system(sockaddr_in& at) -> sockaddr* { return reinterpret_cast<sockaddr*>(&at); }

inline auto address_of(int descriptor) -> sockaddr_in {
  sockaddr_in at{};
  socklen_t size = sizeof(at);
  getsockname(descriptor, as_system(at), &size);
  return at;
}

/// A descriptor that is closed at its end.
struct owned {
  int number;
  explicit owned(int made) : number(made) {}
  owned(owned&& other) noexcept : number(std::exchange(other.number, -1)) {}
  owned(const owned&) = delete;
  auto operator=(const owned&) -> owned& = delete;
  ~owned() { close(); }
  void close() {
    if (number >= 0) ::close(std::exchange(number, -1));
  }
  operator int() const { return number; }  // NOLINT(google-explicit-constructor): for calls
};

inline auto tcp(int flags = 0) -> owned { return owned(socket(AF_INET, SOCK_STREAM | flags, 0)); }

inline auto listening(int backlog = 16) -> owned {
  owned made = tcp();
  sockaddr_in at = any_port();
  bind(made, as_system(at), sizeof(at));
  listen(made, backlog);
  return made;
}

inline auto connected_to(const sockaddr_in& to) -> owned {
  owned made = tcp();
  sockaddr_in at = to;
  CHECK(connect(made, as_system(at), sizeof(at)) == 0);
  return made;
}

struct pair {
  owned client;
  owned server;
};

inline auto connected() -> pair {
  const owned listener = listening();
  owned client = connected_to(address_of(listener));
  return {std::move(client), owned(accept(listener, nullptr, nullptr))};
}

inline auto to_events(int descriptor, short wanted = POLLIN | POLLOUT | POLLRDHUP, int limit = 0) -> int {
  pollfd asked{descriptor, wanted, 0};
  return poll(&asked, 1, limit) > 0 ? asked.revents : 0;
}

inline auto wait_in(int descriptor) -> int { return to_events(descriptor, POLLIN | POLLRDHUP, 10'000); }

inline auto find_option(int descriptor, int level, int name) -> int {
  int value = 0;
  socklen_t size = sizeof(value);
  return getsockopt(descriptor, level, name, &value, &size) == 0 ? value : -1;
}

inline void make_nonblocking(int descriptor) { fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK); }

inline auto text_of(int descriptor) -> std::string {
  std::string text(100, '\0');
  const ssize_t size = read(descriptor, text.data(), text.size());
  text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return text;
}

/// Runs the part that the command line names, or all parts but those that need a name.
inline auto run(int argc, char** argv, const std::map<std::string_view, void (*)()>& parts,
                const std::map<std::string_view, void (*)()>& parts_by_name = {}) -> int {
  if (argc > 1 && parts_by_name.contains(argv[1])) parts_by_name.at(argv[1])();
  for (const auto& [name, part] : parts)
    if (argc < 2 || name == argv[1]) part();
  return failures == 0 ? 0 : 1;
}

}  // namespace simulated
