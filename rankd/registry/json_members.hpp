// rankd/registry/json_members.hpp: members of JSON objects, appended one after the other.
#pragma once

#include <rankd/registry/json_text.hpp>
#include <rankd/registry/value.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace rankd {

/// Appends `"name":`, after a comma unless it is the first member of its object.
void append_json_name(std::string& out, std::string_view name);

/// Appends a member whose value is a string or a number.
void append_json_member(std::string& out, std::string_view name, std::string_view text);
void append_json_member(std::string& out, std::string_view name, std::int64_t number);

/// Appends the value of a key or a param.
void append_json_scalar(std::string& out, const scalar& value);

/// Appends a member whose value is a string, unless the string is empty.
void append_json_unless_empty(std::string& out, std::string_view name, std::string_view text);

/// Appends a list with what `append(out, item)` appends for each of the items.
template <typename Items, typename Append>
void append_json_list(std::string& out, const Items& items, Append append) {
  out += '[';
  bool is_first = true;
  for (const auto& each : items) {
    if (!is_first) out += ',';
    is_first = false;
    append(out, each);
  }
  out += ']';
}

/// Appends a list of strings.
template <typename Texts>
void append_json_strings(std::string& out, const Texts& texts) {
  append_json_list(out, texts, [](std::string& to, std::string_view text) { append_json_string(to, text); });
}

}  // namespace rankd
