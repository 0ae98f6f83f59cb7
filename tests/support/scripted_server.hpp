// tests/support/scripted_server.hpp: the other end of a connection, which a test plays byte by byte, without a thread.
#pragma once

#include <tests/support/scratch_folder.hpp>

#include <braid/io/descriptor.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace braid::testing {

/// Listens at a Unix socket in a folder of its own; has one connection at a time, the one it has accepted last.
class scripted_server {
 public:
  scripted_server() { listen(); }

  [[nodiscard]] auto path() const -> std::string { return (folder_.path() / "socket").string(); }

  void listen() {
    listener_ = descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const std::string file = path();
    std::memcpy(name.sun_path, file.c_str(), file.size() + 1);
    ::unlink(file.c_str());
    if (::bind(listener_.number(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0 ||
        ::listen(listener_.number(), 16) != 0)
      throw std::runtime_error("a scripted server cannot listen");
  }

  /// From here on connecting is refused.
  void stop_listening() { listener_.close(); }

  /// Takes a connection, if one waits.
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

  /// Sends all of it; a test sends little, which the system takes at once.
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

  scratch_folder folder_;
  descriptor listener_;
  descriptor connection_;
  std::string received_;
};

}  // namespace braid::testing
