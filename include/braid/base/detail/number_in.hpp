// braid/base/detail/number_in.hpp: parses numbers and durations.
#pragma once

#include <braid/base/config.hpp>

#include <charconv>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace braid::detail {

#if !defined(__cpp_lib_to_chars)

/// Parses a double as `std::from_chars` does. Used with standard libraries that do not provide `std::from_chars` for
/// doubles, such as libc++ 19.
BRAID_API auto real_in(std::string_view text) -> std::optional<double>;

#endif

/// Parses a string that consists only of a number. Returns nothing if the string contains anything else, or if the
/// number is out of range.
template <typename T>
auto number_in(std::string_view text) -> std::optional<T> {
#if !defined(__cpp_lib_to_chars)
  if constexpr (std::same_as<T, double>)
    return real_in(text);
  else
#endif
  {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
  }
}

/// Parses a positive duration in seconds or milliseconds, such as `8s` or `500ms`.
inline auto duration_in(std::string_view text) -> std::optional<std::chrono::milliseconds> {
  if (!text.ends_with('s')) return std::nullopt;
  text.remove_suffix(1);
  const bool is_ms = text.ends_with('m');
  if (is_ms) text.remove_suffix(1);
  const auto number = number_in<std::uint32_t>(text);
  if (!number || *number == 0) return std::nullopt;
  return is_ms ? std::chrono::milliseconds(*number) : std::chrono::seconds(*number);
}

}  // namespace braid::detail
