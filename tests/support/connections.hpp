// tests/support/connections.hpp: connections of a loop, and peers of the plain system that behave as a test wants.
#pragma once

#include <braid/io/backend.hpp>
#include <braid/io/sockets.hpp>

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace braid::testing {

/// How many descriptors the process has.
inline auto open_descriptors() -> std::size_t {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all))) - 1;  // less the one that counts
}

/// A socket of the plain system that blocks.
class plain_peer {
 public:
  explicit plain_peer(descriptor taken) : socket_(std::move(taken)) {}

  static auto connected_to(const socket_address& to) -> plain_peer {
    descriptor made(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(made.number(), to.data(), to.size()) != 0) throw std::runtime_error("the peer cannot connect");
    return plain_peer(std::move(made));
  }

  void send(std::string_view text, int flags = 0) const {
    if (::send(socket_.number(), text.data(), text.size(), MSG_NOSIGNAL | flags) != static_cast<::ssize_t>(text.size()))
      throw std::runtime_error("the peer cannot send");
  }

  /// All that comes until the end, or until so much has come.
  [[nodiscard]] auto receive(std::size_t max_count = std::string::npos) const -> std::string {
    std::string all;
    char block[4096];
    while (all.size() < max_count) {
      const auto got = ::recv(socket_.number(), block, std::min(sizeof(block), max_count - all.size()), 0);
      if (got <= 0) break;
      all.append(block, static_cast<std::size_t>(got));
    }
    return all;
  }

  void end_writing() const { ::shutdown(socket_.number(), SHUT_WR); }
  void close() { socket_.close(); }
  /// Closes so that the other side gets a reset.
  void reset() {
    const ::linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_.number(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    socket_.close();
  }
  [[nodiscard]] auto number() const noexcept -> int { return socket_.number(); }

 private:
  descriptor socket_;
};

/// A connection of a loop, over TCP, whose other end is a plain peer.
struct served_peer {
  stream_socket served;
  plain_peer peer;

  static auto on(loop& io, stream_socket::options options = {}) -> served_peer {
    const descriptor listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto at = socket_address::loopback(0);
    if (::bind(listening.number(), at.data(), at.size()) != 0 || ::listen(listening.number(), 1) != 0)
      throw std::runtime_error("nothing can be listened on");
    sockaddr_storage storage{};
    socklen_t size = sizeof(storage);
    auto* const address = reinterpret_cast<sockaddr*>(&storage);
    ::getsockname(listening.number(), address, &size);
    plain_peer peer = plain_peer::connected_to(socket_address::from_system(address, size).value());
    stream_socket served =
        stream_socket::adopt(io, descriptor(::accept4(listening.number(), nullptr, nullptr, SOCK_CLOEXEC))).value();
    if (!served.set_options(options)) throw std::runtime_error("the options are refused");
    return {std::move(served), std::move(peer)};
  }
};

}  // namespace braid::testing
