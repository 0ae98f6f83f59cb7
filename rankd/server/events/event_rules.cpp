// rankd/server/events/event_rules.cpp: reads events.toml.
#include <rankd/server/events/event_rules.hpp>

#include <rankd/registry/detail/section.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/server/events/detail/unknown_type.hpp>
#include <rankd/server/events/step_kinds.hpp>

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

using detail::section;

constexpr std::array<std::string_view, 4> type_names{"int", "float", "bool", "string"};
constexpr std::array<value_type, 4> field_types{value_type::integer, value_type::floating, value_type::boolean,
                                                value_type::string};
constexpr int_range windows{.min = 1, .max = 366 * 86'400};
constexpr int_range item_counts{.min = 1, .max = 10'000};
constexpr std::array<std::string_view, 2> actions{"add", "remove"};
constexpr std::string_view time_name = "time_ms";

/// Reads the declared fields of an event type, such as `price = "float"`.
auto read_fields(object_reader& row, braid::diagnostics& problems) -> decltype(event_type::fields) {
  const nlohmann::json* fields = row.object("fields", presence::optional);
  if (fields == nullptr) return std::nullopt;
  decltype(event_type::fields) out(std::in_place);
  object_reader in(*fields, row.pointer_of("fields"), problems);
  for (const auto& [name, type] : fields->items())
    if (const auto choice = in.choice(name, presence::required, type_names)) out->emplace(name, field_types[*choice]);
  return out;
}

/// States whether a rule requires that a field of an event is a number.
enum class field_use : std::uint8_t { any, number };

/// Returns whether two rules change the value under the same key.
auto has_same_place(const event_rule& one, const event_rule& other) -> bool {
  return one.endpoint == other.endpoint && one.key.literals == other.key.literals && one.key.holes == other.key.holes;
}

/// Reads one rule, after all types of events are known.
class rule_reader {
 public:
  rule_reader(object_reader& row, const event_rules& rules, const registries& declared) noexcept
      : row_(&row), rules_(&rules), declared_(&declared) {}

  auto read(rule_kind kind) -> event_rule {
    event_rule out;
    out.kind = kind;
    const bool has_name = kind == rule_kind::counter || kind == rule_kind::field;
    if (has_name) out.name = detail::read_name(*row_);
    if (const std::string* event = row_->text("event", presence::required)) {
      type_ = rules_->find(*event);
      out.event = *event;
      if (type_ == nullptr) detail::report_unknown_type(*row_, "event", *event, *rules_);
    }
    read_endpoint(out);
    read_key(out);
    if (kind == rule_kind::counter)
      read_amount(out);
    else
      read_value(out);
    if (out.action == rule_action::add) read_bounds(out);
    if (kind == rule_kind::counter)
      out.half_life_s = row_->integer("half_life_s", presence::optional, windows).value_or(0);
    check_place(out);
    check_end(out);
    return out;
  }

 private:
  void read_amount(event_rule& out) {
    const std::string* by = row_->text("by", presence::optional);
    if (by == nullptr) return;
    out.by = *by;
    check_field("by", *by, field_use::number);
  }

  void read_value(event_rule& out) {
    if (const std::string* value = row_->text("value", presence::required)) {
      out.value = *value;
      if (*value != "user_id" && *value != "item_id" && *value != time_name)
        check_field("value", *value, field_use::any);
    }
    if (out.kind != rule_kind::set && out.kind != rule_kind::sorted_set) return;
    if (const auto action = row_->choice("action", presence::optional, actions))
      out.action = static_cast<rule_action>(*action);
  }

  /// Reads the score of a sorted set, the maximum number of items, and the expiry.
  void read_bounds(event_rule& out) {
    if (out.kind == rule_kind::sorted_set) read_score(out);
    if (out.kind != rule_kind::counter && out.kind != rule_kind::field)
      out.max_items = static_cast<std::size_t>(row_->integer("max_items", presence::required, item_counts).value_or(1));
    out.window_s = row_->integer("window_s", presence::optional, windows).value_or(0);
    out.idle_s = row_->integer("idle_s", presence::optional, windows).value_or(0);
  }

  void read_score(event_rule& out) {
    const std::string* score = row_->text("score", presence::optional);
    if (score != nullptr && *score != time_name) {
      out.score = *score;
      check_field("score", *score, field_use::number);
    }
    out.max_age_s = row_->integer("max_age_s", presence::optional, windows).value_or(0);
    if (out.max_age_s != 0 && !out.score.empty())
      row_->report("max_age_s", "bad_value",
                   "`max_age_s` requires that the score is the time of the event, not " + quote_name(out.score),
                   "leave out `score` or `max_age_s`");
  }

  /// Reports a rule that contradicts an earlier rule for the same key, because the two rules need different kinds of
  /// values or use a field differently.
  void check_place(const event_rule& rule) {
    for (const event_rule& other : rules_->all()) {
      if (!has_same_place(rule, other)) continue;
      if (find_step_kind(rule.kind).holds != find_step_kind(other.kind).holds)
        return row_->report("key", "bad_value",
                            "a rule of kind " + quote_name(find_step_kind(other.kind).table) +
                                " has the same key, but a key can have only one kind of value",
                            "use another key for one of the two rules");
      const bool is_counted = rule.kind == rule_kind::field && other.kind == rule_kind::counter;
      if (is_counted && (rule.name == other.name || (other.half_life_s != 0 && rule.name == other.time_field())))
        return row_->report(
            "name", "duplicate_value",
            "the counter " + quote_name(other.name) + " uses the field " + quote_name(rule.name) + " of the same hash");
    }
  }

  /// Reports a rule whose expiry differs from that of another rule for the same key, because a value has only one
  /// expiry. A rule without an expiry accepts the expiry of the other rule.
  void check_end(const event_rule& rule) {
    const auto ends_otherwise = [&rule](const event_rule& other) {
      const bool both_end = other.window_s + other.idle_s != 0 && rule.window_s + rule.idle_s != 0;
      return has_same_place(rule, other) && both_end &&
             (other.window_s != rule.window_s || other.idle_s != rule.idle_s);
    };
    const auto& before = rules_->all();
    if (const auto other = std::ranges::find_if(before, ends_otherwise); other != before.end())
      row_->report(rule.idle_s != 0 ? "idle_s" : "window_s", "bad_value",
                   other->kind == rule_kind::counter
                       ? "the counter " + quote_name(other->name) + " sets another expiry for the same hash"
                       : "another rule of kind " + quote_name(find_step_kind(other->kind).table) +
                             " sets another expiry for the same value",
                   "set the same expiry for both rules, or for only one of them");
    if (rule.window_s == 0) return;
    if (rule.idle_s != 0)
      row_->report("window_s", "bad_value",
                   find_step_kind(rule.kind).holds == record_kind::hash ? "the hash already expires after `idle_s`"
                                                                        : "the value already expires after `idle_s`",
                   "remove `window_s` or `idle_s`");
    else if (rule.half_life_s != 0)
      row_->report("window_s", "bad_value", "`window_s` would delete a sum that decays by `half_life_s`",
                   "use `idle_s` instead, with about thirty half-lives");
  }

  void read_endpoint(event_rule& out) {
    const std::string* id = row_->text("endpoint", presence::required);
    if (id == nullptr) return;
    const endpoint_entry* found = declared_->find_endpoint(*id);
    if (found == nullptr)
      return row_->report("endpoint", "unknown_endpoint", "no endpoint is called " + quote_name(*id));
    out.endpoint = static_cast<std::size_t>(found - declared_->endpoints().data());
    if (found->kind != endpoint_entry::kind_type::redis)
      row_->report("endpoint", "wrong_endpoint_kind",
                   "endpoint " + quote_name(*id) + " is of kind " + std::string(to_string(found->kind)) +
                       (out.kind == rule_kind::counter ? ", but counters must be hashes of an endpoint of kind redis"
                                                       : ", but rules must write to an endpoint of kind redis"));
  }

  void read_key(event_rule& out) {
    const std::string* text = row_->text("key", presence::required);
    if (text == nullptr) return;
    auto parsed = key_template::parse(*text);
    if (!parsed) return row_->report("key", parsed.error().code, parsed.error().message, parsed.error().hint);
    for (const template_hole& hole : parsed->holes) {
      if (hole.from == template_hole::source_kind::param)
        row_->report("key", "bad_hole", "an event has no params, so `{P." + hole.name + "}` has no value");
      else if (hole.name != "user_id" && hole.name != "item_id")
        check_field("key", hole.name, field_use::any);
    }
    out.key = std::move(*parsed);
  }

  /// Checks that the event type has the field that a rule names. If the type declares no fields, accepts any name.
  void check_field(std::string_view option, const std::string& name, field_use use) {
    if (name.empty())
      return row_->report(option, "bad_value", "`" + std::string(option) + "` must name a field of the event, got ``");
    if (type_ == nullptr || !type_->fields) return;
    const auto found = type_->fields->find(name);
    if (found == type_->fields->end())
      return row_->report(option, "unknown_field",
                          "events of type " + quote_name(type_->name) + " have no field " + quote_name(name));
    const bool counts = found->second == value_type::integer || found->second == value_type::floating;
    if (use == field_use::number && !counts)
      row_->report(option, "wrong_type", "the field " + quote_name(name) + " is not a number");
  }

  object_reader* row_;
  const event_rules* rules_;
  const registries* declared_;
  const event_type* type_ = nullptr;
};

/// Calls `read(row)` for each table of an array.
template <typename Read>
void for_each_row(object_reader& top, std::string_view table, braid::diagnostics& problems, Read read) {
  const nlohmann::json* rows = top.array(table, presence::optional);
  if (rows == nullptr) return;
  for (std::size_t at = 0; at < rows->size(); ++at) {
    object_reader row((*rows)[at], braid::json_pointer(top.pointer_of(table), at), problems);
    read(row);
    row.refuse_unknown_fields();
  }
}

/// Returns false only if a file is known to be absent. If the file exists but is not accessible, reading it later
/// reports the error.
auto may_exist(const std::filesystem::path& file) -> bool {
  std::error_code error;
  return std::filesystem::exists(file, error) || error;
}

}  // namespace

auto find_event_rules(const std::filesystem::path& folder) -> std::optional<std::filesystem::path> {
  for (const std::string_view name : {events_file, counters_file})
    if (std::filesystem::path file = folder / name; may_exist(file)) return file;
  return std::nullopt;
}

event_rules::event_rules() : types_{{.name = "impression"}, {.name = "click"}, {.name = "purchase"}} {}

auto event_rules::find(std::string_view type) const noexcept -> const event_type* {
  const auto found = std::ranges::find(types_, type, &event_type::name);
  return found == types_.end() ? nullptr : &*found;
}

auto event_rules::load(const std::filesystem::path& folder, const registries& declared) -> braid::checked<event_rules> {
  const auto file = find_event_rules(folder);
  if (!file) return event_rules();
  if (file->filename() == events_file && may_exist(folder / counters_file))
    return refused("two_files", "the folder has both events.toml and counters.toml, but only one of them may exist",
                   "move the rules of counters.toml to events.toml, and delete counters.toml", folder / counters_file);
  section from = detail::read_section(*file, presence::required);
  event_rules out;
  if (from.problems.empty()) {
    object_reader top(from.document, "", from.problems);
    detail::used_once<std::string> events("duplicate_value");
    detail::used_once<std::string> counters("duplicate_value");
    std::vector<event_type> types;
    for_each_row(top, "event", from.problems, [&](object_reader& row) {
      event_type& made = types.emplace_back();
      made.name = detail::read_name(row);
      if (!made.name.empty()) events.claim(row, "name", made.name);
      made.fields = read_fields(row, from.problems);
    });
    if (!types.empty()) out.types_ = std::move(types);
    for (const step_kind& each : step_kinds())
      for_each_row(top, each.table, from.problems, [&](object_reader& row) {
        event_rule made = rule_reader(row, out, declared).read(each.kind);
        if (made.kind == rule_kind::counter && !made.name.empty()) {
          counters.claim(row, "name", made.name);
          if (made.half_life_s != 0) counters.claim(row, "name", made.time_field());
        }
        out.rules_.push_back(std::move(made));
      });
    top.refuse_unknown_fields();
  }
  from.problems.set_source(file->string());
  if (!from.problems.empty()) return std::unexpected(std::move(from.problems));
  return out;
}

}  // namespace rankd
