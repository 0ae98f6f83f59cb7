// tests/windows/tests/support/pipes.hpp: pairs of sockets whose ends do not block. Windows has no pipe that a loop can
// wait for.
#pragma once

#include <braid/io/backend.hpp>

#include <array>
#include <cstddef>
#include <stdexcept>

#include <sys/socket.h>

namespace braid::testing {

/// Two connected descriptors. Both read and write.
struct ends {
  descriptor first;
  descriptor second;

  static auto of_sockets() -> ends {
    std::array<int, 2> numbers{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, numbers.data()) != 0)
      throw std::runtime_error("no socket pair can be made");
    return {descriptor(numbers[0]), descriptor(numbers[1])};
  }

  static auto of_pipe() -> ends { return of_sockets(); }
};

inline void write_byte(const descriptor& to) {
  if (::send(to.number(), "x", 1, 0) != 1) throw std::runtime_error("the byte was not written");
}

inline void read_byte(const descriptor& from) {
  char byte = 0;
  if (::recv(from.number(), &byte, 1, 0) != 1) throw std::runtime_error("no byte was read");
}

/// Writes until the other end takes nothing more; gives how many bytes that were.
inline auto fill(const descriptor& to) -> std::size_t {
  const std::array<char, 4096> block{};
  std::size_t total = 0;
  for (::ssize_t wrote = 0; (wrote = ::send(to.number(), block.data(), block.size(), 0)) > 0;)
    total += static_cast<std::size_t>(wrote);
  return total;
}

}  // namespace braid::testing
