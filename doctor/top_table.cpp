// doctor/top_table.cpp: formats metrics as tables, with a row for each worker or loop and a column for each metric.
#include <doctor/top_table.hpp>

#include <doctor/escape.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <set>
#include <utility>

namespace braid::doctor {
namespace {

/// Removes the text up to the separator from the front of `rest`, and returns that text.
auto take(std::string_view& rest, char separator) -> std::string_view {
  const std::size_t end = rest.find(separator);
  const std::string_view first = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return first;
}

/// Parses labels of the form name="value", with the escapes `\\`, `\"` and `\n`. Removes the labels and the closing
/// brace from `rest`.
auto take_labels(std::string_view& rest) -> std::optional<std::map<std::string, std::string>> {
  std::map<std::string, std::string> labels;
  while (!rest.starts_with('}')) {
    if (rest.starts_with(',')) rest.remove_prefix(1);
    const std::string name(take(rest, '='));
    if (!rest.starts_with('"')) return std::nullopt;
    rest.remove_prefix(1);
    std::string value;
    while (!rest.empty() && rest.front() != '"') {
      const bool is_escaped = rest.front() == '\\' && rest.size() > 1;
      if (is_escaped) rest.remove_prefix(1);
      value += is_escaped && rest.front() == 'n' ? '\n' : rest.front();
      rest.remove_prefix(1);
    }
    if (rest.empty()) return std::nullopt;
    rest.remove_prefix(1);
    labels.emplace(name, std::move(value));
  }
  rest.remove_prefix(1);
  return labels;
}

auto parse_sample(std::string_view line) -> std::optional<top_sample> {
  top_sample made;
  const std::size_t end = line.find_first_of("{ ");
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  made.family = line.substr(0, end);
  constexpr std::string_view total = "_total";
  made.is_counter = made.family.ends_with(total);
  if (made.is_counter) made.family.resize(made.family.size() - total.size());
  line.remove_prefix(end);
  if (line.starts_with('{')) {
    line.remove_prefix(1);
    auto labels = take_labels(line);
    if (!labels) return std::nullopt;
    made.labels = std::move(*labels);
  }
  while (line.starts_with(' ')) line.remove_prefix(1);
  const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), made.value);
  if (error != std::errc()) return std::nullopt;
  return made;
}

