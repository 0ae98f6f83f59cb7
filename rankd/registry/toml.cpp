// rankd/registry/toml.cpp: the only file that includes toml++, which is slow to compile.
#include <rankd/registry/toml.hpp>
#include <rankd/registry/file.hpp>

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace rankd {
namespace {

using json = nlohmann::json;

/// toml++ bounds how deep values nest, but not the dots of a key, and destroys tables recursively.
constexpr std::ptrdiff_t most_dots_in_a_line = 100;

class converter {
 public:
  explicit converter(braid::diagnostics& problems) : problems_(problems) {}

  auto convert(const toml::node& node, const std::string& pointer) -> json {
    switch (node.type()) {
      case toml::node_type::table: return convert_table(*node.as_table(), pointer);
      case toml::node_type::array: return convert_array(*node.as_array(), pointer);
      case toml::node_type::string: return node.as_string()->get();
      case toml::node_type::integer: return node.as_integer()->get();
      case toml::node_type::floating_point: return node.as_floating_point()->get();
      case toml::node_type::boolean: return node.as_boolean()->get();
      default: break;
    }
    problems_.add({.code = "unsupported_value",
                   .pointer = pointer,
                   .message = "dates and times have no meaning here",
                   .hint = "write a string",
                   .node = {},
                   .source = {}});
    return nullptr;
  }

 private:
  auto convert_table(const toml::table& table, const std::string& pointer) -> json {
    json out = json::object();
    for (const auto& [key, value] : table) {
      const std::string name(key.str());
      out[name] = convert(value, braid::json_pointer(pointer, name));
    }
    return out;
  }

  auto convert_array(const toml::array& array, const std::string& pointer) -> json {
    json out = json::array();
    for (const toml::node& item : array) out.push_back(convert(item, braid::json_pointer(pointer, out.size())));
    return out;
  }

  braid::diagnostics& problems_;
};

auto refuse(std::string_view source_name, std::string code, std::string message) {
  return std::unexpected(braid::diagnostics({.code = std::move(code),
                                             .pointer = {},
                                             .message = std::move(message),
                                             .hint = {},
                                             .node = {},
                                             .source = std::string(source_name)}));
}

auto dots_bounded(std::string_view text) -> bool {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (std::ranges::count(line, '.') > most_dots_in_a_line) return false;
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return true;
}

}  // namespace

auto parse_toml(std::string_view text, std::string_view source_name) -> braid::checked<json> {
  if (!dots_bounded(text)) return refuse(source_name, "toml_too_deep", "a line has too many dots to be a sane key");
  const toml::parse_result result = toml::parse(text);
  if (!result) {
    const auto place = result.error().source().begin;
    return refuse(source_name, "toml_syntax",
                  "line " + std::to_string(place.line) + ", column " + std::to_string(place.column) + ": " +
                      std::string(result.error().description()));
  }
  braid::diagnostics problems;
  json out = converter(problems).convert(result.table(), "");
  if (problems.empty()) return out;
  problems.set_source(source_name);
  return std::unexpected(std::move(problems));
}

auto read_toml_file(const std::filesystem::path& file) -> braid::checked<json> {
  auto text = read_text_file(file);
  if (!text) return std::unexpected(std::move(text.error()));
  return parse_toml(*text, file.string());
}

}  // namespace rankd
