// rankd/rows/defect.cpp: searches for forbidden values in blocks of 64 rows. If a block contains such a value, the rows
// of this block are checked one by one.
#include <rankd/rows/defect.hpp>

#include <braid/base/config.hpp>

#include <cmath>
#include <limits>

namespace rankd {
namespace {

struct checker {
  std::span<const double> values;  // of floats; integers and strings are finite
  bitmap validity;
  null_rule nulls;

  /// Returns the defect of one row, or nothing if the row has no defect.
  [[nodiscard]] auto check(std::uint32_t row) const -> std::optional<defect> {
    if (!validity[row]) {
      if (nulls == null_rule::allowed) return std::nullopt;
      return defect{defect_kind::null_value, row};
    }
    if (values.empty() || std::isfinite(values[row])) return std::nullopt;
    return defect{defect_kind::non_finite, row};
  }

  /// Returns true if a block of rows has no nulls and no values that are infinite or NaN. Requires that `first` is a
  /// multiple of 64.
  [[nodiscard]] auto clean(std::size_t first, std::size_t rows) const -> bool {
    const std::uint64_t wanted = low_bits(rows);
    if (!validity.all_set() && (validity.words()[first / word_bits] & wanted) != wanted) return false;
    if (values.empty()) return true;
    unsigned bad = 0;
    for (const double value : values.subspan(first, rows)) {
      bad |= std::fabs(value) <= std::numeric_limits<double>::max() ? 0U : 1U;
    }
    return bad == 0;
  }
};

auto find_in_prefix(std::size_t size, const checker& look) -> std::optional<defect> {
  for (std::size_t first = 0; first < size; first += word_bits) {
    const std::size_t rows = std::min(word_bits, size - first);
    if (look.clean(first, rows)) continue;
    for (std::size_t row = first; row < first + rows; ++row) {
      if (const auto found = look.check(static_cast<std::uint32_t>(row))) return found;
    }
  }
  return std::nullopt;
}

}  // namespace

auto find_defect(const row_set& rows, const column& values, null_rule nulls) -> std::optional<defect> {
  const auto* floats = values.floats();
  BRAID_EXPECTS(values.size() == rows.table().size(), "the column must cover the batch");
  const checker look{floats != nullptr ? *floats : std::span<const double>(), values.validity, nulls};
  if (rows.is_prefix()) return find_in_prefix(rows.size(), look);
  for (const std::uint32_t row : rows.order()) {
    if (const auto found = look.check(row)) return found;
  }
  return std::nullopt;
}

}  // namespace rankd
