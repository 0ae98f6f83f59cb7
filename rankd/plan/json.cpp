// rankd/plan/json.cpp: parses JSON with limits, and checks the values while they are built.
#include <rankd/plan/json.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/registry/json_number.hpp>
#include <rankd/registry/names.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

using json = nlohmann::json;

constexpr std::size_t max_duplicates = 100;  // a document of nothing but duplicates must not cost a million diagnostics
constexpr int number_overflow = 406;         // nlohmann's id of the exception

auto make_diagnostic(std::string_view code, std::string pointer, std::string message) -> braid::diagnostic {
  return {.code = std::string(code),
          .pointer = std::move(pointer),
          .message = std::move(message),
          .hint = {},
          .node = {},
          .source = {}};
}

/// A text, and the number of the line at which the text begins in its source.
struct numbered_text {
  std::string_view text;
  std::uint64_t first_line = 1;
};

constexpr std::uint64_t no_lines = 0;  // the first line of bytes that are no text

/// Returns the location of the byte at `offset` for use in a message, such as "line 3, column 5: ". Columns are counted
/// in bytes. In a binary document, the location is only the offset.
auto find_place(numbered_text document, std::size_t offset) -> std::string {
  if (document.first_line == no_lines) return "byte " + std::to_string(offset) + ": ";
  const std::string_view before = document.text.substr(0, offset);
  const auto line = document.first_line + static_cast<std::uint64_t>(std::ranges::count(before, '\n'));
  const std::size_t start = before.rfind('\n');
  const std::size_t column = start == std::string_view::npos ? offset + 1 : offset - start;
  return "line " + std::to_string(line) + ", column " + std::to_string(column) + ": ";
}

/// Returns the part of a message of nlohmann::json that describes the error, truncated to 200 bytes.
auto find_reason(std::string_view message) -> std::string {
  constexpr std::size_t max_length = 200;
  const std::size_t start = message.find("syntax error");
  if (start != std::string_view::npos) message.remove_prefix(start);
  message = message.substr(0, max_length);
  return std::string(message.substr(0, utf8_prefix(message)));
}

/// Builds a value from the parser's events. A handler that returns false stops the parser.
class builder : public nlohmann::json_sax<json> {
 public:
  builder(numbered_text text, braid::diagnostics& problems) : text_(text), problems_(problems) {}

  builder(const builder&) = delete;
  auto operator=(const builder&) -> builder& = delete;
  ~builder() override { dismantle(root_); }

  enum class special_form : std::uint8_t { number, null };
  /// Replaces each placeholder number at a position in `specials` with the value that `specials` contains for this
  /// position, or with null.
  void replace(std::span<const special_number> specials, special_form form) {
    specials_ = specials;
    form_ = form;
  }
  void limit_memory(std::size_t bytes) { memory_left_ = bytes; }

