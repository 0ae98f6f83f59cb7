// rankd/registry/payload_rules.cpp: compiles schemas, and refuses everything that is not supported.
#include <rankd/registry/payload_rules.hpp>

#include <rankd/registry/detail/payload_rule.hpp>
#include <rankd/registry/digest.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/object_reader.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace rankd {
namespace {

using json = nlohmann::json;
using detail::payload_rule;

constexpr std::string_view fault = "bad_payload_schema";

/// Reads one schema and the schemas inside it. `depth` is the nesting depth, starting at 1.
class schema_reader {
 public:
  schema_reader(const json& schema, std::string pointer, std::size_t depth, braid::diagnostics& problems)
      : reader_(schema, std::move(pointer), problems), depth_(depth), problems_(problems) {}

  auto read() -> payload_rule::child;

 private:
  void read_types();
  void read_allowed();
  void read_properties();
  void read_required();
  void read_others();
  void read_pattern();
  auto read_sizes(std::string_view min, std::string_view max) -> detail::size_bounds;
  auto read_bound(std::string_view field) -> std::optional<detail::number_bound>;
  auto inner(const json& schema, std::string pointer) -> payload_rule::child;
  void report(std::string_view field, std::string message, std::string hint = {}) {
    reader_.report(field, fault, std::move(message), std::move(hint));
  }

  object_reader reader_;
  std::size_t depth_;
  braid::diagnostics& problems_;
  payload_rule out_;
};

auto schema_reader::read() -> payload_rule::child {
  reader_.text("title", presence::optional);
  reader_.text("description", presence::optional);
  read_types();
  read_allowed();
  read_properties();
  read_required();
  read_others();
  if (const json* items = reader_.object("items", presence::optional))
    out_.items = inner(*items, reader_.pointer_of("items"));
  out_.item_count = read_sizes("minItems", "maxItems");
  out_.length = read_sizes("minLength", "maxLength");
  out_.minimum = read_bound("minimum");
  out_.maximum = read_bound("maximum");
  out_.above = read_bound("exclusiveMinimum");
  out_.below = read_bound("exclusiveMaximum");
  read_pattern();
  reader_.refuse_unknown_fields();
  return std::make_unique<const payload_rule>(std::move(out_));
}

auto schema_reader::inner(const json& schema, std::string pointer) -> payload_rule::child {
  if (depth_ < payload_rules::max_depth) return schema_reader(schema, std::move(pointer), depth_ + 1, problems_).read();
  problems_.add({.code = std::string(fault),
                 .pointer = std::move(pointer),
                 .message = "schemas nest deeper than " + std::to_string(payload_rules::max_depth) + " levels",
                 .hint = {},
                 .node = {},
                 .source = {}});
  return nullptr;
}

void schema_reader::read_types() {
  const json* value = reader_.value("type", presence::optional);
  if (value == nullptr) return;
  const json list = value->is_array() ? *value : json::array({*value});
  if (list.empty()) report("type", "a list of types must name at least one type");
  out_.types = 0;
  const std::vector<std::string_view> names(detail::payload_type_names.begin(), detail::payload_type_names.end());
  for (const json& item : list) {
    const std::string name = item.is_string() ? item.get<std::string>() : std::string();
    const auto at = std::ranges::find(names, name);
    if (at == names.end())
      report("type", (item.is_string() ? quote_name(name) : described(item)) + " is not a type",
             braid::did_you_mean(name, names));
    else
      out_.types |= static_cast<detail::payload_types>(1U << static_cast<unsigned>(at - names.begin()));
  }
}

void schema_reader::read_allowed() {
  const json* list = reader_.array("enum", presence::optional);
  const json* only = reader_.value("const", presence::optional);
  if (list != nullptr && only != nullptr) report("const", "`enum` and `const` cannot be combined");
  if (list != nullptr && list->empty()) report("enum", "`enum` must list at least one value");
  if (list == nullptr && only == nullptr) return;
  out_.allowed.emplace();
  if (only != nullptr) out_.allowed->push_back(canonical_json(*only));
  if (list != nullptr)
    for (const json& item : *list) out_.allowed->push_back(canonical_json(item));
  std::ranges::sort(*out_.allowed);
}

void schema_reader::read_properties() {
  const json* properties = reader_.object("properties", presence::optional);
  if (properties == nullptr) return;
  const std::string parent = reader_.pointer_of("properties");
  for (const auto& [name, schema] : properties->items())
    out_.properties.emplace(name, inner(schema, braid::json_pointer(parent, name)));
}

void schema_reader::read_required() {
  const json* list = reader_.array("required", presence::optional);
  if (list == nullptr) return;
  for (const json& item : *list) {
    const std::string name = item.is_string() ? item.get<std::string>() : std::string();
    if (!item.is_string())
      report("required", "`required` must list names, not " + described(item));
    else if (std::ranges::find(out_.required, name) != out_.required.end())
      report("required", quote_name(name) + " is required twice");
    else
      out_.required.push_back(name);
  }
}

void schema_reader::read_others() {
  const json* others = reader_.value("additionalProperties", presence::optional);
  if (others == nullptr) return;
  if (others->is_object())
    out_.others = inner(*others, reader_.pointer_of("additionalProperties"));
  else if (others->is_boolean())
    out_.closed = !others->get<bool>();
  else
    report("additionalProperties", "`additionalProperties` must be true, false or a schema");
}

auto schema_reader::read_sizes(std::string_view min, std::string_view max) -> detail::size_bounds {
  constexpr int_range sizes{.min = 0, .max = std::numeric_limits<std::int64_t>::max()};
  detail::size_bounds out;
  if (const auto size = reader_.integer(min, presence::optional, sizes)) out.min = static_cast<std::uint64_t>(*size);
  if (const auto size = reader_.integer(max, presence::optional, sizes)) out.max = static_cast<std::uint64_t>(*size);
  if (out.min > out.max) report(max, quote_name(max) + " is less than " + quote_name(min));
  return out;
}

auto schema_reader::read_bound(std::string_view field) -> std::optional<detail::number_bound> {
  const json* value = reader_.value(field, presence::optional);
  if (value == nullptr) return std::nullopt;
  if (value->is_number() && std::isfinite(detail::exact(*value)))
    return detail::number_bound{detail::exact(*value), canonical_json(*value)};
  report(field, quote_name(field) + " must be a finite number");
  return std::nullopt;
}

void schema_reader::read_pattern() {
  const std::string* text = reader_.text("pattern", presence::optional);
  if (text == nullptr) return;
  auto compiled = text_pattern::compile(*text, letter_case::exact);
  if (compiled)
    out_.pattern = detail::payload_pattern{*text, std::move(*compiled)};
  else
    report("pattern", "RE2 refuses the pattern: " + compiled.error());
}

}  // namespace

payload_rules::payload_rules(std::shared_ptr<const payload_rule> root) noexcept : root_(std::move(root)) {}

auto payload_rules::compile(const json& schema, std::string_view pointer) -> braid::checked<payload_rules> {
  braid::diagnostics found;
  auto root = schema_reader(schema, std::string(pointer), 1, found).read();
  if (found.empty()) return payload_rules(std::move(root));
  braid::diagnostics problems;  // whatever the reader of fields calls it, it is the schema that is wrong
  for (braid::diagnostic item : found) {
    item.code = fault;
    problems.add(std::move(item));
  }
  return std::unexpected(std::move(problems));
}

}  // namespace rankd
