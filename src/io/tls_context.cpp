// src/io/tls_context.cpp: creates TLS contexts, and reads PEM files.
#include <braid/io/tls.hpp>

#include "tls_backend.hpp"

#include <braid/io/backend.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#if !defined(ELIBACC)
#define ELIBACC ENOTSUP  // macOS has no error of libraries
#endif

namespace braid {
namespace {

constexpr std::size_t max_bytes = std::size_t{16} * 1024 * 1024;

auto read_whole(const std::string& path) -> result<std::string> {
  const descriptor opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened) return fail(last_system_error());
  std::string all;
  std::array<char, 4096> block;
  for (;;) {
    const ::ssize_t got = ::read(opened.number(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(last_system_error());
    if (got == 0) return all;
    all.append(block.data(), static_cast<std::size_t>(got));
    if (all.size() > max_bytes) return fail(std::make_error_code(std::errc::file_too_large));
  }
}

auto without_backend() noexcept -> std::error_code { return {ELIBACC, std::system_category()}; }

}  // namespace

auto tls_context::pem::load() const -> result<std::string> {
  if (kind_ == kind::none) return fail(errc::invalid_argument);
  if (kind_ == kind::file) return read_whole(value_);
  if (value_.size() > max_bytes) return fail(std::make_error_code(std::errc::file_too_large));
  return value_;
}

auto tls_context::client(const tls_context::client_options& options) -> result<tls_context> {
  const detail::tls_backend* const openssl = detail::find_tls_backend();
  if (openssl == nullptr) return fail(without_backend());
  auto made = openssl->client(options);
  if (!made) return fail(made.error());
  return tls_context(std::move(*made));
}

auto tls_context::server(const tls_context::server_options& options) -> result<tls_context> {
  const detail::tls_backend* const openssl = detail::find_tls_backend();
  if (openssl == nullptr) return fail(without_backend());
  auto made = openssl->server(options);
  if (!made) return fail(made.error());
  return tls_context(std::move(*made));
}

auto tls_context::offers(std::string_view protocol) const noexcept -> bool {
  std::string_view rest = setup_->protocols();
  while (!rest.empty()) {
    const std::size_t size = static_cast<unsigned char>(rest.front());
    if (rest.substr(1, size) == protocol) return true;
    rest.remove_prefix(std::min(1 + size, rest.size()));
  }
  return false;
}

}  // namespace braid
