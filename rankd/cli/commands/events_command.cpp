// rankd/cli/commands/events_command.cpp: rankd events join: joins shown rows with their events, as training data.
#include <rankd/cli/commands/events_command.hpp>

#include <rankd/cli/checks/option_checks.hpp>
#include <rankd/cli/commands/event_labels.hpp>
#include <rankd/cli/atomic_file.hpp>
#include <rankd/cli/output/printable.hpp>
#include <rankd/cli/output/report.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/json_text.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/server/events/event_log.hpp>
#include <rankd/store/line_reader.hpp>

#include <braid/base/detail/number_in.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace rankd {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t bytes_at_once = std::size_t{256} << 10U;

auto unwritable(const join_options& options, std::error_code error) -> std::unexpected<braid::diagnostics> {
  return refused("output_unwritable", "the output cannot be written: " + error.message(), {}, options.out);
}

/// Returns the files whose names begin with a prefix such as `exposures-`, in order.
auto series_files(const fs::path& folder, std::string_view prefix, std::string_view suffix) -> std::vector<fs::path> {
  std::vector<fs::path> out;
  std::error_code ignored;
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored))
    if (const std::string name = at->path().filename().string(); name.starts_with(prefix) && name.ends_with(suffix))
      out.push_back(at->path());
  std::ranges::sort(out);
  return out;
}

/// Calls `see(text, value)` for each line that is a JSON object. Returns the number of lines in each file that are not
/// JSON objects, or for which `see` returned false. Files without such lines are left out.
template <typename See>
auto for_each_line(const std::vector<fs::path>& files, See see) -> braid::checked<lines_by_file> {
  lines_by_file broken;
  for (const fs::path& file : files) {
    const auto unreadable = [&file](std::error_code error) {
      return refused("unreadable_file", "cannot be read: " + error.message(), {}, file);
    };
    auto lines = line_reader::open(file);
    if (!lines) return unreadable(lines.error());
    for (;;) {
      const auto line = lines->next();
      if (!line) return unreadable(line.error());
      if (!*line) break;
      const json value = json::parse((*line)->text, nullptr, false);
      if (!value.is_object() || !see((*line)->text, value)) ++broken[file];
    }
  }
  return broken;
}

