// rankd/embed/arrow_requests.hpp: the rows of a table of Arrow as requests.
#pragma once

#include <rankd/embed/arrow_abi.hpp>

#include <braid/base/error.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace rankd {

/// The name of the column whose texts are whole requests.
inline constexpr const char* request_column = "request";

/// The name of the column of numbers of lines, from which the ids of requests without an id are derived.
inline constexpr const char* line_column = "line";

/// Checks that each row of a table with this type can be written as a request. Errors: unsupported_type for a type that
/// JSON does not have, and for lines that are not int64, with the column as the pointer; a diagnostic for each column.
auto check_request_type(const ArrowSchema& type) -> braid::checked<void>;

/// Returns the request of a row: the text of the column `request` if there is one, otherwise an object of the values of
/// all columns but `line` that are not null, by their names. Whether its members are right is for `parse_request` to
/// say. Requires a type that was checked, an array of this type, and a row below its length.
auto request_text(const ArrowSchema& type, const ArrowArray& rows, std::int64_t row) -> std::string;

/// Returns the number in the column `line`; nothing without this column, or for a number below 1. Requires the same.
auto request_line(const ArrowSchema& type, const ArrowArray& rows, std::int64_t row) -> std::optional<std::int64_t>;

}  // namespace rankd
