// rankd/engine/requests/json_parts.cpp: writes names and values as JSON.
#include <rankd/engine/detail/json_parts.hpp>

#include <rankd/registry/json_text.hpp>
#include <rankd/registry/vector_bytes.hpp>

#include <chrono>

namespace rankd::detail {

void append_microseconds(std::string& out, std::string_view name, braid::duration span) {
  append_json_name(out, name);
  append_json_number(out, std::chrono::duration<double, std::micro>(span).count());
}

void append_value(std::string& out, const column& values, std::size_t row) {
  const auto* text = values.strings();
  if (text != nullptr && text->dimensions != 0)
    append_vector_json(out, (*text)[row]);
  else if (text != nullptr)
    append_json_bytes(out, (*text)[row]);
  else if (const auto* whole = values.integers())
    append_json_number(out, (*whole)[row]);
  else if (const auto* flags = values.booleans())
    out += (*flags)[row] ? "true" : "false";
  else
    append_json_number(out, (*values.floats())[row]);
}

}  // namespace rankd::detail