auto text_of(const json& value) -> std::string {
  if (value.is_null()) return {};
  return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Returns whether the checksum of a line is correct. A line without a checksum was written by another program, and is
/// accepted.
auto is_intact(std::string_view text, const json& line) -> bool {
  return !line.contains("crc32c") || checked_event_line(text).has_value();
}

/// Returns whether a text is a number. A spreadsheet does not interpret a number as a formula.
auto is_number(std::string_view text) -> bool {
  const bool has_digit = text.find_first_of("0123456789") != std::string_view::npos;  // "-inf" has none
  return has_digit && braid::detail::number_in<double>(text);
}

/// Returns whether a cell with this text needs an apostrophe in front. A spreadsheet might otherwise evaluate the text
/// as a formula, and the text may come from strangers. A text that begins with an apostrophe gets a second apostrophe,
/// so that removing one apostrophe from each such cell restores all texts.
auto wants_mark(std::string_view text) -> bool {
  return !text.empty() && std::string_view("=+-@\t\r'").contains(text.front()) && !is_number(text);
}

/// Appends a cell followed by a comma. An empty text is written with quotes, because an empty cell without quotes means
/// null.
void append_cell(std::string& out, const std::string& text) {
  constexpr std::string_view mark = "'";
  const std::string_view before = wants_mark(text) ? mark : std::string_view();
  if (!text.empty() && text.find_first_of(",\"\r\n") == std::string::npos) {
    out += before;
    out += text;
  } else {
    out += '"';
    out += before;
    for (const char each : text) out.append(each == '"' ? 2 : 1, each);
    out += '"';
  }
  out += ',';
}

/// Appends a JSON value as a cell.
void append_value_cell(std::string& out, const json& value) {
  if (value.is_null())
    out += ',';
  else
    append_cell(out, text_of(value));
}

/// Checks a time in UTC.
auto check_utc_time(const std::string& text) -> std::string {
  return parse_utc_time(text) ? std::string()
                              : quote_name(text) + " is not a time in UTC, such as 2026-11-24T00:00:00Z";
}

/// Ends a row: replaces the comma after the row's last cell by a line feed.
void end_row(std::string& out) { out.back() = '\n'; }

/// Returns a key for a shown row. The key consists of the request and the item, which events contain as well.
auto find_place(const std::string& request, const std::string& item) -> std::string { return request + '\n' + item; }

/// Maps names to numbers. Names are numbered in the order of their first use.
using numbered_names = std::map<std::string, std::size_t>;

auto number_of(numbered_names& names, const std::string& name) -> std::size_t {
  return names.try_emplace(name, names.size()).first->second;
}

/// Returns the item with the index `at`. Extends the vector if it is too short.
template <typename T>
auto item_at(std::vector<T>& items, std::size_t index) -> T& {
  items.resize(std::max(items.size(), index + 1));
  return items[index];
}

class joiner {
 public:
  joiner(const join_options& options, std::vector<event_label> labels, atomic_file& out) noexcept
      : options_(&options), labels_(std::move(labels)), out_(&out) {}

  auto run() -> braid::checked<join_counts> {
    const std::vector<fs::path> shown = series_files(options_->exposures, "exposures-", ".ndjson");
    const auto read = [this](const std::vector<fs::path>& files, auto see) -> braid::checked<void> {
      auto broken = for_each_line(files, see);
      if (!broken) return std::unexpected(broken.error());
      counts_.broken.merge(*broken);
      return {};
    };
    auto done = read(event_files(options_->events), [this](std::string_view text, const json& line) {
      return is_intact(text, line) && add_event(line);
    });
    if (!done) return std::unexpected(std::move(done.error()));
    // This pass ignores broken lines of exposures. They are counted when the exposures are read for the second time.
    const auto noted =
        for_each_line(shown, [this](std::string_view /*text*/, const json& line) { return note_columns(line); });
    if (!noted) return std::unexpected(noted.error());
    if (!options_->captures.empty())
      done = read(series_files(options_->captures, "captures-", ".ndjson"),
                  [this](std::string_view /*text*/, const json& line) { return add_features(line); });
    if (!done) return std::unexpected(std::move(done.error()));
    number_labels();
    write_head();
    done = read(shown, [this](std::string_view /*text*/, const json& line) { return add_rows(line); });
    if (!done) return std::unexpected(std::move(done.error()));
    flush();
    if (failed_) return unwritable(*options_, failed_);
    return counts_;
  }

 private:
  auto add_event(const json& line) -> bool {
    const std::string id = line.value("event_id", json()).is_string() ? line["event_id"].get<std::string>() : "";
    const json type = line.value("type", json());
    if (id.empty() || !type.is_string()) return false;
    const auto happened = line.find("time_ms");
    const bool has_time = happened != line.end() && happened->is_number_integer();
    if (!labels_.empty() && !has_time) return false;
    if (!seen_.insert(id).second) return true;
    ++counts_.events;
    row_event event{.type = number_of(types_, type.get<std::string>())};
    if (!line.contains("request_id") || !line.contains("item_id")) return true;
    if (has_time) set_times(event, line, std::chrono::milliseconds(happened->get<std::int64_t>()));
    for (std::size_t at = 0; at < labels_.size(); ++at)
      if (labels_[at].value == label_value::sum) item_at(event.amounts, at) = find_amount(line, labels_[at].by);
    by_row_[find_place(text_of(line["request_id"]), text_of(line["item_id"]))].push_back(std::move(event));
    return true;
  }

  /// Sets the times of an event. The clock of a client may be wrong, so an event that seems to have happened after its
  /// receipt counts as having happened when it was received.
  static void set_times(row_event& event, const json& line, std::chrono::milliseconds happened) {
    const auto received = line.find("received_ms");
    event.received = received != line.end() && received->is_number_integer()
                         ? std::chrono::milliseconds(received->get<std::int64_t>())
                         : happened;
    event.happened = std::min(happened, event.received);
  }

  static auto find_amount(const json& line, const std::string& field) -> double {
    const auto fields = line.find("fields");
    if (fields == line.end() || !fields->is_object()) return 0;
    const auto found = fields->find(field);
    return found != fields->end() && found->is_number() ? found->get<double>() : 0;
  }

  /// Returns the rows in a line of exposures or captures, as columns of equal length, including `id`. Returns null if
  /// the line has no rows.
  static auto find_rows(const json& line) -> const json* {
    const auto rows = line.find("rows");
    if (rows == line.end() || !rows->is_object() || !rows->contains("id") || !(*rows)["id"].is_array()) return nullptr;
    const std::size_t size = (*rows)["id"].size();
    const bool fits =
        std::ranges::all_of(*rows, [size](const json& each) { return each.is_array() && each.size() == size; });
    return fits ? &*rows : nullptr;
  }

  /// Returns the values that all rows of an exposure share, or an empty object if there are no such values.
  static auto find_shared(const json& line) -> const json& {
    static const json none = json::object();
    const auto shared = line.find("shared");
    return shared != line.end() && shared->is_object() ? *shared : none;
  }

  auto note_columns(const json& line) -> bool {
    const json* rows = find_rows(line);
    if (rows == nullptr) return false;
    for (const json* part : {rows, &find_shared(line)})
      for (const auto& [name, values] : part->items())
        if (name != "id") columns_.insert(name);
    if (options_->captures.empty()) return true;
    const std::string request = text_of(line.value("request_id", json()));
    for (const json& id : (*rows)["id"]) features_.try_emplace(find_place(request, text_of(id)));
    return true;
  }

  /// Adds the values of captured rows to the shown rows with the same request and item. Only the output rows of nodes
  /// are used.
  auto add_features(const json& line) -> bool {
    if (!line.value("node", json()).is_string() || !line.value("side", json()).is_string()) return false;
    const json* rows = find_rows(line);
    if (line["side"] != "out" || !line.contains("rows")) return true;  // a node may have no rows to show
    if (rows == nullptr) return false;
    const std::string node = line["node"].get<std::string>() + ".";
    const std::string request = text_of(line.value("request_id", json()));
    for (std::size_t row = 0; row < (*rows)["id"].size(); ++row) {
      const auto found = features_.find(find_place(request, text_of((*rows)["id"][row])));
      if (found == features_.end()) continue;
      for (const auto& [name, values] : rows->items())
        if (name != "id") item_at(found->second, number_of(feature_names_, node + name)) = values[row];
    }
    return true;
  }

  /// Looks up the number of each event type that a label names.
  void number_labels() {
    std::set<std::string> unseen;
    for (const event_label& each : labels_) {
      auto& numbers = label_types_.emplace_back();
      for (const std::string& type : each.events)
        if (const auto found = types_.find(type); found != types_.end())
          numbers.insert(found->second);
        else
          unseen.insert(type);
    }
    counts_.unseen_types.assign(unseen.begin(), unseen.end());
  }

  void write_head() {
    for (const char* name : {"request_id", "time", "plan", "plan_digest", "user_id", "position", "id"})
      append_cell(text_, name);
    for (const std::string& name : columns_) append_cell(text_, name);
    for (const auto& [name, number] : feature_names_) append_cell(text_, name);
    for (const event_label& each : labels_) append_cell(text_, "label." + each.name);
    if (labels_.empty())
      for (const auto& [type, number] : types_) append_cell(text_, "events." + type);
    end_row(text_);
  }

  auto add_rows(const json& line) -> bool {
    const json* rows = find_rows(line);
    if (rows == nullptr) return false;
    std::chrono::milliseconds shown_at{0};
    if (!labels_.empty()) {
      const auto time = parse_utc_time(text_of(line.value("time", json())));
      if (!time) return false;
      shown_at = std::chrono::floor<std::chrono::milliseconds>(time->time_since_epoch());
      if (options_->unfinished == open_windows::wait && *time + time_until_final(labels_) > until_) {
        ++counts_.open;
        return true;
      }
    }
    ++counts_.answers;
    const std::string request = text_of(line.value("request_id", json()));
    for (std::size_t row = 0; row < (*rows)["id"].size(); ++row) {
      ++counts_.rows;
      add_row(line, *rows, row);
      const std::string place = find_place(request, text_of((*rows)["id"][row]));
      if (!feature_names_.empty()) add_feature_cells(place);
      const auto found = by_row_.find(place);
      const auto events =
          found == by_row_.end() ? std::span<const row_event>() : std::span(std::as_const(found->second));
      if (labels_.empty())
        add_counts(events);
      else
        add_labels(events, shown_at);
      end_row(text_);
    }
    if (text_.size() >= bytes_at_once) flush();
    return true;
  }

  /// Appends the cells whose values are in the exposure itself.
  void add_row(const json& line, const json& rows, std::size_t row) {
    for (const char* name : {"request_id", "time", "plan", "plan_digest", "user_id"})
      append_value_cell(text_, line.value(name, json()));
    append_cell(text_, std::to_string(row + 1));
    append_value_cell(text_, rows["id"][row]);
    const json& shared = find_shared(line);
    for (const std::string& name : columns_) {
      const auto column = rows.find(name);
      append_value_cell(text_, column == rows.end() ? shared.value(name, json()) : (*column)[row]);
    }
  }

  void add_feature_cells(const std::string& place) {
    std::vector<json>& values = features_.at(place);
    for (const auto& [name, number] : feature_names_) append_value_cell(text_, item_at(values, number));
  }

  /// Appends the number of events of each type.
  void add_counts(std::span<const row_event> events) {
    for (const auto& [type, number] : types_)
      append_cell(text_, std::to_string(std::ranges::count(events, number, &row_event::type)));
    counts_.matched += events.size();
  }

  /// Appends the labels of a row that was shown at `shown`.
  void add_labels(std::span<const row_event> events, std::chrono::milliseconds shown) {
    std::vector<std::uint64_t> counts(labels_.size());
    std::vector<double> sums(labels_.size());
    for (const row_event& event : events) {
      bool is_used = false;
      for (std::size_t at = 0; at < labels_.size(); ++at) {
        if (!label_types_[at].contains(event.type) || !is_within(labels_[at], event, shown)) continue;
        is_used = true;
        ++counts[at];
        if (at < event.amounts.size()) sums[at] += event.amounts[at];
      }
      counts_.matched += is_used ? 1 : 0;
    }
    for (std::size_t at = 0; at < labels_.size(); ++at) {
      std::string cell;
      if (labels_[at].value == label_value::sum)
        append_json_number(cell, sums[at]);
      else
        cell =
            std::to_string(labels_[at].value == label_value::any ? std::min<std::uint64_t>(counts[at], 1) : counts[at]);
      append_cell(text_, cell);
    }
  }

  void flush() {
    if (const auto done = out_->write(text_); !done && !failed_) failed_ = done.error();
    text_.clear();
  }

  const join_options* options_;
  std::vector<event_label> labels_;  // empty: events are counted by type
  atomic_file* out_;
  utc_time until_ =
      options_->until.value_or(std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now()));
  join_counts counts_;
  std::unordered_set<std::string> seen_;  // ids of events
  numbered_names types_;
  std::vector<std::set<std::size_t>> label_types_;  // by label: the numbers of its types
  std::unordered_map<std::string, std::vector<row_event>> by_row_;
  std::set<std::string> columns_;
  numbered_names feature_names_;
  std::unordered_map<std::string, std::vector<json>> features_;  // by row: captured values by number of their name
  std::string text_;
  std::error_code failed_;
};

