// src/net/redis_transport.cpp: plain sockets, TCP and Unix.
#include <braid/net/detail/redis_transport.hpp>

#include <braid/io/descriptor.hpp>
#include <braid/net/redis_error.hpp>

#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace braid::detail {
namespace {

struct address {
  sockaddr_storage storage{};
  socklen_t size = 0;

  template <typename T>
  auto as() noexcept -> T& {
    size = sizeof(T);
    return *reinterpret_cast<T*>(&storage);
  }
  [[nodiscard]] auto data() const noexcept -> const sockaddr* { return reinterpret_cast<const sockaddr*>(&storage); }
};

auto unix_address(const std::string& path) -> result<address> {
  address out;
  auto& name = out.as<sockaddr_un>();
  name.sun_family = AF_UNIX;
  if (path.size() >= sizeof(name.sun_path)) return fail(redis_errc::no_address);
  std::memcpy(name.sun_path, path.c_str(), path.size() + 1);
  return out;
}

auto ip_address(const redis_options& options) -> result<address> {
  address out;
  auto& four = out.as<sockaddr_in>();
  four.sin_family = AF_INET;
  four.sin_port = htons(options.port);
  if (::inet_pton(AF_INET, options.host.c_str(), &four.sin_addr) == 1) return out;
  out = {};
  auto& six = out.as<sockaddr_in6>();
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(options.port);
  if (::inet_pton(AF_INET6, options.host.c_str(), &six.sin6_addr) == 1) return out;
  return fail(redis_errc::no_address);
}

auto would_block(int error) noexcept -> bool { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

class plain_transport final : public redis_transport {
 public:
  plain_transport(braid::descriptor socket, const address& to) noexcept : socket_(std::move(socket)), to_(to) {}
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
    if (to_.storage.ss_family != AF_UNIX) {
      const int on = 1;  // commands are sent as they are collected: waiting for more would only delay them
      if (::setsockopt(socket_.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
        return fail(last_system_error());
    }
    if (::connect(socket_.number(), to_.data(), to_.size) == 0) return wants::nothing;
    if (errno == EINPROGRESS || errno == EINTR) return wants::to_write;
    return fail(last_system_error());
  }

  braid::descriptor socket_;
  address to_;
  bool begun_ = false;
};

}  // namespace

redis_transport::~redis_transport() = default;

auto make_redis_transport(const redis_options& options) -> result<std::unique_ptr<redis_transport>> {
  const auto to = options.socket_path.empty() ? ip_address(options) : unix_address(options.socket_path);
  if (!to) return fail(to.error());
  descriptor socket(::socket(to->storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) return fail(last_system_error());
  return std::make_unique<plain_transport>(std::move(socket), *to);
}

}  // namespace braid::detail
