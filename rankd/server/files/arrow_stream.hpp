// rankd/server/files/arrow_stream.hpp: captured rows as messages of an Arrow IPC stream: a schema, and record batches.
#pragma once

#include <rankd/server/sinks/captured_copy.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// The end of a stream.
inline constexpr std::string_view arrow_end{"\xff\xff\xff\xff\0\0\0\0", 8};

/// Returns the schema of rows with such columns, which begins a stream: the fields of `capture_line` by their names,
/// and `rows` as a struct of lists, one for each key.
[[nodiscard]] auto arrow_schema(std::span<const captured_key> keys) -> std::string;

/// Returns a batch with a row for each of `sets`. If a set does not have a column, or has it with another type, its
/// list is null. Requires less than 2 GiB.
[[nodiscard]] auto arrow_batch(std::span<const captured_key> keys, std::span<const captured_copy> sets) -> std::string;

/// Whether rows fit into columns.
enum class column_fit : std::uint8_t {
  same,   ///< there is a column for each of the rows' columns
  wider,  ///< some columns are missing, or accept only text; rows so far fit into the new `keys`
  other,  ///< the type of a column changes, so that rows so far do not fit
};

/// Changes columns so that rows fit into them. They stay ascending by key id.
auto fit_columns(std::vector<captured_key>& keys, const captured_copy& rows) -> column_fit;

}  // namespace rankd
