// src/net/redis_transport.cpp: plain sockets, TCP and Unix.
#include <braid/net/detail/redis_transport.hpp>

#include <braid/io/descriptor.hpp>
#include <braid/io/socket_address.hpp>
#include <braid/net/redis_error.hpp>

#include <cerrno>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace braid::detail {
namespace {

auto address_of(const redis_options& options) -> result<socket_address> {
  result<socket_address> out = options.socket_path.empty() ? socket_address::ip(options.host, options.port)
                                                           : socket_address::unix_file(options.socket_path);
  if (!out) return fail(redis_errc::no_address);
  return out;
}

auto would_block(int error) noexcept -> bool { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

class plain_transport final : public redis_transport {
 public:
  plain_transport(braid::descriptor socket, const socket_address& to) noexcept : socket_(std::move(socket)), to_(to) {}
  /// The server learns of the end now, even where the kernel keeps the socket for a watch that was given up.
  ~plain_transport() override { ::shutdown(socket_.number(), SHUT_RDWR); }

  [[nodiscard]] auto descriptor() const noexcept -> int override { return socket_.number(); }

  [[nodiscard]] auto connect() noexcept -> result<wants> override {
    if (!begun_) return begin();
    int error = 0;
    socklen_t size = sizeof(error);
    if (::getsockopt(socket_.number(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) return fail(last_system_error());
    if (error != 0) return fail({error, std::system_category()});
    return wants::nothing;
  }

  [[nodiscard]] auto receive(std::span<char> into) noexcept -> result<std::optional<std::size_t>> override {
    const ssize_t got = ::recv(socket_.number(), into.data(), into.size(), 0);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (would_block(errno)) return std::optional<std::size_t>();
    return fail(last_system_error());
  }

  [[nodiscard]] auto send(std::string_view bytes) noexcept -> result<std::size_t> override {
    const ssize_t sent = ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (would_block(errno)) return std::size_t{0};
    return fail(last_system_error());
  }

 private:
  auto begin() noexcept -> result<wants> {
    begun_ = true;
    if (to_.is_ip()) {
      const int on = 1;  // commands are sent as they are collected: waiting for more would only delay them
      if (::setsockopt(socket_.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
        return fail(last_system_error());
    }
    if (::connect(socket_.number(), to_.data(), to_.size()) == 0) return wants::nothing;
    if (errno == EINPROGRESS || errno == EINTR) return wants::to_write;
    return fail(last_system_error());
  }

  braid::descriptor socket_;
  socket_address to_;
  bool begun_ = false;
};

}  // namespace

redis_transport::~redis_transport() = default;

auto make_redis_transport(const redis_options& options) -> result<std::unique_ptr<redis_transport>> {
  const auto to = address_of(options);
  if (!to) return fail(to.error());
  descriptor socket(::socket(to->family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return fail(last_system_error());
  return std::make_unique<plain_transport>(std::move(socket), *to);
}

}  // namespace braid::detail
