// rankd/server/events/event.cpp: parses events from JSON, and writes events as JSON.
#include <rankd/server/events/event.hpp>

#include <rankd/engine/detail/diagnostic_list.hpp>
#include <rankd/engine/detail/read_candidates.hpp>
#include <rankd/plan/json.hpp>
#include <rankd/registry/json_members.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/object_reader.hpp>
#include <rankd/server/events/detail/unknown_type.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

using detail::diagnostic_list;
using nlohmann::json;

constexpr std::size_t max_problems = 100;
constexpr std::size_t max_name_bytes = 100;
// The limit of the integers that JavaScript can represent exactly.
constexpr int_range times{.min = 0, .max = std::int64_t{1} << 53U};

auto is_printable(std::string_view text) -> bool {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

/// Reads the value of a field. If the project declares no type for the field, any type is accepted.
auto read_value(const json& value, const std::string& pointer, std::optional<value_type> type, diagnostic_list problems)
    -> std::optional<scalar> {
  if (value.is_null()) return scalar();
  if (!type) {
    if (value.is_string()) type = value_type::string;
    if (value.is_boolean()) type = value_type::boolean;
    if (value.is_number_float()) type = value_type::floating;
    if (value.is_number_integer()) type = value_type::integer;
  }
  if (!type) {
    problems.add("wrong_type", pointer,
                 "a field must be a number, a string, true, false or null, not " + described(value));
    return std::nullopt;
  }
  auto read = scalar_from_json(value, *type);
  if (!read) {
    problems.add(read.error().code, pointer, read.error().message);
    return std::nullopt;
  }
  if (const auto* text = std::get_if<std::string>(&*read); text != nullptr && text->size() > max_event_text) {
    problems.add("text_too_long", pointer, "a string may have at most " + std::to_string(max_event_text) + " bytes");
    return std::nullopt;
  }
  return std::move(*read);
}

class event_reader {
 public:
  event_reader(object_reader& reader, const registries& declared, const event_rules& rules,
               braid::diagnostics& problems) noexcept
      : reader_(&reader), declared_(&declared), rules_(&rules), problems_{problems} {}

  auto read(std::chrono::milliseconds now) -> event {
    event out;
    if (const std::string* id = reader_->text("event_id", presence::required)) {
      out.event_id = *id;
      if (id->empty() || id->size() > max_event_id || !is_printable(*id))
        reader_->report("event_id", "bad_event_id",
                        "`event_id` must have 1 to " + std::to_string(max_event_id) +
                            " printable ASCII characters, got " + described(*id));
    }
    if (const std::string* type = reader_->text("type", presence::required)) {
      out.type = *type;
      type_ = rules_->find(*type);
      if (type_ == nullptr) detail::report_unknown_type(*reader_, "type", *type, *rules_);
    }
    const auto time = reader_->integer("time_ms", presence::optional, times);
    out.time = time ? std::chrono::milliseconds(*time) : now;
    out.user_id = read_id("user_id", "bad_user_id");
    out.item_id = read_id("item_id", "bad_id");
    if (const std::string* id = reader_->text("request_id", presence::optional)) {
      out.request_id = *id;
      if (id->size() > max_event_text)
        reader_->report("request_id", "text_too_long",
                        "`request_id` may have at most " + std::to_string(max_event_text) + " bytes, got " +
                            std::to_string(id->size()));
    }
    if (const json* fields = reader_->object("fields", presence::optional)) read_fields(*fields, out);
    return out;
  }

 private:
  auto read_id(std::string_view field, std::string_view code) -> std::optional<row_id> {
    const json* value = reader_->value(field, presence::optional);
    if (value == nullptr) return std::nullopt;
    auto id = detail::id_from_json(*value, declared_->id_type());
    if (!id) reader_->report(field, code, "an id is " + detail::refused_id(*value, declared_->id_type()));
    return id;
  }

  void read_fields(const json& fields, event& out) {
    const std::string pointer = reader_->pointer_of("fields");
    if (fields.size() > max_event_fields)
      return problems_.add("too_many_fields", pointer,
                           "an event may have at most " + std::to_string(max_event_fields) + " fields");
    for (const auto& [name, value] : fields.items()) {
      const std::string place = braid::json_pointer(pointer, name);
      std::optional<value_type> type;
      if (name.empty() || name.size() > max_name_bytes || !is_printable(name)) {
        problems_.add("bad_name", place,
                      "a name must have 1 to 100 printable ASCII characters, got " + described(name));
        continue;
      }
      if (type_ != nullptr && type_->fields) {
        const auto known = type_->fields->find(name);
        if (known == type_->fields->end()) {
          problems_.add("unknown_field", place,
                        "events of type " + quote_name(type_->name) + " have no field " + quote_name(name));
          continue;
        }
        type = known->second;
      }
      if (auto read = read_value(value, place, type, problems_)) out.fields.emplace_back(name, std::move(*read));
    }
  }

  object_reader* reader_;
  const registries* declared_;
  const event_rules* rules_;
  diagnostic_list problems_;
  const event_type* type_ = nullptr;
};

/// Converts integers that do not fit int64 back to doubles. The JSON of JavaScript contains large doubles without an
/// exponent, so such a double is parsed as an unsigned integer.
void mend_large_numbers(json& document) {
  const auto fields = document.find("fields");
  if (fields == document.end() || !fields->is_object()) return;
  for (json& each : *fields)
    if (each.is_number_unsigned() && !std::in_range<std::int64_t>(each.get<std::uint64_t>())) each = each.get<double>();
}

auto find_field(const event& event, std::string_view name) -> const scalar* {
  for (const auto& [each, value] : event.fields)
    if (each == name) return &value;
  return nullptr;
}

/// Returns the value with this name in an event, as text for use in a key or as the value that a rule writes. Returns
/// nothing if the event has no such value.
auto value_text(const event& event, const std::string& name) -> std::optional<std::string> {
  if (name == "user_id") return event.user_id ? std::optional(to_text(*event.user_id)) : std::nullopt;
  if (name == "item_id") return event.item_id ? std::optional(to_text(*event.item_id)) : std::nullopt;
  const scalar* value = find_field(event, name);
  if (value == nullptr || is_null(*value)) return std::nullopt;
  if (const auto* text = std::get_if<std::string>(value)) return *text;
  std::string out;
  append_json_scalar(out, *value);
  return out;
}

auto key_of(const event& event, const key_template& key) -> std::optional<std::string> {
  std::string out = key.literals.front();
  for (std::size_t at = 0; at < key.holes.size(); ++at) {
    const auto text = value_text(event, key.holes[at].name);
    if (!text) return std::nullopt;
    append_escaped(out, *text);
    out += key.literals[at + 1];
  }
  if (out.empty() || out.size() > key_template::max_bytes) return std::nullopt;
  return out;
}

auto find_number(const event& event, std::string_view name) -> const scalar* {
  const scalar* given = find_field(event, name);
  const bool is_number =
      given != nullptr && (std::holds_alternative<std::int64_t>(*given) || std::holds_alternative<double>(*given));
  return is_number ? given : nullptr;
}

/// Sets the amount that a counter adds. Returns false if the rule names a field for the amount, and the event has no
/// number in this field.
auto fill_amount(rule_step& step, const event_rule& rule, const event& event) -> bool {
  step.by = std::int64_t{1};
  if (rule.by.empty()) return true;
  const scalar* given = find_number(event, rule.by);
  if (given != nullptr) step.by = *given;
  return given != nullptr;
}

/// Sets the value that a rule writes, and its score. Returns false if the event has no such value or score.
auto fill_value(rule_step& step, const event_rule& rule, const event& event) -> bool {
  auto text = rule.value == "time_ms" ? std::optional(std::to_string(step.at.count())) : value_text(event, rule.value);
  if (!text) return false;
  step.text = std::move(*text);
  step.score = static_cast<double>(step.at.count());
  if (rule.score.empty() || rule.action == rule_action::remove) return true;
  const scalar* given = find_number(event, rule.score);
  if (given == nullptr) return false;
  const auto* whole = std::get_if<std::int64_t>(given);
  step.score = whole != nullptr ? static_cast<double>(*whole) : std::get<double>(*given);
  return std::isfinite(step.score);
}

}  // namespace

