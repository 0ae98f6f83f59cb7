// rankd/registry/payload_check.cpp: checks a payload against the rules of its capability.
#include <rankd/registry/payload_rules.hpp>

#include <rankd/registry/detail/payload_rule.hpp>
#include <rankd/registry/digest.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/object_reader.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

namespace rankd {
namespace {

using json = nlohmann::json;
using detail::payload_rule;

/// The path to a value. The path is converted to text only for a diagnostic.
struct place {
  const place* above = nullptr;  ///< null at the payload itself
  std::string_view field;
  std::size_t index = 0;  ///< used if `field` is empty and the value above is an array
  bool in_array = false;
};

auto list_types(const json& value) -> detail::payload_types {
  const auto bit = [](unsigned index) { return static_cast<detail::payload_types>(1U << index); };
  if (value.is_null()) return bit(0);
  if (value.is_boolean()) return bit(1);
  if (value.is_number_integer()) return detail::integer_type | detail::number_type;
  if (value.is_number()) return detail::number_type;
  if (value.is_string()) return bit(4);
  return value.is_array() ? bit(5) : bit(6);
}

auto characters_in(std::string_view text) -> std::uint64_t {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

/// Returns the names of the types whose bits are set, as a text such as "a, b or c".
auto list_names(detail::payload_types types) -> std::string {
  std::vector<std::string_view> names;
  for (unsigned at = 0; at < detail::payload_type_names.size(); ++at)
    if ((types >> at & 1U) != 0) names.push_back(detail::payload_type_names[at]);
  std::string out;
  for (std::size_t at = 0; at < names.size(); ++at)
    out += (at == 0 ? "" : at + 1 == names.size() ? " or " : ", ") + std::string(names[at]);
  return out;
}

class payload_checker {
 public:
  payload_checker(std::string_view pointer, braid::diagnostics& problems) : pointer_(pointer), problems_(problems) {}

  /// Checks a value and its parts. The recursion is as deep as the schema, whose depth is limited.
  void check(const payload_rule& rule, const json& value, const place& place);

 private:
  void check_object(const payload_rule& rule, const json& value, const place& place);
  void check_property(const payload_rule& rule, const std::string& name, const json& value, const place& place);
  void check_array(const payload_rule& rule, const json& value, const place& place);
  void check_string(const payload_rule& rule, const std::string& text, const place& place);
  void check_number(const payload_rule& rule, const json& value, const place& place);
  void check_size(std::uint64_t size, detail::size_bounds bounds, std::string_view noun, const place& place);
  [[nodiscard]] auto full() const -> bool { return problems_.size() >= payload_rules::max_diagnostics; }
  [[nodiscard]] auto spelled(const place& place) const -> std::string;
  void report(const place& place, std::string_view code, std::string message, std::string hint = {});

  std::string_view pointer_;
  braid::diagnostics& problems_;
};

auto payload_checker::spelled(const place& place) const -> std::string {
  if (place.above == nullptr) return std::string(pointer_);
  const std::string parent = spelled(*place.above);
  return place.in_array ? braid::json_pointer(parent, place.index) : braid::json_pointer(parent, place.field);
}

void payload_checker::report(const place& place, std::string_view code, std::string message, std::string hint) {
  problems_.add({.code = std::string(code),
                 .pointer = spelled(place),
                 .message = std::move(message),
                 .hint = std::move(hint),
                 .node = {},
                 .source = {}});
}

void payload_checker::check(const payload_rule& rule, const json& value, const place& place) {
  if (full()) return;
  if ((list_types(value) & rule.types) == 0)
    return report(place, "wrong_type",
                  "the value must be of type " + list_names(rule.types) + ", not " + described(value));
  if (rule.allowed && !std::ranges::binary_search(*rule.allowed, canonical_json(value))) {
    std::string all;
    for (const std::string& each : *rule.allowed) all += (all.empty() ? "" : ", ") + each;
    report(place, "bad_value", "the value must be one of " + quote_name(all));
  }
  if (value.is_object()) check_object(rule, value, place);
  if (value.is_array()) check_array(rule, value, place);
  if (value.is_string()) check_string(rule, value.get_ref<const std::string&>(), place);
  if (value.is_number()) check_number(rule, value, place);
}

void payload_checker::check_object(const payload_rule& rule, const json& value, const place& place) {
  for (const std::string& name : rule.required)
    if (!value.contains(name) && !full())
      report(place, "missing_field", "the field " + quote_name(name) + " is missing");
  for (const auto& [name, inside] : value.items()) {
    if (full()) return;
    check_property(rule, name, inside, {.above = &place, .field = name});
  }
}

void payload_checker::check_property(const payload_rule& rule, const std::string& name, const json& value,
                                     const place& place) {
  if (const auto known = rule.properties.find(name); known != rule.properties.end())
    return check(*known->second, value, place);
  if (rule.others != nullptr) return check(*rule.others, value, place);
  if (!rule.closed) return;
  std::vector<std::string_view> names;
  for (const auto& each : rule.properties) names.emplace_back(each.first);
  report(place, "unknown_field", "there is no field " + quote_name(name) + " here", braid::did_you_mean(name, names));
}

void payload_checker::check_array(const payload_rule& rule, const json& value, const place& place) {
  check_size(value.size(), rule.item_count, "items", place);
  if (rule.items == nullptr) return;
  for (std::size_t index = 0; index < value.size() && !full(); ++index)
    check(*rule.items, value[index], {.above = &place, .field = {}, .index = index, .in_array = true});
}

void payload_checker::check_string(const payload_rule& rule, const std::string& text, const place& place) {
  check_size(characters_in(text), rule.length, "characters", place);
  if (rule.pattern && !rule.pattern->compiled.matches(text))
    report(place, "bad_value", "the text does not match the pattern " + quote_name(rule.pattern->text));
}

void payload_checker::check_number(const payload_rule& rule, const json& value, const place& place) {
  const detail::exact_number number = detail::exact(value);
  const auto demand = [&](const std::optional<detail::number_bound>& bound, std::string_view words, auto holds) {
    if (bound && !holds(number, bound->value))
      report(place, "out_of_range", "the value must be " + std::string(words) + " " + bound->text);
  };
  demand(rule.minimum, "at least", std::greater_equal<>());
  demand(rule.maximum, "at most", std::less_equal<>());
  demand(rule.above, "greater than", std::greater<>());
  demand(rule.below, "less than", std::less<>());
}

void payload_checker::check_size(std::uint64_t size, detail::size_bounds bounds, std::string_view noun,
                                 const place& place) {
  const auto demand = [&](std::string_view words, std::uint64_t bound) {
    report(place, "out_of_range",
           "the value must have " + std::string(words) + " " + std::to_string(bound) + " " + std::string(noun) +
               ", not " + std::to_string(size));
  };
  if (size < bounds.min) demand("at least", bounds.min);
  if (size > bounds.max) demand("at most", bounds.max);
}

}  // namespace

auto payload_rules::check(const json& payload, std::string_view pointer) const -> braid::diagnostics {
  braid::diagnostics problems;
  payload_checker(pointer, problems).check(*root_, payload, {});
  return problems;
}

}  // namespace rankd
