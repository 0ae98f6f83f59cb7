// src/io/socket_address.cpp: parses and formats socket addresses.
#include <braid/io/sockets.hpp>

#include <braid/base/detail/number_in.hpp>

#include <array>
#include <cstring>
#include <optional>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

namespace braid {
namespace {

constexpr std::string_view unix_prefix = "unix:";
constexpr std::string_view digits = "0123456789abcdef";

auto no_address() -> std::unexpected<std::error_code> { return fail(errc::bad_address); }

auto unescaped_name(std::string_view text) -> std::optional<std::string> {
  std::string plain;
  while (!text.empty()) {
    if (text[0] != '\\') {
      plain += text[0];
      text.remove_prefix(1);
      continue;
    }
    if (text.size() < 4 || text[1] != 'x') return std::nullopt;
    const std::size_t high = digits.find(text[2]);
    const std::size_t low = digits.find(text[3]);
    if (high == digits.npos || low == digits.npos) return std::nullopt;
    plain += static_cast<char>(high << 4U | low);
    text.remove_prefix(4);
  }
  return plain;
}

auto escaped(std::string_view name) -> std::string {
  std::string text;
  for (const char c : name) {
    if (c > ' ' && c < 0x7f && c != '\\') {
      text += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    text += "\\x";
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

template <typename System>
auto as(const sockaddr_storage& storage) noexcept -> const System& {
  return reinterpret_cast<const System&>(storage);
}

template <typename System>
auto of(const System& address, std::size_t size = sizeof(System)) -> result<socket_address> {
  return socket_address::from_system(reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(size));
}

auto ipv4(in_addr_t address, std::uint16_t port) noexcept -> socket_address {
  sockaddr_in made{};
  made.sin_family = AF_INET;
  made.sin_port = htons(port);
  made.sin_addr.s_addr = htonl(address);
  return *of(made);
}

/// Removes the zone `%N` from the end of an IPv6 address, and returns the zone's number.
auto taken_zone(std::string& host) -> std::optional<std::uint32_t> {
  const std::size_t at = host.find('%');
  if (at == host.npos) return 0;
  const auto zone = detail::number_in<std::uint32_t>(std::string_view(host).substr(at + 1));
  host.resize(at);
  return zone;
}

auto unix_address(std::string_view name, bool is_abstract) -> result<socket_address> {
  sockaddr_un made{};
  made.sun_family = AF_UNIX;
  const std::size_t offset = is_abstract ? 1 : 0;
  if (name.empty() || name.size() >= sizeof(made.sun_path)) return no_address();
  std::memcpy(made.sun_path + offset, name.data(), name.size());
  // The zero byte after a file name counts towards the length of the address; an abstract name has no zero at its end.
  return of(made, offsetof(sockaddr_un, sun_path) + name.size() + 1);
}

}  // namespace

auto socket_address::parse(std::string_view text) -> result<socket_address> {
  if (text.starts_with(unix_prefix)) {
    const auto name = unescaped_name(text.substr(unix_prefix.size()));
    if (!name) return no_address();
    return name->starts_with('@') ? unix_abstract(std::string_view(*name).substr(1)) : unix_file(*name);
  }
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) return no_address();
  const auto port = detail::number_in<std::uint16_t>(text.substr(colon + 1));
  std::string_view host = text.substr(0, colon);
  const bool is_bracketed = host.starts_with('[') && host.ends_with(']');
  if (!port || is_bracketed != (host.find(':') != host.npos)) return no_address();
  if (is_bracketed) host = host.substr(1, host.size() - 2);
  return ip(host, *port);
}

auto socket_address::ip(std::string_view host, std::uint16_t port) -> result<socket_address> {
  if (host.find('\0') != host.npos) return no_address();
  std::string terminated(host);
  sockaddr_in v4{};
  if (::inet_pton(AF_INET, terminated.c_str(), &v4.sin_addr) == 1) return ipv4(ntohl(v4.sin_addr.s_addr), port);
  sockaddr_in6 v6{};
  const auto zone = taken_zone(terminated);
  if (!zone || ::inet_pton(AF_INET6, terminated.c_str(), &v6.sin6_addr) != 1) return no_address();
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  v6.sin6_scope_id = *zone;
  return of(v6);
}

auto socket_address::loopback(std::uint16_t port) noexcept -> socket_address { return ipv4(INADDR_LOOPBACK, port); }
auto socket_address::any(std::uint16_t port) noexcept -> socket_address { return ipv4(INADDR_ANY, port); }

auto socket_address::unix_file(std::string_view path) -> result<socket_address> {
  if (path.find('\0') != path.npos) return no_address();
  return unix_address(path, false);
}

auto socket_address::unix_abstract(std::string_view name) -> result<socket_address> { return unix_address(name, true); }

auto socket_address::from_system(const sockaddr* address, socklen_t size) -> result<socket_address> {
  socket_address made;
  const auto bytes = static_cast<std::size_t>(size);
  if (bytes < sizeof(sa_family_t) || bytes > sizeof(made.storage_)) return no_address();
  std::memcpy(&made.storage_, address, bytes);
  made.size_ = size;
  switch (made.family()) {
    case AF_INET: return bytes == sizeof(sockaddr_in) ? result<socket_address>(made) : no_address();
    case AF_INET6: return bytes == sizeof(sockaddr_in6) ? result<socket_address>(made) : no_address();
    case AF_UNIX: return bytes <= sizeof(sockaddr_un) ? result<socket_address>(made) : no_address();
    default: return no_address();
  }
}

auto socket_address::port() const noexcept -> std::uint16_t {
  if (family() == AF_INET) return ntohs(as<sockaddr_in>(storage_).sin_port);
  if (family() == AF_INET6) return ntohs(as<sockaddr_in6>(storage_).sin6_port);
  return 0;
}

/// Returns the name of a Unix socket. An abstract name begins with a zero byte.
auto socket_address::unix_name() const noexcept -> std::string_view {
  constexpr std::size_t head = offsetof(sockaddr_un, sun_path);
  const auto bytes = static_cast<std::size_t>(size_);
  if (bytes <= head) return {};
  const char* const path = as<sockaddr_un>(storage_).sun_path;
  const std::string_view name(path, bytes - head);
  return path[0] == '\0' ? name : name.substr(0, name.find('\0'));
}

auto socket_address::host() const -> std::string {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (family() == AF_INET) {
    ::inet_ntop(AF_INET, &as<sockaddr_in>(storage_).sin_addr, text.data(), text.size());
    return text.data();
  }
  if (family() == AF_INET6) {
    const auto& address = as<sockaddr_in6>(storage_);
    ::inet_ntop(AF_INET6, &address.sin6_addr, text.data(), text.size());
    std::string host(text.data());
    if (address.sin6_scope_id != 0) host += '%' + std::to_string(address.sin6_scope_id);
    return host;
  }
  const std::string_view name = unix_name();
  if (name.starts_with('\0')) return '@' + escaped(name.substr(1));
  return escaped(name);
}

auto socket_address::to_string() const -> std::string {
  switch (family()) {
    case AF_INET: return host() + ':' + std::to_string(port());
    case AF_INET6: return '[' + host() + "]:" + std::to_string(port());
    case AF_UNIX: return std::string(unix_prefix) + host();
    default: return "none";
  }
}

auto socket_address::data() const noexcept -> const sockaddr* { return reinterpret_cast<const sockaddr*>(&storage_); }

auto operator==(const socket_address& a, const socket_address& b) noexcept -> bool {
  return a.size_ == b.size_ && std::memcmp(&a.storage_, &b.storage_, a.size_) == 0;
}

}  // namespace braid