  auto take() -> json { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add_number(value); }
  bool number_unsigned(std::uint64_t value) override { return add_number(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(json::binary_t& value) override { return add(json::binary(std::move(value))); }

  bool number_float(double value, const std::string& literal) override {
    // Accepts an integer beyond 64 bits only if it equals a float exactly. Code that later reads a float accepts this
    // value, and code that reads an integer refuses it.
    if (literal.find_first_of(".eE") == std::string::npos && !float_of_integer(literal))
      problems_.add(make_diagnostic(
          "number_out_of_range", pointer(),
          "the integer " + literal.substr(0, 40) + " does not fit into 64 bits, and no float has exactly this value"));
    return add_number(value);
  }

  bool start_object(std::size_t /*unknown*/) override { return open(json::object()); }
  bool start_array(std::size_t /*unknown*/) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    if (!take_memory(bytes_of_field + name.capacity())) return false;
    frame& top = open_.back();
    const auto [field, is_new] = top.container->get_ref<json::object_t&>().try_emplace(std::move(name));
    top.key = field->first;
    top.field = &field->second;
    if (is_new) return true;
    problems_.add(make_diagnostic("duplicate_field", pointer(), "the field " + quote_name(top.key) + " occurs twice"));
    return problems_.size() < max_duplicates;
  }

  bool parse_error(std::size_t position, const std::string& token, const nlohmann::detail::exception& error) override {
    if (error.id == number_overflow)
      problems_.add(make_diagnostic("number_out_of_range", pointer(),
                                    "the number " + token.substr(0, 40) + " is beyond the range of floats"));
    else
      problems_.add(make_diagnostic("json_syntax", "",
                                    find_place(text_, position == 0 ? 0 : position - 1) + find_reason(error.what())));
    return false;
  }

 protected:
  void report(std::string_view code, std::string message) {
    problems_.add(make_diagnostic(code, pointer(), std::move(message)));
  }

  template <typename Number>
  auto add_number(Number value) -> bool {
    if (!specials_.empty() && specials_.front().position == numbers_++) {
      const double special = specials_.front().value;
      specials_ = specials_.subspan(1);
      return form_ == special_form::null ? add(nullptr) : add(special);
    }
    return add(value);
  }

 private:
  struct frame {
    json* container;
    std::string_view key = {};  ///< of the field that is being read, in an object
    json* field = nullptr;      ///< the place of its value
  };

  auto place(json value) -> json* {
    if (open_.empty()) return &(root_ = std::move(value));
    frame& top = open_.back();
    if (top.container->is_object()) {
      if (!top.field->is_null()) dismantle(*top.field);  // of a field that occurs twice
      return &(*top.field = std::move(value));
    }
    top.container->push_back(std::move(value));
    return &top.container->back();
  }

  auto add(json value) -> bool {
    if (!take_memory(sizeof(json) + (value.is_string() ? value.get_ref<const std::string&>().capacity() : 0)))
      return false;
    place(std::move(value));
    return true;
  }

  auto take_memory(std::size_t bytes) -> bool {
    if (bytes <= memory_left_) {
      memory_left_ -= bytes;
      return true;
    }
    problems_.add(
        make_diagnostic("file_too_large", pointer(),
                        "the document needs more memory than is allowed; the limit is reached at this value"));
    return false;
  }

  auto open(json empty) -> bool {
    if (!take_memory(sizeof(json))) return false;
    if (open_.size() == max_json_depth) {
      problems_.add(make_diagnostic(
          "json_too_deep", "", "arrays and objects nest deeper than " + std::to_string(max_json_depth) + " levels"));
      return false;
    }
    open_.push_back({.container = place(std::move(empty))});
    return true;
  }

  auto close() -> bool {
    open_.pop_back();
    return true;
  }

  /// Returns the JSON pointer of the value that is read next.
  [[nodiscard]] auto pointer() const -> std::string {
    std::string out;
    for (const frame& level : open_) {
      const bool innermost = &level == &open_.back();
      if (level.container->is_object())
        out = braid::json_pointer(out, level.key);
      else
        out = braid::json_pointer(out, level.container->size() - (innermost ? 0 : 1));
    }
    return out;
  }

  static constexpr std::size_t bytes_of_field = 96;  // a node of the map, its name and what the allocator adds

  numbered_text text_;
  braid::diagnostics& problems_;
  std::span<const special_number> specials_;  ///< those that are still to come
  special_form form_ = special_form::number;
  std::size_t numbers_ = 0;  ///< seen until now, as long as special ones are to come
  std::size_t memory_left_ = std::numeric_limits<std::size_t>::max();
  json root_;
  std::vector<frame> open_;
};

/// Receives the events of the UBJSON parser, which does not check texts.
class ubjson_builder final : public builder {
 public:
  using builder::builder;

  bool string(std::string& value) override { return check(value) && builder::string(value); }
  bool key(std::string& name) override { return check(name) && builder::key(name); }
  bool number_float(double value, const std::string& /*literal*/) override { return add_number(value); }

 private:
  auto check(std::string_view text) -> bool {
    if (is_utf8(text)) return true;
    report("invalid_utf8", "a string or a member name is not UTF-8");
    return false;
  }
};

/// Reports why the text cannot be parsed at all.
void check_bytes(numbered_text document, std::size_t max_bytes, braid::diagnostics& problems) {
  const std::string_view text = document.text;
  if (text.size() > max_bytes) {
    problems.add(
        make_diagnostic("file_too_large", "", "the document has more than " + std::to_string(max_bytes) + " bytes"));
    return;
  }
  const std::size_t valid = utf8_prefix(text);
  if (valid != text.size())
    problems.add(make_diagnostic("invalid_utf8", "",
                                 find_place(document, valid) + "the bytes from this position on are not UTF-8"));
  // The parser treats a zero byte as the end of the text, and would ignore everything after it.
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos)
    problems.add(make_diagnostic("json_syntax", "", find_place(document, zero) + "a zero byte"));
}

}  // namespace

