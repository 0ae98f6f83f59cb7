// rankd/engine/detail/json_parts.hpp: functions that append parts of an answer to a JSON text.
#pragma once

#include <rankd/registry/json_members.hpp>
#include <rankd/rows/column.hpp>

#include <braid/base/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rankd::detail {

/// Appends a member with a string value: `"name":"text"`.
void append_field(std::string& out, std::string_view name, std::string_view text);
/// Appends a member with an integer value: `"name":count`.
void append_count(std::string& out, std::string_view name, std::uint64_t count);
/// Appends a member with a duration in microseconds.
void append_microseconds(std::string& out, std::string_view name, braid::duration span);
/// Appends one value of a column. Requires a value that is not null.
void append_value(std::string& out, const column& values, std::size_t row);

/// Appends a member with an array, `"name":[…]`. `append_item(out, item)` appends each item.
template <typename Items, typename Fn>
void append_list(std::string& out, std::string_view name, const Items& items, Fn append_item) {
  out += '"';
  out += name;
  out += "\":";
  append_json_list(out, items, append_item);
}

}  // namespace rankd::detail
