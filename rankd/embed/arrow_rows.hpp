// rankd/embed/arrow_rows.hpp: rows as columns of Arrow, handed out by the C data interface without a library of Arrow.
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

/// A column that owns its buffers, in the layout of Arrow.
struct arrow_column {
  enum class nulls : std::uint8_t { none, some };

  std::string name;
  std::string format;  ///< as in the C data interface
  nulls has = nulls::some;
  std::int64_t length = 0;
  std::int64_t null_count = 0;
  std::vector<std::string> buffers = {};  ///< the first is the bitmap of values; empty if there is no null
  std::vector<arrow_column> children = {};
};

/// Copies the active rows in their order: a struct of `id` and the columns of these keys that the rows have. A text
/// that is not UTF-8 makes its column one of bytes; a vector is a list of float32 of a fixed size.
auto arrow_columns(const row_set& rows, std::span<const key_entry* const> keys) -> arrow_column;

/// Writes the type of a column to `out`, which the receiver releases.
void export_schema(const arrow_column& from, ArrowSchema& out);

/// Hands out the buffers of a column, which live until the receiver has released `out` and all children that it moved
/// out of it. Nothing is copied.
void export_array(std::shared_ptr<const arrow_column> from, ArrowArray& out);

/// Writes a stream of one array, which the receiver releases.
void export_stream(std::shared_ptr<const arrow_column> from, ArrowArrayStream& out);

}  // namespace rankd
