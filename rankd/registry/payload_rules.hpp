// rankd/registry/payload_rules.hpp: rules for the payload of a capability, compiled from its JSON schema.
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

/// Rules compiled from a subset of JSON Schema: type, enum, const, properties, required, additionalProperties, items,
/// minItems, maxItems, minLength, maxLength, minimum, maximum, exclusiveMinimum, exclusiveMaximum, pattern, title,
/// description. Everything else is refused. Lengths count characters. A number is an integer only if it is written as
/// an integer. Numbers are compared exactly. Copies share the compiled rules.
/// Threads: any, once made.
class payload_rules {
 public:
  static constexpr std::size_t max_depth = 32;         ///< the maximum nesting of schemas
  static constexpr std::size_t max_diagnostics = 100;  ///< for one payload; the rest of the payload is then not checked

  /// Compiles a schema. Errors: bad_payload_schema for each error, with pointers below `pointer`.
  static auto compile(const nlohmann::json& schema, std::string_view pointer) -> braid::checked<payload_rules>;

  /// Checks a payload. Pointers of errors begin with `pointer`: wrong_type, bad_value, out_of_range, missing_field,
  /// unknown_field. Cost: linear. The depth of the stack depends on the schema, not on the payload.
  [[nodiscard]] auto check(const nlohmann::json& payload, std::string_view pointer) const -> braid::diagnostics;

 private:
  explicit payload_rules(std::shared_ptr<const detail::payload_rule> root) noexcept;

  std::shared_ptr<const detail::payload_rule> root_;
};

}  // namespace rankd
