// rankd/cli/commands/events_command.cpp: rankd events join: joins shown rows with their events, as training data.
#include <rankd/cli/commands/events_command.hpp>

#include <rankd/cli/checks/option_checks.hpp>
#include <rankd/cli/atomic_file.hpp>
#include <rankd/cli/output/report.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/server/events/event_log.hpp>
#include <rankd/store/line_reader.hpp>

#include <braid/base/detail/number_in.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
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

/// Returns the files of a series of exposures, in order.
auto exposure_files(const fs::path& folder) -> std::vector<fs::path> {
  std::vector<fs::path> out;
  std::error_code ignored;
  for (fs::directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored))
    if (const std::string name = at->path().filename().string();
        name.starts_with("exposures-") && name.ends_with(".ndjson"))
      out.push_back(at->path());
  std::ranges::sort(out);
  return out;
}

/// Calls `see(text, value)` for each line that is a JSON object. Returns the number of lines that are not JSON objects,
/// or for which `see` returned false.
template <typename See>
auto for_each_line(const std::vector<fs::path>& files, See see) -> braid::checked<std::uint64_t> {
  std::uint64_t broken = 0;
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
      const bool is_known = value.is_object() && see((*line)->text, value);
      broken += is_known ? 0 : 1;
    }
  }
  return broken;
}

auto text_of(const json& value) -> std::string {
  if (value.is_null()) return {};
  return value.is_string() ? value.get<std::string>() : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Returns whether the checksum of a line is right. A line without a checksum was written by another program, and is
/// accepted.
auto is_intact(std::string_view text, const json& line) -> bool {
  return !line.contains("crc32c") || checked_event_line(text).has_value();
}

/// Returns whether a text is a number. A spreadsheet does not run a number as a formula.
auto is_number(std::string_view text) -> bool {
  const bool has_digit = text.find_first_of("0123456789") != std::string_view::npos;  // "-inf" has none
  return has_digit && braid::detail::number_in<double>(text);
}

/// Returns whether a cell with this text needs an apostrophe in front. A spreadsheet might otherwise run the text as a
/// formula, and the text may come from strangers. A text that begins with an apostrophe gets another one, so that
/// removing one from each marked cell restores all texts.
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

/// Ends a row: replaces the comma after its last cell by a line feed.
void end_row(std::string& out) { out.back() = '\n'; }

/// Returns a key for a shown row: the request and the item, as events contain them.
auto find_place(const std::string& request, const std::string& item) -> std::string { return request + '\n' + item; }

class joiner {
 public:
  joiner(const join_options& options, atomic_file& out) noexcept : options_(&options), out_(&out) {}

  auto run() -> braid::checked<join_counts> {
    const std::vector<fs::path> shown = exposure_files(options_->exposures);
    auto broken = for_each_line(event_files(options_->events), [this](std::string_view text, const json& line) {
      return is_intact(text, line) && add_event(line);
    });
    if (!broken) return std::unexpected(std::move(broken.error()));
    counts_.broken += *broken;
    broken = for_each_line(shown, [this](std::string_view /*text*/, const json& line) { return note_columns(line); });
    if (!broken) return std::unexpected(std::move(broken.error()));
    counts_.broken += *broken;
    write_head();
    broken = for_each_line(shown, [this](std::string_view /*text*/, const json& line) { return add_rows(line); });
    if (!broken) return std::unexpected(std::move(broken.error()));
    flush();
    if (failed_) return unwritable(*options_, failed_);
    return counts_;
  }

 private:
  auto add_event(const json& line) -> bool {
    const std::string id = line.value("event_id", json()).is_string() ? line["event_id"].get<std::string>() : "";
    const json type = line.value("type", json());
    if (id.empty() || !type.is_string()) return false;
    if (!seen_.insert(id).second) return true;
    ++counts_.events;
    const std::size_t number = types_.try_emplace(type.get<std::string>(), types_.size()).first->second;
    if (!line.contains("request_id") || !line.contains("item_id")) return true;
    auto& of_row = by_row_[find_place(text_of(line["request_id"]), text_of(line["item_id"]))];
    of_row.resize(std::max(of_row.size(), number + 1));
    ++of_row[number];
    return true;
  }

  /// Returns the rows of an exposure: columns of equal length, including `id`; null if the line has no rows.
  static auto find_rows(const json& line) -> const json* {
    const auto rows = line.find("rows");
    if (rows == line.end() || !rows->is_object() || !rows->contains("id") || !(*rows)["id"].is_array()) return nullptr;
    const std::size_t size = (*rows)["id"].size();
    const bool fits =
        std::ranges::all_of(*rows, [size](const json& each) { return each.is_array() && each.size() == size; });
    return fits ? &*rows : nullptr;
  }

  auto note_columns(const json& line) -> bool {
    const json* rows = find_rows(line);
    if (rows == nullptr) return false;
    for (const auto& [name, values] : rows->items())
      if (name != "id") columns_.insert(name);
    return true;
  }

  void write_head() {
    for (const char* name : {"request_id", "time", "plan", "plan_digest", "user_id", "position", "id"})
      append_cell(text_, name);
    for (const std::string& name : columns_) append_cell(text_, name);
    for (const auto& [type, number] : types_) append_cell(text_, "events." + type);
    end_row(text_);
  }

  auto add_rows(const json& line) -> bool {
    const json* rows = find_rows(line);
    if (rows == nullptr) return false;
    ++counts_.answers;
    const json request_id = line.value("request_id", json());
    const std::string request = text_of(request_id);
    for (std::size_t at = 0; at < (*rows)["id"].size(); ++at) {
      ++counts_.rows;
      const std::string id = text_of((*rows)["id"][at]);
      append_value_cell(text_, request_id);
      for (const char* name : {"time", "plan", "plan_digest", "user_id"})
        append_value_cell(text_, line.value(name, json()));
      append_cell(text_, std::to_string(at + 1));
      append_value_cell(text_, (*rows)["id"][at]);
      for (const std::string& name : columns_) {
        const auto column = rows->find(name);
        append_value_cell(text_, column == rows->end() ? json() : (*column)[at]);
      }
      const auto found = by_row_.find(find_place(request, id));
      for (const auto& [type, number] : types_) {
        const bool has = found != by_row_.end() && number < found->second.size();
        const std::uint64_t count = has ? found->second[number] : 0;
        counts_.matched += count;
        append_cell(text_, std::to_string(count));
      }
      end_row(text_);
    }
    if (text_.size() >= bytes_at_once) flush();
    return true;
  }

  void flush() {
    if (const auto done = out_->write(text_); !done && !failed_) failed_ = done.error();
    text_.clear();
  }

  const join_options* options_;
  atomic_file* out_;
  join_counts counts_;
  std::unordered_set<std::string> seen_;  // ids of events
  std::map<std::string, std::size_t> types_;
  std::unordered_map<std::string, std::vector<std::uint64_t>> by_row_;  // events by number of their type
  std::set<std::string> columns_;
  std::string text_;
  std::error_code failed_;
};

}  // namespace

