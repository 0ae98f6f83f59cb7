// tests/windows/tests/support/scripted_server.hpp: the other end of a connection, which a test plays byte by byte. It
// listens at a port of 127.0.0.1, because no Unix sockets are ported.
#pragma once

#include <braid/io/backend.hpp>

#include <array>
#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <netinet/in.h>
#include <sys/socket.h>

namespace braid::testing {

/// Has one connection at a time, the one that it has accepted last.
class scripted_server {
 public:
  scripted_server() { listen(); }

  /// Directs a client of Redis to this server.
  template <typename Options>
  void direct(Options& options) const {
    options.host = "127.0.0.1";
    options.port = port_;
  }

  /// Listens at a free port at first, and then at the same port.
  void listen() {
    listener_ = descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (::bind(listener_.number(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
        ::listen(listener_.number(), 16) != 0 ||
        ::getsockname(listener_.number(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("a scripted server cannot listen");
    port_ = ntohs(address.sin_port);
  }

  /// From here on connecting is refused.
  void stop_listening() { listener_.close(); }

  /// Accepts a connection, if one waits.
  auto accept() -> bool {
    descriptor taken(::accept4(listener_.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!taken) return false;
    connection_ = std::move(taken);
    received_.clear();
    return true;
  }

  /// What the client has sent on this connection so far and was not taken by `take`.
  auto received() -> const std::string& {
    read();
    return received_;
  }
  auto take() -> std::string {
    read();
    return std::exchange(received_, {});
  }

  /// Whether the client has ended the connection.
  auto is_ended() -> bool { return connection_ && read(); }

  /// Sends all of it. A test sends little, which the system takes at once.
  void send(std::string_view bytes) const {
    if (::send(connection_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<::ssize_t>(bytes.size()))
      throw std::runtime_error("a scripted server cannot send");
  }

  void hang_up() { connection_.close(); }

 private:
  /// True at the end.
  auto read() -> bool {
    std::array<char, 65'536> buffer;
    for (;;) {
      const ::ssize_t got = ::recv(connection_.number(), buffer.data(), buffer.size(), 0);
      if (got == 0) return true;
      if (got < 0) return errno != EAGAIN;
      received_.append(buffer.data(), static_cast<std::size_t>(got));
    }
  }

  std::uint16_t port_ = 0;
  descriptor listener_;
  descriptor connection_;
  std::string received_;
};

}  // namespace braid::testing
