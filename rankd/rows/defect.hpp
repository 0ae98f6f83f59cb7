// rankd/rows/defect.hpp: finds a value that a column must not contain.
#pragma once

#include <rankd/rows/row_set.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace rankd {

enum class defect_kind : std::uint8_t { null_value, non_finite };
enum class null_rule : std::uint8_t { allowed, refused };

struct defect {
  defect_kind kind = defect_kind::null_value;
  std::uint32_t row = 0;  ///< within the batch
};

/// Returns the first active row, in the current order, whose value is infinite or NaN, or is null if nulls are not
/// allowed. Requires a column of floats, integers or strings for the batch of `rows`.
/// Cost: about a third of a nanosecond per row while no defect is found.
auto find_defect(const row_set& rows, const column& values, null_rule nulls) -> std::optional<defect>;

}  // namespace rankd
