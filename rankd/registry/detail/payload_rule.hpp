// rankd/registry/detail/payload_rule.hpp: a payload schema, compiled to a form with which payloads can be checked fast.
#pragma once

#include <rankd/registry/text_pattern.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace rankd::detail {

/// The names of types in the order of their bits. "number" means integers and floats.
inline constexpr std::array<std::string_view, 7> payload_type_names{"null",   "boolean", "integer", "number",
                                                                    "string", "array",   "object"};

/// A set of payload types, with one bit for each type.
using payload_types = std::uint8_t;

inline constexpr payload_types integer_type = 1U << 2U;
inline constexpr payload_types number_type = 1U << 3U;
inline constexpr payload_types any_type = 0x7F;

/// The type for numbers of schemas and payloads. It represents every int64, uint64 and double exactly.
using exact_number = long double;
static_assert(std::numeric_limits<exact_number>::digits >= 64);

inline auto exact(const nlohmann::json& number) -> exact_number {
  if (number.is_number_unsigned()) return static_cast<exact_number>(number.get<std::uint64_t>());
  if (number.is_number_integer()) return static_cast<exact_number>(number.get<std::int64_t>());
  return static_cast<exact_number>(number.get<double>());
}

struct number_bound {
  exact_number value = 0;
  std::string text;  ///< the number as the schema writes it
};

struct size_bounds {
  std::uint64_t min = 0;
  std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
};

struct payload_pattern {
  std::string text;
  text_pattern compiled;
};

struct payload_rule {
  using child = std::unique_ptr<const payload_rule>;

  payload_types types = any_type;
  std::optional<std::vector<std::string>> allowed;  ///< from `enum` or `const`: canonical JSON, sorted
  std::map<std::string, child, std::less<>> properties;
  std::vector<std::string> required;
  bool closed = false;  ///< whether no properties other than those above are allowed
  child others;         ///< the rule for all other properties; null for anything
  child items;          ///< the rule for items; null for anything
  size_bounds item_count;
  size_bounds length;
  std::optional<number_bound> minimum;
  std::optional<number_bound> maximum;
  std::optional<number_bound> above;
  std::optional<number_bound> below;
  std::optional<payload_pattern> pattern;
};

}  // namespace rankd::detail
