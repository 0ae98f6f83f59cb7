// rankd/server/metrics/exposition.cpp: writes metric names, escaped labels and numbers.
#include <rankd/server/metrics/exposition.hpp>

#include <array>
#include <charconv>

namespace rankd {
namespace {

auto name_of(exposition::kind type) -> std::string_view {
  switch (type) {
    case exposition::kind::counter: return "counter";
    case exposition::kind::gauge: return "gauge";
    case exposition::kind::histogram: return "histogram";
  }
  return "untyped";
}

void append_label_value(std::string& out, std::string_view value) {
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
}

void append_value(std::string& out, double value) {
  std::array<char, 32> room{};
  const auto end = std::to_chars(room.data(), room.data() + room.size(), value);
  out.append(room.data(), end.ptr);
}

}  // namespace

void exposition::family(std::string_view name, kind type, std::string_view help) {
  family_ = name;
  ((((text_ += "# HELP ") += family_) += ' ') += help) += '\n';
  ((((text_ += "# TYPE ") += family_) += ' ') += name_of(type)) += '\n';
}

void exposition::sample(std::string_view suffix, std::span<const label> labels, double value) {
  (text_ += family_) += suffix;
  char separator = '{';
  for (const label& each : labels) {
    ((text_ += separator) += each.name) += "=\"";
    append_label_value(text_, each.value);
    text_ += '"';
    separator = ',';
  }
  text_ += labels.empty() ? " " : "} ";
  append_value(text_, value);
  text_ += '\n';
}

}  // namespace rankd
