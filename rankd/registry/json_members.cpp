// rankd/registry/json_members.cpp: commas, names and values.
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

}  // namespace rankd
