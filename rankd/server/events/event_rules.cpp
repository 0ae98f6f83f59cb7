// rankd/server/events/event_rules.cpp: reads counters.toml.
#include <rankd/server/events/event_rules.hpp>

#include <rankd/registry/detail/section.hpp>
#include <rankd/registry/names.hpp>

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

/// Reads one `[[counter]]`. Requires that all types of events have been read.
class counter_reader {
 public:
  counter_reader(object_reader& row, const event_rules& rules, const registries& declared) noexcept
      : row_(&row), rules_(&rules), declared_(&declared) {}

  auto read() -> event_counter {
    event_counter out;
    out.name = detail::read_name(*row_);
    if (const std::string* event = row_->text("event", presence::required)) {
      type_ = rules_->find(*event);
      out.event = *event;
      if (type_ == nullptr) row_->report("event", "unknown_event", "there is no type of events " + quote_name(*event));
    }
    read_endpoint(out);
    read_key(out);
    if (const std::string* by = row_->text("by", presence::optional)) {
      out.by = *by;
      check_field("by", *by, true);
    }
    out.window_s = row_->integer("window_s", presence::optional, windows).value_or(0);
    out.idle_s = row_->integer("idle_s", presence::optional, windows).value_or(0);
    out.half_life_s = row_->integer("half_life_s", presence::optional, windows).value_or(0);
    check_end(out);
    return out;
  }

 private:
  /// Checks the expiry of a counter. A hash has only one expiry, so two counters of one hash must not set different
  /// ones. A counter without an expiry uses that of its hash.
  void check_end(const event_counter& of) {
    const auto ends_otherwise = [&of](const event_counter& other) {
      const bool same_hash =
          other.endpoint == of.endpoint && other.key.literals == of.key.literals && other.key.holes == of.key.holes;
      const bool both_end = other.window_s + other.idle_s != 0 && of.window_s + of.idle_s != 0;
      return same_hash && both_end && (other.window_s != of.window_s || other.idle_s != of.idle_s);
    };
    const auto& before = rules_->counters();
    if (const auto other = std::ranges::find_if(before, ends_otherwise); other != before.end())
      row_->report(of.idle_s != 0 ? "idle_s" : "window_s", "bad_value",
                   "the counter " + quote_name(other->name) + " sets another expiry for the same hash",
                   "set the same expiry for both, or leave one out");
    if (of.window_s == 0) return;
    if (of.idle_s != 0)
      row_->report("window_s", "bad_value", "the hash already expires after `idle_s`", "leave out one of the two");
    else if (of.half_life_s != 0)
      row_->report("window_s", "bad_value", "`window_s` would delete a sum that decays by `half_life_s`",
                   "use `idle_s` instead, with about thirty half-lives");
  }

  void read_endpoint(event_counter& out) {
    const std::string* id = row_->text("endpoint", presence::required);
    if (id == nullptr) return;
    const endpoint_entry* found = declared_->find_endpoint(*id);
    if (found == nullptr)
      return row_->report("endpoint", "unknown_endpoint", "no endpoint is called " + quote_name(*id));
    out.endpoint = static_cast<std::size_t>(found - declared_->endpoints().data());
    if (found->kind != endpoint_entry::kind_type::redis)
      row_->report("endpoint", "wrong_endpoint_kind",
                   "endpoint " + quote_name(*id) + " is of kind " + std::string(to_string(found->kind)) +
                       ", and counters are hashes of an endpoint of kind redis");
  }

  void read_key(event_counter& out) {
    const std::string* text = row_->text("key", presence::required);
    if (text == nullptr) return;
    auto parsed = key_template::parse(*text);
    if (!parsed) return row_->report("key", parsed.error().code, parsed.error().message, parsed.error().hint);
    for (const template_hole& hole : parsed->holes) {
      if (hole.from == template_hole::source_kind::param)
        row_->report("key", "bad_hole", "an event has no params, so `{P." + hole.name + "}` has no value");
      else if (hole.name != "user_id" && hole.name != "item_id")
        check_field("key", hole.name, false);
    }
    out.key = std::move(*parsed);
  }

  /// Checks a field if the event type declares its fields.
  void check_field(std::string_view where, const std::string& name, bool is_number) {
    if (type_ == nullptr || !type_->fields) return;
    const auto found = type_->fields->find(name);
    if (found == type_->fields->end())
      return row_->report(where, "unknown_field",
                          "events of type " + quote_name(type_->name) + " have no field " + quote_name(name));
    const bool counts = found->second == value_type::integer || found->second == value_type::floating;
    if (is_number && !counts) row_->report(where, "wrong_type", "the field " + quote_name(name) + " is not a number");
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

}  // namespace

event_rules::event_rules() : types_{{.name = "impression"}, {.name = "click"}, {.name = "purchase"}} {}

auto event_rules::find(std::string_view type) const noexcept -> const event_type* {
  const auto found = std::ranges::find(types_, type, &event_type::name);
  return found == types_.end() ? nullptr : &*found;
}

auto event_rules::load(const std::filesystem::path& folder, const registries& declared) -> braid::checked<event_rules> {
  const std::filesystem::path file = folder / counters_file;
  std::error_code error;
  // If the existence cannot be determined, reading the file reports the error.
  if (!std::filesystem::exists(file, error) && !error) return event_rules();
  section from = detail::read_section(file, presence::required);
  event_rules out;
  if (from.problems.empty()) {
    object_reader top(from.document, "", from.problems);
    detail::used_once<std::string> events("duplicate_value");
    detail::used_once<std::string> counters("duplicate_value");
    std::vector<event_type> types;
    for_each_row(top, "event", from.problems, [&](object_reader& row) {
      event_type& made = types.emplace_back();
      made.name = detail::read_name(row);
      events.claim(row, "name", made.name);
      made.fields = read_fields(row, from.problems);
    });
    if (!types.empty()) out.types_ = std::move(types);
    for_each_row(top, "counter", from.problems, [&](object_reader& row) {
      event_counter made = counter_reader(row, out, declared).read();
      counters.claim(row, "name", made.name);
      if (made.half_life_s != 0) counters.claim(row, "name", made.time_field());
      out.counters_.push_back(std::move(made));
    });
    top.refuse_unknown_fields();
  }
  from.problems.set_source(file.string());
  if (!from.problems.empty()) return std::unexpected(std::move(from.problems));
  return out;
}

}  // namespace rankd