auto parse_events(std::string_view text, const event_rules& rules, const registries& declared, std::size_t max_events,
                  std::chrono::milliseconds now) -> braid::checked<std::vector<event>> {
  auto document = parse_json_with_nan(text, "request");
  if (!document) return std::unexpected(document.error());
  const json_dismantler end(*document);
  braid::diagnostics problems;
  object_reader top(*document, "", problems);
  std::vector<event> out;
  if (const json* events = top.array("events", presence::required)) {
    const std::string pointer = top.pointer_of("events");
    if (events->size() > max_events)
      diagnostic_list{problems}.add(
          "events_too_large", pointer,
          "one call may have at most " + std::to_string(max_events) + " events, not " + std::to_string(events->size()));
    for (std::size_t at = 0; at < events->size() && problems.size() < max_problems; ++at) {
      if (events->size() > max_events) break;
      object_reader in((*events)[at], braid::json_pointer(pointer, at), problems);
      out.push_back(event_reader(in, declared, rules, problems).read(now));
      in.refuse_unknown_fields();
    }
  }
  top.refuse_unknown_fields();
  problems.set_source("request");
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return out;
}

auto parse_event_line(std::string_view line, const event_rules& rules, const registries& declared)
    -> std::optional<logged_event> {
  json document = json::parse(line, nullptr, false);
  if (!document.is_object()) return std::nullopt;
  mend_large_numbers(document);
  const auto received = document.find("received_ms");
  if (received == document.end() || !received->is_number_integer()) return std::nullopt;
  logged_event out{.what = {}, .received = std::chrono::milliseconds(received->get<std::int64_t>())};
  braid::diagnostics left_out;
  object_reader in(document, "", left_out);
  out.what = event_reader(in, declared, rules, left_out).read(out.received);
  if (out.what.event_id.empty() || out.what.type.empty()) return std::nullopt;
  return out;
}