/// Refuses a folder of captures that contains Arrow files, which this command does not read.
auto check_captures(const fs::path& folder) -> braid::checked<void> {
  const auto streams = series_files(folder, "captures-", ".arrows");
  if (streams.empty()) return {};
  return refused("unsupported_form", "`rankd events join` reads captures as lines of JSON, but this is an Arrow file",
                 "run `rankd serve` with `--captures-form ndjson`", streams.front());
}

}  // namespace

auto join_events(const join_options& options, atomic_file& out) -> braid::checked<join_counts> {
  std::vector<fs::path> folders{options.exposures, options.events};
  if (!options.captures.empty()) folders.push_back(options.captures);
  for (const fs::path& folder : folders)
    if (std::error_code error; !fs::is_directory(folder, error))
      return refused("unreadable_file", "there is no such folder", {}, folder);
  if (!options.captures.empty())
    if (auto fine = check_captures(options.captures); !fine) return std::unexpected(std::move(fine.error()));
  std::vector<event_label> labels;
  if (!options.labels.empty()) {
    auto loaded = load_labels(options.labels);
    if (!loaded) return std::unexpected(std::move(loaded.error()));
    labels = std::move(*loaded);
  }
  return joiner(options, std::move(labels), out).run();
}

namespace {

/// Returns a summary for the user of the command: how many rows, answers and events were joined.
auto summary(const join_counts& counts) -> std::string {
  std::string out = counted(counts.rows, "row") + " of " + counted(counts.answers, "answer") + ", with " +
                    std::to_string(counts.matched) + " of " + counted(counts.events, "event") + "\n";
  if (counts.open != 0)
    out += counted(counts.open, "answer") + (counts.open == 1 ? " was" : " were") +
           " left out, because later events may still change the labels" + "\n";
  return out;
}

}  // namespace

