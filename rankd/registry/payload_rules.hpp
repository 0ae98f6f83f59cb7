// rankd/registry/payload_rules.hpp: what the payload of a capability must look like, compiled from its JSON schema.
#pragma once

#include <braid/base/error.hpp>

#include <cstddef>
#include <memory>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace rankd {
namespace detail {

struct payload_rule;

}  // namespace detail

/// A closed subset of JSON Schema: type, enum, const, properties, required, additionalProperties, items, minItems,
/// maxItems, minLength, maxLength, minimum, maximum, exclusiveMinimum, exclusiveMaximum, pattern, title, description.
/// Nothing else is a schema. Lengths count characters; an integer is a number that is written as one; numbers compare
/// exactly. Copies share what was compiled.
/// Threads: any, once made.
class payload_rules {
 public:
  static constexpr std::size_t max_depth = 32;         ///< schemas inside each other
  static constexpr std::size_t max_diagnostics = 100;  ///< about one payload; the rest of it is then not looked at

  /// Errors: bad_payload_schema for each fault, below `pointer`.
  static auto compile(const nlohmann::json& schema, std::string_view pointer) -> braid::checked<payload_rules>;

  /// Checks a payload, below `pointer`: wrong_type, bad_value, out_of_range, missing_field, unknown_field. Cost:
  /// linear; the stack grows with the depth of the schema, not with that of the payload.
  [[nodiscard]] auto check(const nlohmann::json& payload, std::string_view pointer) const -> braid::diagnostics;

 private:
  explicit payload_rules(std::shared_ptr<const detail::payload_rule> root) noexcept;

  std::shared_ptr<const detail::payload_rule> root_;
};

}  // namespace rankd
