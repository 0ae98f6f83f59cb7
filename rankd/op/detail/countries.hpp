// rankd/op/detail/countries.hpp: the column `country`, which operators that read users add to their rows.
#pragma once

#include <rankd/op/detail/hash_columns.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace rankd::detail {

inline constexpr std::string_view country_field = "country";
inline constexpr std::string_view user_prefix = "user:";

/// Returns the column `country` of users. A value is null if the user or the field is absent.
inline auto countries(std::uint32_t key) -> hash_columns {
  return {.prefix = std::string(user_prefix),
          .wanted = {{.key_id = key, .name = std::string(country_field), .type = value_type::string, .otherwise = {}}}};
}

}  // namespace rankd::detail