auto event_line(const event& event, std::chrono::milliseconds received) -> std::string {
  std::string out = "{\"event_id\":";
  append_json_string(out, event.event_id);
  out += ",\"type\":";
  append_json_string(out, event.type);
  out += ",\"time_ms\":";
  append_json_number(out, std::int64_t{event.time.count()});
  out += ",\"received_ms\":";
  append_json_number(out, std::int64_t{received.count()});
  const auto add_id = [&out](std::string_view name, const std::optional<row_id>& id) {
    if (!id) return;
    out += ",\"";
    out += name;
    out += "\":";
    append_json_id(out, *id);
  };
  add_id("user_id", event.user_id);
  add_id("item_id", event.item_id);
  if (!event.request_id.empty()) {
    out += ",\"request_id\":";
    append_json_string(out, event.request_id);
  }
  if (!event.fields.empty()) {
    out += ",\"fields\":{";
    for (const auto& [name, value] : event.fields) {
      append_json_name(out, name);
      append_json_scalar(out, value);
    }
    out += '}';
  }
  return out + "}";
}

auto list_steps(const event& event, const event_rules& rules, std::chrono::milliseconds received)
    -> std::vector<rule_step> {
  std::vector<rule_step> out;
  for (std::size_t at = 0; at < rules.all().size(); ++at) {
    const event_rule& rule = rules.all()[at];
    if (rule.event != event.type) continue;
    auto key = key_of(event, rule.key);
    if (!key) continue;
    rule_step step{.rule = at, .key = std::move(*key), .at = std::min(event.time, received), .received = received};
    const bool is_whole =
        rule.kind == rule_kind::counter ? fill_amount(step, rule, event) : fill_value(step, rule, event);
    if (is_whole) out.push_back(std::move(step));
  }
  return out;
}

}  // namespace rankd