/// Destroys the innermost parts first, so that each destroyed value has no parts left. The destructor of such a value
/// does not allocate memory.
void dismantle(json& value) noexcept {
  std::array<json*, max_json_depth + 1> open;  // NOLINT(*-member-init): `depth` of it are in use
  open[0] = &value;
  std::size_t depth = 1;
  const auto find_last = [](json& parent) -> json* {
    if (parent.empty()) return nullptr;
    if (auto* array = parent.get_ptr<json::array_t*>()) return &array->back();
    if (auto* object = parent.get_ptr<json::object_t*>()) return &object->begin()->second;
    return nullptr;
  };
  const auto remove_last = [](json& from) {
    if (auto* array = from.get_ptr<json::array_t*>())
      array->pop_back();
    else
      from.get_ref<json::object_t&>().erase(from.get_ref<json::object_t&>().begin());
  };
  while (depth > 0) {
    json& top = *open[depth - 1];
    json* const last = find_last(top);
    if (last == nullptr)
      --depth;
    else if (find_last(*last) != nullptr && depth < open.size())
      open[depth++] = last;
    else
      remove_last(top);
  }
  value = nullptr;
}

auto parse_json(std::string_view text, std::string_view source_name, std::uint64_t first_line) -> braid::checked<json> {
  braid::diagnostics problems;
  check_bytes({text, first_line}, largest_document, problems);
  builder out({text, first_line}, problems);
  if (problems.empty()) json::sax_parse(text, &out);
  if (problems.empty()) return out.take();
  problems.set_source(source_name);
  return std::unexpected(std::move(problems));
}

auto parse_json_with_nan(std::string_view text, std::string_view source_name, std::uint64_t first_line)
    -> braid::checked<json> {
  auto read = parse_json(text, source_name, first_line);
  if (read || text.size() > largest_document || !text.contains("NaN")) return read;
  const plain_json plain = without_special_numbers(text);
  if (!std::ranges::all_of(plain.specials, [](const special_number& each) { return std::isnan(each.value); }))
    return read;
  braid::diagnostics problems;
  check_bytes({text, first_line}, largest_document, problems);
  builder out({text, first_line}, problems);
  out.replace(plain.specials, builder::special_form::null);
  if (problems.empty()) json::sax_parse(plain.text, &out);
  if (problems.empty()) return out.take();
  problems.set_source(source_name);
  return std::unexpected(std::move(problems));
}

auto parse_foreign_json(std::string_view text, std::string_view source_name, const foreign_json& limits)
    -> braid::checked<json> {
  braid::diagnostics problems;
  check_bytes({text}, limits.max_bytes, problems);
  if (problems.empty()) {
    builder out({text}, problems);
    out.limit_memory(limits.max_memory);
    if (text.contains("NaN") || text.contains("Infinity")) {
      const plain_json plain = without_special_numbers(text);
      out.replace(plain.specials, builder::special_form::number);
      json::sax_parse(plain.text, &out);
    } else {
      json::sax_parse(text, &out);
    }
    if (problems.empty()) return out.take();
  }
  problems.set_source(source_name);
  return std::unexpected(std::move(problems));
}

auto is_ubjson(std::string_view bytes) noexcept -> bool {
  return bytes.size() > 1 && bytes[0] == '{' && std::string_view("iUIlL$#").contains(bytes[1]);
}

auto parse_ubjson(std::string_view bytes, std::string_view source_name, const foreign_json& limits)
    -> braid::checked<json> {
  braid::diagnostics problems;
  ubjson_builder out({bytes, no_lines}, problems);
  out.limit_memory(limits.max_memory);
  if (bytes.size() > limits.max_bytes)
    problems.add(make_diagnostic("file_too_large", "",
                                 "the document has more than " + std::to_string(limits.max_bytes) + " bytes"));
  else
    json::sax_parse(bytes, &out, json::input_format_t::ubjson);
  if (problems.empty()) return out.take();
  problems.set_source(source_name);
  return std::unexpected(std::move(problems));
}

auto read_json_file(const std::filesystem::path& file) -> braid::checked<json> {
  const auto text = read_text_file(file);
  if (!text) return std::unexpected(text.error());
  return parse_json(*text, file.string());
}

}  // namespace rankd
