// rankd/registry/row_id.cpp: checks and formats ids.
#include <rankd/registry/row_id.hpp>

#include <rankd/registry/json_text.hpp>
#include <rankd/registry/names.hpp>

namespace rankd {

auto is_text_id(std::string_view text) noexcept -> bool {
  return !text.empty() && text.size() <= max_id_bytes && text.find('\0') == std::string_view::npos && is_utf8(text);
}

auto id_sentence(value_type type) noexcept -> std::string_view {
  static_assert(max_id_bytes == 128, "the message below contains the maximum length");
  return type == value_type::string ? "a string of 1 to 128 bytes without NUL"
                                    : "an integer of 64 bits, or a string of its digits";
}

auto to_text(const row_id& id) -> std::string {
  if (const auto* number = std::get_if<std::int64_t>(&id)) return std::to_string(*number);
  return std::get<std::string>(id);
}

void append_json_id(std::string& out, const row_id& id) {
  if (const auto* number = std::get_if<std::int64_t>(&id)) return append_json_number(out, *number);
  append_json_string(out, std::get<std::string>(id));
}

}  // namespace rankd
