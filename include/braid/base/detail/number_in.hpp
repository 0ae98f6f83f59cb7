// braid/base/detail/number_in.hpp: parses numbers.
#pragma once

#include <braid/base/config.hpp>

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace braid::detail {

#if !defined(__cpp_lib_to_chars)

/// Parses a double as `std::from_chars` does. Used if the standard library lacks that function, as libc++ 19 does.
BRAID_API auto real_in(std::string_view text) -> std::optional<double>;

#endif

/// Parses a text that consists only of a number. Returns nothing if the text contains anything else, or if the number
/// is out of range.
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

}  // namespace braid::detail