auto short_number(double value) -> std::string {
  constexpr std::array<const char*, 4> units{"", "k", "M", "G"};
  std::size_t unit = 0;
  for (; std::abs(value) >= 10'000 && unit + 1 < units.size(); ++unit) value /= 1000;
  std::array<char, 32> text{};
  const bool is_whole = value == std::floor(value) || std::abs(value) >= 100;
  std::snprintf(text.data(), text.size(), is_whole ? "%.0f%s" : "%.1f%s", value, units[unit]);
  return text.data();
}

/// Two samples of the metrics, from which rates are computed.
class two_looks {
 public:
  two_looks(std::span<const top_sample> before, std::span<const top_sample> now, double seconds)
      : now_(now), seconds_(std::max(seconds, 1e-9)) {
    for (const top_sample& each : before) before_[{each.family, each.labels}] = each.value;
  }

  /// Returns the value of a gauge, or the rate of a counter. A counter that is new or was reset is assumed to have
  /// started at zero.
  [[nodiscard]] auto shown(const top_sample& sample) const -> double {
    if (!sample.is_counter) return sample.value;
    const auto known = before_.find({sample.family, sample.labels});
    const double before = known != before_.end() && known->second <= sample.value ? known->second : 0;
    return (sample.value - before) / seconds_;
  }

  [[nodiscard]] auto all() const noexcept -> std::span<const top_sample> { return now_; }

 private:
  using key = std::pair<std::string, std::map<std::string, std::string>>;
  std::span<const top_sample> now_;
  double seconds_;
  std::map<key, double> before_;
};

/// A column of a table: its title and its metric. The titles of rates end with "/s".
struct column {
  const char* title;
  const char* family;
};

using row = std::vector<std::string>;

void write_rows(std::string& text, const std::vector<row>& rows) {
  std::vector<std::size_t> widths;
  for (const row& each : rows) {
    widths.resize(std::max(widths.size(), each.size()));
    for (std::size_t i = 0; i < each.size(); ++i) widths[i] = std::max(widths[i], each[i].size());
  }
  for (const row& each : rows) {
    for (std::size_t i = 0; i < each.size(); ++i) {
      const std::string space(widths[i] - each[i].size(), ' ');
      if (i == 0)
        text += each[i] + space;
      else
        text += "  " + space + each[i];
    }
    text += '\n';
  }
}

/// Writes a table. For each set of labels with which one of the columns' metrics occurs, the table has a row with the
/// name `name_of(labels)`.
void write_table(std::string& text, const two_looks& looks, const char* title, std::span<const column> columns,
                 auto name_of) {
  std::vector<row> rows{{title}};
  for (const column& each : columns) rows[0].emplace_back(each.title);
  std::map<std::map<std::string, std::string>, std::size_t> places;
  for (const top_sample& each : looks.all()) {
    const auto at = std::ranges::find(columns, each.family, &column::family);
    if (at == columns.end()) continue;
    const auto [place, is_new] = places.try_emplace(each.labels, rows.size());
    if (is_new) rows.emplace_back(columns.size() + 1, "-")[0] = escaped(name_of(each.labels));
    rows[place->second][static_cast<std::size_t>(at - columns.begin()) + 1] = short_number(looks.shown(each));
  }
  if (rows.size() == 1) return;
  if (!text.empty()) text += '\n';
  write_rows(text, rows);
}

constexpr std::array<column, 7> worker_columns{{{"busy", "braid_worker_busy"},
                                                {"jobs/s", "braid_worker_jobs"},
                                                {"queue", "braid_worker_local_queue_jobs"},
                                                {"inbox", "braid_worker_inbox_jobs"},
                                                {"steals/s", "braid_worker_steals"},
                                                {"parks/s", "braid_worker_parks"},
                                                {"forks/s", "braid_worker_stolen_forks"}}};
constexpr std::array<column, 8> loop_columns{{{"iterations/s", "braid_loop_iterations"},
                                              {"jobs/s", "braid_loop_jobs"},
                                              {"waits/s", "braid_loop_waits"},
                                              {"I/O/s", "braid_loop_io_events"},
                                              {"timers/s", "braid_loop_timers_fired"},
                                              {"timers", "braid_loop_timers"},
                                              {"tasks", "braid_loop_spawned_tasks"},
                                              {"descriptors", "braid_loop_descriptors"}}};
constexpr std::array<column, 1> queue_columns{{{"jobs", "braid_pool_queue_jobs"}}};
constexpr std::array<column, 5> blocking_columns{{{"threads", "braid_blocking_threads"},
                                                  {"most", "braid_blocking_threads_max"},
                                                  {"idle", "braid_blocking_idle_threads"},
                                                  {"queue", "braid_blocking_queue_jobs"},
                                                  {"jobs/s", "braid_blocking_jobs"}}};
constexpr const char* waiting = "braid_waiting_tasks";

auto joined(const std::map<std::string, std::string>& labels) -> std::string {
  std::string text;
  for (const auto& [name, value] : labels) text += (text.empty() ? "" : " ") + value;
  return text;
}

void write_waits(std::string& text, const two_looks& looks) {
  std::vector<row> rows{{"waiting for", "tasks"}};
  for (const top_sample& each : looks.all())
    if (each.family == waiting) rows.push_back({escaped(joined(each.labels)), short_number(each.value)});
  if (rows.size() == 1) return;
  text += '\n';
  write_rows(text, rows);
}

/// Writes the rates of all growing counters that no other table contains.
void write_rest(std::string& text, const two_looks& looks) {
  std::set<std::string_view> known{waiting};
  const auto note = [&known](std::span<const column> columns) {
    for (const column& each : columns) known.insert(each.family);
  };
  note(worker_columns), note(loop_columns), note(queue_columns), note(blocking_columns);
  std::map<std::string, double> sums;
  for (const top_sample& each : looks.all())
    if (each.is_counter && !known.contains(each.family)) sums[each.family] += looks.shown(each);
  std::vector<row> rows{{"other counters", "/s"}};
  for (const auto& [family, rate] : sums)
    if (rate > 0) rows.push_back({escaped(family), short_number(rate)});
  if (rows.size() == 1) return;
  text += '\n';
  write_rows(text, rows);
}

}  // namespace

auto parse_samples(std::string_view text) -> std::vector<top_sample> {
  std::vector<top_sample> samples;
  while (!text.empty()) {
    const std::string_view line = take(text, '\n');
    if (line.starts_with('#')) continue;
    if (auto made = parse_sample(line)) samples.push_back(std::move(*made));
  }
  return samples;
}

auto to_table(std::span<const top_sample> before, std::span<const top_sample> now, double seconds) -> std::string {
  const two_looks looks(before, now, seconds);
  std::string text;
  write_table(text, looks, "worker", worker_columns, [](const auto& labels) {
    const auto value = [&](const char* name) { return labels.contains(name) ? labels.at(name) : std::string(); };
    return value("pool") + "-" + value("worker");
  });
  write_table(text, looks, "loop", loop_columns, joined);
  write_table(text, looks, "shared queue", queue_columns, joined);
  write_table(text, looks, "blocking pool", blocking_columns, joined);
  write_waits(text, looks);
  write_rest(text, looks);
  return text;
}

}  // namespace braid::doctor
