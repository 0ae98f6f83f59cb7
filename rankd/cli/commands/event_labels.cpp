// rankd/cli/commands/event_labels.cpp: reads a file of labels, and decides which events count for each label.
#include <rankd/cli/commands/event_labels.hpp>

#include <rankd/registry/detail/section.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/names.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd {
namespace {

constexpr int_range windows{.min = 1, .max = 366 * 86'400};
constexpr int_range delays{.min = 0, .max = 366 * 86'400};
constexpr std::array<std::string_view, 3> value_names{"count", "any", "sum"};

auto read_events(object_reader& row, braid::diagnostics& problems) -> std::vector<std::string> {
  std::vector<std::string> out;
  const nlohmann::json* events = row.array("events", presence::required);
  if (events == nullptr) return out;
  if (events->empty()) row.report("events", "bad_value", "`events` must list at least one event type, got `[]`");
  for (std::size_t at = 0; at < events->size(); ++at) {
    const auto report = [&](std::string_view code, std::string message) {
      problems.add({.code = std::string(code),
                    .pointer = braid::json_pointer(row.pointer_of("events"), at),
                    .message = std::move(message),
                    .hint = {},
                    .node = {},
                    .source = {}});
    };
    const nlohmann::json& type = (*events)[at];
    if (!type.is_string() || type.get_ref<const std::string&>().empty())
      report("wrong_type", "`events` must list event types, such as \"click\", got " + described(type));
    else if (std::ranges::find(out, type.get_ref<const std::string&>()) != out.end())
      report("duplicate_value", "`events` lists " + quote_name(type.get<std::string>()) + " twice");
    else
      out.push_back(type.get<std::string>());
  }
  return out;
}

void read_value(object_reader& row, event_label& out) {
  out.value = static_cast<label_value>(row.choice("value", presence::optional, value_names).value_or(0));
  const bool is_sum = out.value == label_value::sum;
  const std::string* by = row.text("by", is_sum ? presence::required : presence::optional);
  if (by == nullptr) return;
  if (!is_sum)
    row.report("by", "bad_value",
               "`by` names the field to add up, but the value of this label is " +
                   quote_name(value_names[static_cast<std::size_t>(out.value)]),
               "write `value = \"sum\"`, or remove `by`");
  else if (by->empty())
    row.report("by", "bad_value", "`by` must be the name of a field of the events, got an empty string");
  out.by = *by;
}

}  // namespace

auto load_labels(const std::filesystem::path& file) -> braid::checked<std::vector<event_label>> {
  detail::section section = detail::read_section(file, presence::required);
  std::vector<event_label> out;
  detail::used_once<std::string> names("duplicate_value");
  detail::for_each_row(section, "label", [&](object_reader& row) {
    event_label& label = out.emplace_back();
    label.name = detail::read_name(row);
    if (!label.name.empty()) names.claim(row, "name", label.name);
    label.events = read_events(row, section.problems);
    label.window = std::chrono::seconds(row.integer("window_s", presence::required, windows).value_or(1));
    label.delay = std::chrono::seconds(row.integer("delay_s", presence::optional, delays).value_or(0));
    read_value(row, label);
  });
  if (section.problems.empty() && out.empty())
    return refused("no_labels", "the file has no label", "add a table `[[label]]`", file);
  section.problems.set_source(file.string());
  if (!section.problems.empty()) return std::unexpected(std::move(section.problems));
  return out;
}

auto is_within(const event_label& label, const row_event& event, std::chrono::milliseconds shown) -> bool {
  const std::chrono::milliseconds end = shown + label.window;  // cannot overflow: years have four digits
  return event.happened >= shown && event.happened <= end && event.received <= end + label.delay;
}

auto time_until_final(std::span<const event_label> labels) -> std::chrono::milliseconds {
  std::chrono::milliseconds out{0};
  for (const event_label& each : labels) out = std::max(out, each.window + each.delay);
  return out;
}

}  // namespace rankd
