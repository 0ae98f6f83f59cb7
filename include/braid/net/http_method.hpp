// braid/net/http_method.hpp: the methods of HTTP.
#pragma once

#include <braid/base/config.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

namespace braid {

/// What a request asks for. CONNECT and TRACE are not among them, because nothing here is a proxy.
enum class http_method : std::uint8_t { get, head, post, put, delete_, patch, options };

/// How many methods there are.
inline constexpr std::uint8_t http_methods = 7;

/// `GET` for get. Threads: any.
[[nodiscard]] BRAID_API auto name_of(http_method method) noexcept -> std::string_view;

/// The method of that name, which is case-sensitive. Threads: any. Errors: nothing for another name.
[[nodiscard]] BRAID_API auto method_named(std::string_view name) noexcept -> std::optional<http_method>;

/// Whether the same request twice is as good as once. Source: RFC 9110, section 9.2.2.
[[nodiscard]] constexpr auto is_idempotent(http_method method) noexcept -> bool {
  return method != http_method::post && method != http_method::patch;
}

}  // namespace braid
