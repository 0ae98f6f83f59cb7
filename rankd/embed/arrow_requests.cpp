// rankd/embed/arrow_requests.cpp: reads values from Arrow arrays through the C data interface, and writes them as JSON.
#include <rankd/embed/arrow_requests.hpp>

#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/json_text.hpp>
#include <rankd/registry/names.hpp>

#include <cmath>
#include <cstring>
#include <string_view>

namespace rankd {
namespace {

using std::string_view;

void append_value(std::string& out, const ArrowSchema& type, const ArrowArray& from, std::int64_t row);

/// Reads a value from a buffer that need not be aligned.
template <typename T>
auto value_at(const void* buffer, std::int64_t index) -> T {
  T value;
  std::memcpy(&value, static_cast<const char*>(buffer) + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

auto bit_at(const void* buffer, std::int64_t index) -> bool {
  return ((value_at<std::uint8_t>(buffer, index / 8) >> (index % 8)) & 1U) != 0;
}

/// Returns the name of a column. In Arrow, a null pointer may stand for an empty name.
auto name_of(const ArrowSchema& type) -> string_view { return type.name != nullptr ? type.name : ""; }

/// Calls `append` with the value at the index `at` of an array whose type is an integer type.
template <typename Append>
void with_integer(const ArrowSchema& type, const ArrowArray& from, std::int64_t index, Append append) {
  const void* const values = from.buffers[1];
  switch (type.format[0]) {
    case 'c': return append(std::int64_t{value_at<std::int8_t>(values, index)});
    case 'C': return append(std::int64_t{value_at<std::uint8_t>(values, index)});
    case 's': return append(std::int64_t{value_at<std::int16_t>(values, index)});
    case 'S': return append(std::int64_t{value_at<std::uint16_t>(values, index)});
    case 'i': return append(std::int64_t{value_at<std::int32_t>(values, index)});
    case 'I': return append(std::int64_t{value_at<std::uint32_t>(values, index)});
    case 'L': return append(value_at<std::uint64_t>(values, index));
    default: return append(value_at<std::int64_t>(values, index));
  }
}

/// Returns whether a value is null, or is a dictionary code that stands for null.
auto is_null(const ArrowSchema& type, const ArrowArray& from, std::int64_t row) -> bool {
  if (string_view(type.format) == "n") return true;
  if (from.n_buffers > 0 && from.buffers[0] != nullptr && !bit_at(from.buffers[0], from.offset + row)) return true;
  bool is_coded_null = false;
  if (type.dictionary != nullptr)
    with_integer(type, from, from.offset + row, [&](auto code) {
      is_coded_null = is_null(*type.dictionary, *from.dictionary, static_cast<std::int64_t>(code));
    });
  return is_coded_null;
}

/// Returns the JSON pointer to a member with this name.
auto pointer_part(string_view name) -> std::string { return braid::json_pointer("", name); }

/// Returns whether values of this type can be written as JSON.
auto has_json(const ArrowSchema& type) -> bool {
  if (type.dictionary != nullptr) return has_json(*type.dictionary);
  const string_view format = type.format;
  for (const char* each : {"n", "b", "c", "C", "s", "S", "i", "I", "l", "L", "f", "g", "u", "U", "vu"})
    if (format == each) return true;
  if (format != "+l" && format != "+L" && format != "+s" && !format.starts_with("+w:")) return false;
  for (std::int64_t at = 0; at < type.n_children; ++at)
    if (!has_json(*type.children[at])) return false;
  return true;
}

/// Appends a number. The engine reads NaN as null, and refuses a request with Infinity.
void append_float(std::string& out, double value) {
  if (std::isfinite(value))
    append_json_number(out, value);
  else
    out += std::isnan(value) ? "NaN" : "Infinity";
}

template <typename Offset>
auto text_between(const ArrowArray& from, std::int64_t index) -> string_view {
  const auto begin = value_at<Offset>(from.buffers[1], index);
  const auto end = value_at<Offset>(from.buffers[1], index + 1);
  return {static_cast<const char*>(from.buffers[2]) + begin, static_cast<std::size_t>(end - begin)};
}

/// Returns a string from an array of Arrow's string view type. The view of a short string consists of the length (4
/// bytes) and the string itself. The view of a long string consists of the length, the first bytes, the number of a
/// buffer, and the position of the string in this buffer.
auto viewed_text(const ArrowArray& from, std::int64_t index) -> string_view {
  constexpr std::int32_t max_inside = 12;
  const char* const view = static_cast<const char*>(from.buffers[1]) + index * 16;
  const auto length = value_at<std::int32_t>(view, 0);
  if (length <= max_inside) return {view + 4, static_cast<std::size_t>(length)};
  const auto* const data = static_cast<const char*>(from.buffers[2 + value_at<std::int32_t>(view, 2)]);
  return {data + value_at<std::int32_t>(view, 3), static_cast<std::size_t>(length)};
}

auto text_of(const ArrowSchema& type, const ArrowArray& from, std::int64_t row) -> string_view {
  const std::int64_t at = from.offset + row;
  switch (type.format[0]) {
    case 'u': return text_between<std::int32_t>(from, at);
    case 'U': return text_between<std::int64_t>(from, at);
    default: return viewed_text(from, at);
  }
}

void append_list(std::string& out, const ArrowSchema& type, const ArrowArray& from, std::int64_t row) {
  const std::int64_t at = from.offset + row;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  if (type.format[1] == 'l') {
    begin = value_at<std::int32_t>(from.buffers[1], at);
    end = value_at<std::int32_t>(from.buffers[1], at + 1);
  } else if (type.format[1] == 'L') {
    begin = value_at<std::int64_t>(from.buffers[1], at);
    end = value_at<std::int64_t>(from.buffers[1], at + 1);
  } else {
    const std::int64_t size = std::stoll(type.format + 3);  // after `+w:`
    begin = at * size;
    end = begin + size;
  }
  out += '[';
  for (std::int64_t item = begin; item < end; ++item) {
    if (item != begin) out += ',';
    append_value(out, *type.children[0], *from.children[0], item);
  }
  out += ']';
}

/// Appends a JSON object with the members that are not null, except the member `without`.
void append_struct(std::string& out, const ArrowSchema& type, const ArrowArray& from, std::int64_t row,
                   string_view without = {}) {
  const std::int64_t at = from.offset + row;  // children do not have the offset of their parent
  out += '{';
  for (std::int64_t member = 0; member < type.n_children; ++member) {
    const ArrowSchema& of = *type.children[member];
    if (is_null(of, *from.children[member], at) || (!without.empty() && without == name_of(of))) continue;
    if (out.back() != '{') out += ',';
    append_json_string(out, name_of(of));
    out += ':';
    append_value(out, of, *from.children[member], at);
  }
  out += '}';
}

void append_value(std::string& out, const ArrowSchema& type, const ArrowArray& from, std::int64_t row) {
  if (is_null(type, from, row)) {
    out += "null";
    return;
  }
  const std::int64_t at = from.offset + row;
  if (type.dictionary != nullptr) {
    with_integer(type, from, at, [&](auto code) {
      append_value(out, *type.dictionary, *from.dictionary, static_cast<std::int64_t>(code));
    });
    return;
  }
  switch (type.format[0]) {
    case 'b': out += bit_at(from.buffers[1], at) ? "true" : "false"; return;
    case 'f': append_float(out, double{value_at<float>(from.buffers[1], at)}); return;
    case 'g': append_float(out, value_at<double>(from.buffers[1], at)); return;
    case 'u':
    case 'U':
    case 'v': append_json_string(out, text_of(type, from, row)); return;
    case '+':
      if (type.format[1] == 's')
        append_struct(out, type, from, row);
      else
        append_list(out, type, from, row);
      return;
    default: with_integer(type, from, at, [&](auto value) { out += std::to_string(value); });
  }
}

/// Returns the index of the column with this name, or -1.
auto find_column(const ArrowSchema& type, string_view name) -> std::int64_t {
  for (std::int64_t at = 0; at < type.n_children; ++at)
    if (name == name_of(*type.children[at])) return at;
  return -1;
}

auto is_text(const ArrowSchema& type) -> bool {
  const string_view format = type.format;
  return type.dictionary == nullptr && (format == "u" || format == "U" || format == "vu");
}

auto unsupported(const ArrowSchema& column, string_view expected) -> braid::diagnostics {
  return braid::diagnostics({.code = "unsupported_type",
                             .pointer = pointer_part(name_of(column)),
                             .message = "column " + quote_name(name_of(column)) + " has the Arrow type " +
                                        quote_name(column.format) + "; expected " + std::string(expected),
                             .hint = "convert or remove this column",
                             .node = {},
                             .source = {}});
}

}  // namespace

auto check_request_type(const ArrowSchema& type) -> braid::checked<void> {
  if (string_view(type.format) != "+s")
    return refused(
        "unsupported_type", "the requests have the Arrow type " + quote_name(type.format) + "; expected a table",
        "create a table with a column `request` of JSON texts, or with one column for each member of a request");
  braid::diagnostics problems;
  const std::int64_t lines = find_column(type, line_column);
  const std::int64_t whole = find_column(type, request_column);
  if (lines >= 0 && string_view(type.children[lines]->format) != "l")
    problems.append(unsupported(*type.children[lines], "int64"));
  if (whole >= 0 && !is_text(*type.children[whole]))
    problems.append(unsupported(*type.children[whole], "requests as texts"));
  for (std::int64_t at = 0; whole < 0 && at < type.n_children; ++at)
    if (at != lines && !has_json(*type.children[at]))
      problems.append(unsupported(*type.children[at],
                                  "integers, float32, float64, booleans, texts, or lists and structs of these"));
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return {};
}

auto request_text(const ArrowSchema& type, const ArrowArray& rows, std::int64_t row) -> std::string {
  const std::int64_t whole = find_column(type, request_column);
  std::string out;
  if (is_null(type, rows, row)) return "null";  // which is not a request
  if (whole < 0) {
    append_struct(out, type, rows, row, line_column);
    return out;
  }
  const ArrowArray& texts = *rows.children[whole];
  const std::int64_t at = rows.offset + row;
  if (is_null(*type.children[whole], texts, at)) return "null";
  return std::string(text_of(*type.children[whole], texts, at));
}

auto request_line(const ArrowSchema& type, const ArrowArray& rows, std::int64_t row) -> std::optional<std::int64_t> {
  const std::int64_t lines = find_column(type, line_column);
  const std::int64_t at = rows.offset + row;
  if (lines < 0 || is_null(*type.children[lines], *rows.children[lines], at)) return std::nullopt;
  const auto line = value_at<std::int64_t>(rows.children[lines]->buffers[1], rows.children[lines]->offset + at);
  return line < 1 ? std::nullopt : std::optional(line);
}

}  // namespace rankd
