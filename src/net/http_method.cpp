// src/net/http_method.cpp: defines the names of the HTTP methods.
#include <braid/net/http_message.hpp>

#include <array>
#include <cstddef>

namespace braid {
namespace {

constexpr std::array<std::string_view, detail::http_methods> method_names{"GET",    "HEAD",  "POST",   "PUT",
                                                                          "DELETE", "PATCH", "OPTIONS"};

}  // namespace

auto name_of(http_method method) noexcept -> std::string_view { return method_names[static_cast<std::size_t>(method)]; }

auto detail::method_named(std::string_view name) noexcept -> std::optional<http_method> {
  for (std::uint8_t i = 0; i < detail::http_methods; ++i)
    if (method_names[i] == name) return static_cast<http_method>(i);
  return std::nullopt;
}

}  // namespace braid
