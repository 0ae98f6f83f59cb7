// rankd/engine/detail/json_parts.hpp: functions that append parts of an answer to a JSON text.
#pragma once

#include <rankd/registry/json_members.hpp>
#include <rankd/rows/column.hpp>

#include <braid/base/clock.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace rankd::detail {

/// Appends a member with a duration in microseconds.
void append_microseconds(std::string& out, std::string_view name, braid::duration span);
/// Appends one value of a column. Requires a value that is not null.
void append_value(std::string& out, const column& values, std::size_t row);

}  // namespace rankd::detail
