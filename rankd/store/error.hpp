// rankd/store/error.hpp: why a store that is open may still refuse to answer.
#pragma once

#include <cstdint>
#include <system_error>

namespace rankd {

/// The refusals of a store; those of the operating system keep their own codes.
enum class store_errc : std::uint8_t {
  wrong_type = 1,  ///< a list was asked of a hash, or a field of a list
  corrupt,         ///< the file holds something that is not a record
  full,            ///< a load needs a larger map
};

/// The category of `store_errc`; its messages are sentences.
auto store_category() noexcept -> const std::error_category&;

/// Lets a `store_errc` stand wherever a std::error_code is wanted.
auto make_error_code(store_errc code) noexcept -> std::error_code;

}  // namespace rankd

template <>
struct std::is_error_code_enum<rankd::store_errc> : std::true_type {};
