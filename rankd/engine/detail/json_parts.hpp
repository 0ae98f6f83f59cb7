// rankd/engine/detail/json_parts.hpp: pieces of answers as JSON, appended to a text.
#pragma once

#include <rankd/registry/json_members.hpp>
#include <rankd/rows/column.hpp>

#include <braid/base/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rankd::detail {

/// Appends `"name":"text"`.
void append_field(std::string& out, std::string_view name, std::string_view text);
/// Appends `"name":count`.
void append_count(std::string& out, std::string_view name, std::uint64_t count);
/// Appends `"name":` and microseconds.
void append_microseconds(std::string& out, std::string_view name, braid::duration span);
/// Appends one value of a column. Requires that it is not null.
void append_value(std::string& out, const column& values, std::size_t row);

/// Appends `"name":[…]` with what `append_item(out, item)` appends for each item.
template <typename Items, typename Fn>
void append_list(std::string& out, std::string_view name, const Items& items, Fn append_item) {
  out += '"';
  out += name;
  out += "\":";
  append_json_list(out, items, append_item);
}

}  // namespace rankd::detail
