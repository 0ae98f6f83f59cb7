// rankd/registry/json_members.hpp: functions that append members of JSON objects to a text.
#pragma once

#include <rankd/registry/json_text.hpp>
#include <rankd/registry/value.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace rankd {

/// Appends `"name":`. Writes a comma before it, unless it is the first member of its object.
void append_json_name(std::string& out, std::string_view name);

/// Appends a member whose value is a string or a number.
void append_json_member(std::string& out, std::string_view name, std::string_view text);
void append_json_member(std::string& out, std::string_view name, std::int64_t number);

/// Appends a member whose value is a count.
void append_json_count(std::string& out, std::string_view name, std::uint64_t count);

/// Appends a member whose value is a number, possibly with a fraction, or null.
void append_json_number_or_null(std::string& out, std::string_view name, std::optional<double> number);

/// Appends a member that is true or false.
void append_json_flag(std::string& out, std::string_view name, bool value);

/// Appends a member whose value is a string or null.
void append_json_or_null(std::string& out, std::string_view name, const std::optional<std::string>& text);

/// Appends the value of a key or a param.
void append_json_scalar(std::string& out, const scalar& value);

/// Appends a member whose value is a string, unless the string is empty.
void append_json_unless_empty(std::string& out, std::string_view name, std::string_view text);

/// Appends a list. `append(out, item)` appends each item.
template <typename Items, typename Append>
void append_json_list(std::string& out, Items&& items, Append append) {
  out += '[';
  bool is_first = true;
  for (auto&& each : items) {
    if (!is_first) out += ',';
    is_first = false;
    append(out, each);
  }
  out += ']';
}

/// Appends a member whose value is a list.
template <typename Items, typename Append>
void append_json_list(std::string& out, std::string_view name, Items&& items, Append append) {
  append_json_name(out, name);
  append_json_list(out, std::forward<Items>(items), append);
}

/// Appends a list of strings.
template <typename Texts>
void append_json_strings(std::string& out, Texts&& texts) {
  append_json_list(out, std::forward<Texts>(texts),
                   [](std::string& to, std::string_view text) { append_json_string(to, text); });
}

}  // namespace rankd