auto join_command(const join_options& options) -> exit_status {
  auto out = atomic_file::create(options.out);
  if (!out) return report(unwritable(options, out.error()).error());
  const auto counts = join_events(options, *out);
  if (!counts) return report(counts.error());
  if (const auto done = out->finish(); !done) return report(unwritable(options, done.error()).error());
  for (const auto& [file, count] : counts->broken)
    std::fprintf(stderr, "rankd: %s: %s skipped (no data, or damaged)\n", printable(file.string()).c_str(),
                 (counted(count, "line") + (count == 1 ? " was" : " were")).c_str());
  for (const std::string& type : counts->unseen_types)
    std::fprintf(stderr, "rankd: a label names the event type %s, but no event has this type\n",
                 quote_name(type).c_str());
  if (!options.out.empty()) print(summary(*counts));
  return exit_status::fine;
}

void add_events(CLI::App& app, std::function<exit_status()>& chosen) {
  auto* command = app.add_subcommand("events", "Create training data from shown rows and their events");
  command->require_subcommand(1);
  auto* join = command->add_subcommand("join", "Write the rows that answers have shown, with their events, as CSV");
  auto options = std::make_shared<join_options>();
  join->add_option("--exposures", options->exposures, "Folder that `rankd serve --exposures` has filled")
      ->required()
      ->check(check_not_empty)
      ->type_name("DIR");
  join->add_option("--events", options->events, "Folder that `rankd serve --events` has filled")
      ->required()
      ->check(check_not_empty)
      ->type_name("DIR");
  join->add_option("--captures", options->captures,
                   "Folder that `rankd serve --captures` has filled; adds its columns to the rows that were shown")
      ->check(check_not_empty)
      ->type_name("DIR");
  auto* labels =
      join->add_option("--labels", options->labels,
                       "TOML file that defines labels and their windows; default: one count for each event type")
          ->check(check_not_empty)
          ->type_name("FILE");
  join->add_option_function<std::string>(
          "--until", [options](const std::string& text) { options->until = parse_utc_time(text); },
          "Time up to which the events are complete, such as 2026-11-24T00:00:00Z; default: now")
      ->check(check_utc_time)
      ->needs(labels)
      ->type_name("TIME");
  join->add_flag_callback(
          "--include-open", [options] { options->unfinished = open_windows::include; },
          "Also write answers whose labels may still change, because later events may count")
      ->needs(labels);
  join->add_option("--out", options->out, "File to write; default: standard output")
      ->check(check_not_empty)
      ->type_name("FILE");
  join->callback([options, &chosen] { chosen = [options] { return join_command(*options); }; });
}

}  // namespace rankd
