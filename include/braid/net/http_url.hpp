// braid/net/http_url.hpp: the parts of a URL, and what percent signs in them stand for.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace braid {

/// The schemes of URLs that a client can call.
enum class http_scheme : std::uint8_t {
  http,
  https,  ///< over TLS
};

/// `http://name:port/target`, or `https://`.
struct http_url {
  http_scheme scheme = http_scheme::http;
  std::string host;          ///< name, and the port unless it is the scheme's: what the field Host says
  std::string name;          ///< without the brackets of an address of version 6
  std::uint16_t port = 80;   ///< without a word 80, or 443 for https
  std::string target = "/";  ///< path and query

  /// Scheme and host, as in `https://name:port`: URLs with the same one may share connections and secrets.
  [[nodiscard]] BRAID_API auto origin() const -> std::string;

  /// Errors: bad_url for what is no URL, or one of another scheme; with a user it is none.
  [[nodiscard]] BRAID_API static auto parse(std::string_view text) -> result<http_url>;
};

/// `text` with each `%XX` as the byte that it stands for, NUL and slash included. Errors: bad_target for a percent sign
/// without two digits.
[[nodiscard]] BRAID_API auto percent_decoded(std::string_view text) -> result<std::string>;

/// The first value of `name` in `a=1&b=2`, decoded, with plus signs as spaces. Nothing where there is none, or where it
/// cannot be decoded.
[[nodiscard]] BRAID_API auto query_value(std::string_view query, std::string_view name) -> std::optional<std::string>;

}  // namespace braid
