// braid/io/socket_address.hpp: where a socket is bound or connected to: IPv4, IPv6, or a name of this machine.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <sys/socket.h>

namespace braid {

/// A value; the default is no address. As text:
/// - IPv4: `127.0.0.1:80`
/// - IPv6: `[::1]:80`, `[fe80::1%2]:80` with the number of an interface
/// - Unix: `unix:/run/x`, a file; `unix:@x`, an abstract name, which needs none; bytes that do not print are `\xNN`
/// Threads: as any value; no call blocks.
class BRAID_API socket_address {
 public:
  socket_address() = default;

  /// Numbers only; names are for `resolve`. Errors: errc::bad_address for anything but the forms above.
  [[nodiscard]] static auto parse(std::string_view text) -> result<socket_address>;
  /// An IPv4 or IPv6 address without brackets. Errors: errc::bad_address.
  [[nodiscard]] static auto ip(std::string_view host, std::uint16_t port) -> result<socket_address>;
  /// 127.0.0.1. A listener with port 0 gets a free one.
  [[nodiscard]] static auto loopback(std::uint16_t port) noexcept -> socket_address;
  /// Every IPv4 address of this machine.
  [[nodiscard]] static auto any(std::uint16_t port) noexcept -> socket_address;
  /// Errors: errc::bad_address for no name, one with NUL, or one of more than 107 bytes.
  [[nodiscard]] static auto unix_file(std::string_view path) -> result<socket_address>;
  /// Any bytes. Errors: errc::bad_address for no name, or one of more than 107 bytes.
  [[nodiscard]] static auto unix_abstract(std::string_view name) -> result<socket_address>;
  /// As the system gives it. Errors: errc::bad_address for another family, or a wrong size.
  [[nodiscard]] static auto from_system(const sockaddr* address, socklen_t size) -> result<socket_address>;

  /// AF_INET, AF_INET6, AF_UNIX, or AF_UNSPEC for none.
  [[nodiscard]] auto family() const noexcept -> int { return storage_.ss_family; }
  [[nodiscard]] auto is_ip() const noexcept -> bool { return family() == AF_INET || family() == AF_INET6; }
  /// 0 for a Unix socket.
  [[nodiscard]] auto port() const noexcept -> std::uint16_t;
  /// Without the port or the prefix; for a Unix socket without a name, empty.
  [[nodiscard]] auto host() const -> std::string;
  /// The form that `parse` takes; `unix:` alone for a Unix socket without a name, `none` for no address.
  [[nodiscard]] auto to_string() const -> std::string;

  [[nodiscard]] auto data() const noexcept -> const sockaddr*;
  [[nodiscard]] auto size() const noexcept -> socklen_t { return size_; }

  friend BRAID_API auto operator==(const socket_address& a, const socket_address& b) noexcept -> bool;

 private:
  [[nodiscard]] auto unix_name() const noexcept -> std::string_view;

  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

}  // namespace braid
