// rankd/server/files/arrow_stream.hpp: encodes captured rows as messages of an Arrow IPC stream: a schema, and record
// batches.
#pragma once

#include <rankd/server/sinks/captured_copy.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// The marker at the end of a stream.
inline constexpr std::string_view arrow_end{"\xff\xff\xff\xff\0\0\0\0", 8};

/// Returns the schema for rows with these columns. A stream begins with the schema. The fields have the same names as
/// those of `capture_line`. The field `rows` is a struct with a list for each key.
[[nodiscard]] auto arrow_schema(std::span<const captured_key> keys) -> std::string;

/// Returns a batch with a row for each of `sets`. The list of a column is null if the set lacks this column, or if the
/// column has another type in the set. Requires that the batch is smaller than 2 GiB.
[[nodiscard]] auto arrow_batch(std::span<const captured_key> keys, std::span<const captured_copy> sets) -> std::string;

/// States how rows fit into existing columns.
enum class column_fit : std::uint8_t {
  same,   ///< there is a column for each of the rows' columns
  wider,  ///< some columns are missing, or must also accept text; earlier rows fit into the new `keys`
  other,  ///< the type of a column changes, so earlier rows do not fit
};

/// Adds, widens or replaces columns so that the given rows fit into the columns. The columns stay sorted by key id.
auto fit_columns(std::vector<captured_key>& keys, const captured_copy& rows) -> column_fit;

}  // namespace rankd
