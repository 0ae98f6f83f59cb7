// rankd/embed/arrow_requests.hpp: converts the rows of an Arrow table to requests.
#pragma once

#include <rankd/embed/arrow_abi.hpp>

#include <braid/base/error.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace rankd {

/// The name of the column that contains complete requests as texts.
inline constexpr const char* request_column = "request";

/// The name of the column that contains line numbers. If a request has no id, its id is derived from its line number.
inline constexpr const char* line_column = "line";

/// Checks that each row of a table with this type can be converted to a request. Errors: unsupported_type for each
/// column whose type JSON does not have, and for a column `line` that is not int64. The pointer of the diagnostic names
/// the column.
auto check_request_type(const ArrowSchema& type) -> braid::checked<void>;

/// Returns the request of a row: the text of the column `request` if the table has it. Otherwise, returns an object
/// with the values of all columns that are not null, except `line`. `parse_request` checks the members. Requires a type
/// without errors in `check_request_type`, an array of this type, and a row number below the array's length.
auto request_text(const ArrowSchema& type, const ArrowArray& rows, std::int64_t row) -> std::string;

/// Returns a row's number in the column `line`. Returns nothing if there is no such column or if the number is below 1.
/// Has the same requirements as `request_text`.
auto request_line(const ArrowSchema& type, const ArrowArray& rows, std::int64_t row) -> std::optional<std::int64_t>;

}  // namespace rankd
