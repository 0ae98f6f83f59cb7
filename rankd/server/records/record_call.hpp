// rankd/server/records/record_call.hpp: parses the lines of a call that changes records.
#pragma once

#include <rankd/store/vector_lengths.hpp>

#include <braid/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// The change in one line of a call: a new record, or the deletion of a key or of fields.
struct record_change {
  std::string key;
  std::vector<std::byte> bytes;     ///< the bytes of the record; empty if the line deletes something
  std::vector<std::string> fields;  ///< the fields to delete, sorted; empty: the whole key is deleted
  std::uint32_t line = 0;
};

/// Parses all lines of a call. Each key may occur only once, and vectors must have the given lengths.
/// Errors: those of record_parser for each line, duplicate_key, too_many_diagnostics, empty_body.
auto parse_record_call(std::string_view text, const vector_lengths& vectors)
    -> braid::checked<std::vector<record_change>>;

}  // namespace rankd
