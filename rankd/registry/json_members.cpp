// rankd/registry/json_members.cpp: appends the commas, names and values of JSON members.
#include <rankd/registry/json_members.hpp>

namespace rankd {

void append_json_name(std::string& out, std::string_view name) {
  if (!out.ends_with('{')) out += ',';
  append_json_string(out, name);
  out += ':';
}

void append_json_member(std::string& out, std::string_view name, std::string_view text) {
  append_json_name(out, name);
  append_json_string(out, text);
}

void append_json_member(std::string& out, std::string_view name, std::int64_t number) {
  append_json_name(out, name);
  append_json_number(out, number);
}

void append_json_unless_empty(std::string& out, std::string_view name, std::string_view text) {
  if (!text.empty()) append_json_member(out, name, text);
}

void append_json_flag(std::string& out, std::string_view name, bool value) {
  append_json_name(out, name);
  out += value ? "true" : "false";
}

void append_json_or_null(std::string& out, std::string_view name, const std::optional<std::string>& text) {
  append_json_name(out, name);
  if (text)
    append_json_string(out, *text);
  else
    out += "null";
}

void append_json_count(std::string& out, std::string_view name, std::uint64_t count) {
  append_json_name(out, name);
  out += std::to_string(count);
}

void append_json_number_or_null(std::string& out, std::string_view name, std::optional<double> number) {
  append_json_name(out, name);
  if (number)
    append_json_number(out, *number);
  else
    out += "null";
}

void append_json_scalar(std::string& out, const scalar& value) {
  if (const auto* const whole = std::get_if<std::int64_t>(&value))
    append_json_number(out, *whole);
  else if (const auto* const number = std::get_if<double>(&value))
    append_json_number(out, *number);
  else if (const auto* const text = std::get_if<std::string>(&value))
    append_json_string(out, *text);
  else if (const bool* const flag = std::get_if<bool>(&value))
    out += *flag ? "true" : "false";
  else
    out += "null";
}

}  // namespace rankd
