// rankd/op/detail/written_key.hpp: a key that an operator writes, and the error for a value that is not allowed for the
// key.
#pragma once

#include <rankd/op/operator.hpp>
#include <rankd/rows/defect.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rankd::detail {

/// A key that an operator writes.
struct written_key {
  std::uint32_t key_id = 0;
  std::string name;
  value_type type = value_type::floating;
  null_rule nulls = null_rule::allowed;

  written_key() = default;
  explicit written_key(const key_entry& key)
      : key_id(key.key_id),
        name(key.name),
        type(key.type),
        nulls(key.nullable ? null_rule::allowed : null_rule::refused) {}
};

/// Returns null_value or non_finite_value for the first active row whose value is not allowed for the key.
/// `description` describes the value in the message.
auto refused_value(const row_set& rows, const column& values, const written_key& key,
                   std::string_view description = "value") -> std::optional<op_error>;

}  // namespace rankd::detail
