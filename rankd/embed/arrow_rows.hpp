// rankd/embed/arrow_rows.hpp: converts rows to Arrow columns, and exports them by the C data interface. No Arrow
// library is needed.
#pragma once

#include <rankd/embed/arrow_abi.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/rows/row_set.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rankd {

/// A column that owns its buffers, in the memory layout of Arrow.
struct arrow_column {
  enum class nulls : std::uint8_t { none, some };

  std::string name;
  std::string format;  ///< the format string of the C data interface
  nulls has = nulls::some;
  std::int64_t length = 0;
  std::int64_t null_count = 0;
  /// The buffers of the column. The first buffer is the bitmap of values that are not null. This buffer is empty if the
  /// column has no nulls.
  std::vector<std::string> buffers = {};
  std::vector<arrow_column> children = {};
};

/// Copies the active rows, in their order, to a struct column. The struct column contains the column `id`, and one
/// column for each of the given keys that the rows have. A column with a text that is not UTF-8 becomes a column of
/// bytes. A vector becomes a list of float32 with a fixed size.
auto arrow_columns(const row_set& rows, std::span<const key_entry* const> keys) -> arrow_column;

/// Writes the type of a column to `out`. The receiver must release it.
void export_schema(const arrow_column& from, ArrowSchema& out);

/// Exports the buffers of a column without copying. The buffers live until the receiver has released `out` and all
/// children that it has moved out of `out`.
void export_array(std::shared_ptr<const arrow_column> from, ArrowArray& out);

/// Writes a stream that consists of one array. The receiver must release it.
void export_stream(std::shared_ptr<const arrow_column> from, ArrowArrayStream& out);

}  // namespace rankd
