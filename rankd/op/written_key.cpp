// rankd/op/written_key.cpp: creates the error for a value that is not allowed, which names the row and the key.
#include <rankd/op/detail/written_key.hpp>

namespace rankd::detail {

auto refused_value(const row_set& rows, const column& values, const written_key& key, std::string_view description)
    -> std::optional<op_error> {
  const auto wrong = find_defect(rows, values, key.nulls);
  if (!wrong) return std::nullopt;
  const std::string of = "the " + std::string(description) + " for `" + key.name + "` of row " +
                         std::to_string(wrong->row) + " (id " + to_text(rows.table().id(wrong->row)) + ") is ";
  if (wrong->kind == defect_kind::non_finite) return op_error{"non_finite_value", of + "not a finite number"};
  return op_error{"null_value", of + "null, which the key does not allow"};
}

}  // namespace rankd::detail
