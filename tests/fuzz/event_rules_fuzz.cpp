// tests/fuzz/event_rules_fuzz.cpp: any text as events.toml; what is accepted is applied to values, within its bounds.
#include <tests/fuzz/diagnostics.hpp>
#include <tests/fuzz/target.hpp>
#include <tests/support/scratch_folder.hpp>

#include <rankd/server/events/counter_snapshot.hpp>
#include <rankd/server/events/step_kinds.hpp>
#include <rankd/store/counted_values.hpp>

#include <tests/rankd/op/op_world.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

using namespace rankd;
using namespace rankd::testing;

namespace {

using std::chrono::milliseconds;

constexpr std::array<std::string_view, 36> words{"[[event]]\n",
                                                 "[[counter]]\n",
                                                 "[[field]]\n",
                                                 "[[list]]\n",
                                                 "[[set]]\n",
                                                 "[[sorted_set]]\n",
                                                 "name = @\n",
                                                 "name = \"view\"\n",
                                                 "event = \"view\"\n",
                                                 "event = \"purchase\"\n",
                                                 "fields = { price = \"float\", count = \"int\" }\n",
                                                 "endpoint = \"ep_0001\"\n",
                                                 "key = \"k\"\n",
                                                 "key = \"k:{user_id}\"\n",
                                                 "key = \"k:{item_id}:{price}\"\n",
                                                 "value = \"item_id\"\n",
                                                 "value = \"user_id\"\n",
                                                 "value = \"time_ms\"\n",
                                                 "value = \"price\"\n",
                                                 "score = \"price\"\n",
                                                 "score = \"time_ms\"\n",
                                                 "by = \"count\"\n",
                                                 "max_items = 1\n",
                                                 "max_items = 3\n",
                                                 "max_items = @\n",
                                                 "max_age_s = 1\n",
                                                 "window_s = 1\n",
                                                 "idle_s = 1\n",
                                                 "half_life_s = 1\n",
                                                 "action = \"remove\"\n",
                                                 "action = \"add\"\n",
                                                 "\"price\"",
                                                 "\"item_id\"",
                                                 "-1",
                                                 "0x7fffffffffffffff",
                                                 "1.5"};

/// Events of a type: its declared fields, or a price and a count, and ids of which one may be missing.
auto sample_events(const event_type& type) -> std::vector<event> {
  std::vector<event> out;
  for (int number = 0; number < 8; ++number) {
    event& made = out.emplace_back(event{.event_id = std::to_string(number), .type = type.name});
    made.time = milliseconds(1'000 * (number % 3));
    if (number % 4 != 1) made.user_id = row_id(std::int64_t{number % 2});
    if (number % 4 != 2) made.item_id = row_id(std::int64_t{number % 5});
    const scalar whole = std::int64_t{number - 3};
    const scalar fraction = static_cast<double>(number) / 3;
    if (!type.fields) {
      made.fields = {{"count", whole}, {"price", fraction}};
      continue;
    }
    for (const auto& [name, kind] : *type.fields) {
      scalar value = whole;
      if (kind == value_type::floating) value = fraction;
      if (kind == value_type::string) value = "t" + std::to_string(number % 3);
      if (kind == value_type::boolean) value = number % 2 == 0;
      made.fields.emplace_back(name, value);
    }
  }
  return out;
}

void expect_sound_rules(const event_rules& rules) {
  for (const event_rule& each : rules.all()) {
    const bool adds_items = find_step_kind(each.kind).holds != record_kind::hash && each.action == rule_action::add;
    BRAID_EXPECTS(rules.find(each.event) != nullptr, "a rule has a type of events");
    BRAID_EXPECTS((each.max_items != 0) == adds_items && each.max_items <= 10'000, "collections are bounded");
    BRAID_EXPECTS(each.window_s == 0 || each.idle_s == 0, "a value has one end");
    BRAID_EXPECTS(each.name.empty() == (find_step_kind(each.kind).holds != record_kind::hash), "fields have names");
    BRAID_EXPECTS(each.value.empty() == (each.kind == rule_kind::counter), "what is written has a name");
  }
}

/// Applies a step, and compares what it left with the bounds of its rule.
void apply(counted_value& value, const event_rules& rules, const rule_step& step) {
  const event_rule& rule = rules.all()[step.rule];
  const counted_value before = value;
  if (!apply_step(value, rules, step)) {
    BRAID_EXPECTS(value.count() == before.count() && (value.count() == 0 || value == before),
                  "a refusal changes nothing");
    value = before;
    return;
  }
  BRAID_EXPECTS(value.count() == 0 || value.kind() == find_step_kind(rule.kind).holds,
                "a value has the kind of its rule");
  const bool trims = rule.kind == rule_kind::list || rule.kind == rule_kind::sorted_set;
  if (trims && rule.action == rule_action::add)
    BRAID_EXPECTS(value.count() <= rule.max_items, "what is trimmed keeps to its bound");
  if (rule.kind == rule_kind::set && rule.action == rule_action::add)
    BRAID_EXPECTS(value.count() <= std::max(rule.max_items, before.count()), "a full set does not grow");
  if (const auto* set = std::get_if<counted_sorted_set>(&value.data))
    BRAID_EXPECTS(std::ranges::is_sorted(set->items, {}, &counted_sorted_set::item::score), "members are sorted");
}

void run(std::string_view input) {
  static const braid::testing::scratch_folder folder;
  std::filesystem::remove(folder.path() / events_file);  // a file that is written over may be forced to the disk
  folder.write(events_file, input);
  const auto rules = event_rules::load(folder.path(), op_world());
  if (!rules) return expect_sound(rules.error());
  expect_sound_rules(*rules);
  std::map<std::string, counted_value> values;
  for (const event_type& type : rules->types())
    for (const event& each : sample_events(type))
      for (const rule_step& step : list_steps(each, *rules, milliseconds(60'000)))
        apply(values[step.key], *rules, step);
  counted_values all(std::size_t{1} << 30U, [] { return milliseconds(1); });
  for (const auto& [key, value] : values) all.insert(key, value);
  const auto read = counter_snapshot::parse(counter_snapshot::bytes_of({.file = 1}, {{"ep", &all}}));
  BRAID_EXPECTS(read.has_value() && read->values.at("ep").size() == values.size(), "a snapshot is read back");
  for (const auto& [key, value] : read->values.at("ep"))
    BRAID_EXPECTS(value.count() == 0 || value == values.at(key), "and has the same values");
}

}  // namespace

const braid::testing::fuzz_target braid::testing::target{.run = &run, .words = words};