auto join_events(const join_options& options, atomic_file& out) -> braid::checked<join_counts> {
  for (const fs::path& folder : {options.exposures, options.events})
    if (std::error_code error; !fs::is_directory(folder, error))
      return refused("unreadable_file", "there is no such folder", {}, folder);
  return joiner(options, out).run();
}

auto join_command(const join_options& options) -> exit_status {
  auto out = atomic_file::create(options.out);
  if (!out) return report(unwritable(options, out.error()).error());
  const auto counts = join_events(options, *out);
  if (!counts) return report(counts.error());
  if (const auto done = out->finish(); !done) return report(unwritable(options, done.error()).error());
  if (counts->broken != 0)
    std::fprintf(stderr, "rankd: %s skipped (no data, or damaged)\n",
                 (counted(counts->broken, "line") + (counts->broken == 1 ? " was" : " were")).c_str());
  if (!options.out.empty())
    print(counted(counts->rows, "row") + " of " + counted(counts->answers, "answer") + ", with " +
          std::to_string(counts->matched) + " of " + counted(counts->events, "event") + "\n");
  return exit_status::fine;
}

void add_events(CLI::App& app, std::function<exit_status()>& chosen) {
  auto* command = app.add_subcommand("events", "Make training data from shown rows and their events");
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
  join->add_option("--out", options->out, "File to write; default: standard output")
      ->check(check_not_empty)
      ->type_name("FILE");
  join->callback([options, &chosen] { chosen = [options] { return join_command(*options); }; });
}

}  // namespace rankd
