// rankd/cli/commands/data_commands.cpp: rankd load and rankd init: fill stores, and create projects.
#include <rankd/cli/commands/commands.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/write_file.hpp>
#include <rankd/cli/checks/data_check.hpp>
#include <rankd/cli/projects/demo.hpp>
#include <rankd/cli/output/printable.hpp>
#include <rankd/cli/output/progress.hpp>
#include <rankd/cli/output/report.hpp>
#include <rankd/embed/workspace.hpp>
#include <rankd/store/load_store.hpp>
#include <rankd/store/redis_load.hpp>
#include <rankd/store/redis_options.hpp>

#include <braid/base/config.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace rankd {
namespace {

namespace fs = std::filesystem;

/// The maximum time that a load waits until all servers that read the store have switched to the new data.
constexpr auto patience_with_servers = std::chrono::seconds(60);

/// Returns the data files. A folder is replaced by its *.ndjson files, sorted by name.
auto find_files(const std::vector<fs::path>& data) -> braid::checked<std::vector<fs::path>> {
  std::vector<fs::path> files;
  for (const fs::path& each : data) {
    std::error_code error;
    if (!fs::is_directory(each, error)) {
      files.push_back(each);
      continue;
    }
    std::vector<fs::path> inside;
    for (const auto& entry : fs::directory_iterator(each, error))
      if (entry.path().extension() == ".ndjson") inside.push_back(entry.path());
    if (inside.empty()) return refused("data_missing", "folder `" + each.string() + "` contains no *.ndjson file");
    std::ranges::sort(inside);
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

/// Returns the files to load: those that the command line names, or else those in the project's data folder.
auto find_data(const load_command_options& options) -> braid::checked<std::vector<fs::path>> {
  std::vector<fs::path> data = options.data;
  if (data.empty()) {
    const auto in = workspace::open(options.project);
    if (!in) return std::unexpected(in.error());
    if (!in->where.data) return refused("data_missing", "the project names no data folder", "name files");
    data.push_back(*in->where.data);
  }
  return find_files(data);
}

/// The result of a load, and the store that was filled.
struct done_load {
  load_report report;
  std::string place;
  braid::diagnostics warnings;
  column_check::counts counts;
};

/// The checks of loaded data against the plans of the project. Outside of a project, nothing is checked.
class project_rules {
 public:
  project_rules(const fs::path& project, const std::vector<fs::path>& files) {
    if (auto in = workspace::open(project)) {
      workspace_.emplace(std::move(*in));
      check_.emplace(*workspace_, data_check_options{.files = files});
    }
  }

  [[nodiscard]] auto lengths() const -> vector_lengths {
    return workspace_ ? list_lengths(workspace_->declared) : vector_lengths();
  }
  auto viewer() -> record_viewer {
    if (!check_) return nullptr;
    return [this](std::string_view key, const record_view& record) { check_->columns().see(key, record); };
  }

  /// Returns warnings about values that plans read but will not find in the store. After a resumed load, missing
  /// columns are not reported, because only some of the records were seen.
  [[nodiscard]] auto warnings(const load_report& done) -> braid::diagnostics {
    if (!check_) return {};
    braid::diagnostics out = check_->columns().malformed_values();
    if (done.resumed_at == 0) out.append(check_->columns().missing_columns());
    out.append(check_->columns().unread_records());
    return out;
  }

  /// Returns the number of warnings of each kind.
  [[nodiscard]] auto count(const load_report& done) -> column_check::counts {
    if (!check_) return {};
    column_check::counts out = check_->columns().count();
    if (done.resumed_at != 0) out.missing_columns = 0;
    return out;
  }

  /// Returns the function whose diagnostics make a strict load fail, or null for a load that is not strict.
  auto refusal(bool is_strict) -> std::function<braid::diagnostics()> {
    if (!is_strict || !check_) return nullptr;
    return [this] { return warnings({}); };
  }

 private:
  std::optional<workspace> workspace_;
  std::optional<data_check> check_;  ///< of `workspace_`
};

auto load_folder(const load_command_options& options) -> braid::checked<done_load> {
  const auto store = store_folder(options.project, options.store);
  if (!store) return std::unexpected(store.error());
  const auto files = find_data(options);
  if (!files) return std::unexpected(files.error());
  project_rules rules(options.project, *files);
  progress_bar bar("loading");
  auto loaded = load_store(*store, *files,
                           {.mode = options.replace ? load_mode::replace : load_mode::merge,
                            .progress = bar.for_load(),
                            .vectors = rules.lengths(),
                            .seen = rules.viewer(),
                            .refused = rules.refusal(options.strict),
                            .wait_for_readers = patience_with_servers});
  if (!loaded) return std::unexpected(std::move(loaded.error()));
  return done_load{*loaded, store->string(), rules.warnings(*loaded), rules.count(*loaded)};
}

auto load_server(const load_command_options& options) -> braid::checked<done_load> {
  BRAID_EXPECTS(!options.replace, "a load into Redis replaces only the keys in its data");
  const auto server = parse_redis_options(options.store);
  if (!server) return std::unexpected(server.error());
  const auto files = find_data(options);
  if (!files) return std::unexpected(files.error());
  project_rules rules(options.project, *files);
  progress_bar bar("loading");
  auto loaded = load_redis(*server, *files,
                           {.progress = bar.for_load(),
                            .vectors = rules.lengths(),
                            .seen = rules.viewer(),
                            .refused = rules.refusal(options.strict)});
  if (!loaded) return std::unexpected(std::move(loaded.error()));
  return done_load{*loaded, find_place(*server), rules.warnings(*loaded), rules.count(*loaded)};
}

/// Returns a summary of warnings, such as "3 malformed values, 1 unread record".
auto make_summary(const column_check::counts& all) -> std::string {
  std::string out;
  const auto add = [&](std::uint64_t count, std::string_view name) {
    if (count != 0) out += (out.empty() ? "" : ", ") + counted(count, name);
  };
  add(all.malformed_values, "malformed value");
  add(all.missing_columns, "missing column");
  add(all.unread_records, "unread record");
  return out;
}

/// Loads the data that the options name, and prints a summary with warnings.
auto load_once(const load_command_options& options) -> braid::checked<void> {
  const auto done = is_redis_url(options.store) ? load_server(options) : load_folder(options);
  if (!done) return std::unexpected(done.error());
  const load_report& loaded = done->report;
  print("loaded " + counted(loaded.records, "record") + " into " + printable(done->place) +
        (loaded.kept == 0 ? "" : ", kept " + std::to_string(loaded.kept)) +
        (loaded.deleted == 0 ? "" : ", deleted " + std::to_string(loaded.deleted)) +
        (loaded.resumed_at == 0 ? "" : ", continued an interrupted load at byte " + std::to_string(loaded.resumed_at)) +
        (loaded.readers == store_readers::changed ? "; running servers use the new data" : "") + "\n");
  if (loaded.readers == store_readers::behind)
    std::fputs("warning: a running server has not changed to the new data within 60 s; its log says why\n", stderr);
  for (const braid::diagnostic& each : done->warnings)
    std::fputs(("warning: " + printable(braid::diagnostics(each))).c_str(), stderr);
  if (!done->warnings.empty()) std::fputs(("warnings: " + make_summary(done->counts) + "\n").c_str(), stderr);
  return {};
}

/// Returns whether the error code of a failed load means that the same data may load successfully later.
auto is_momentary(std::string_view code) -> bool {
  constexpr std::array<std::string_view, 8> codes{"store_busy",       "disk_full",      "store_write_failed",
                                                  "data_unreadable",  "store_timeout",  "store_unreachable",
                                                  "store_overloaded", "store_not_ready"};
  return std::ranges::find(codes, code) != codes.end();
}

/// A watched folder, whose files are loaded as soon as they are complete.
class watched_folder {
 public:
  explicit watched_folder(const load_command_options& options) : options_(options), folder_(options.watched) {
    options_.watched.clear();
  }

  /// Loads the files that have not changed since the last call, sorted by name, and moves each file to `done` or
  /// `failed`. Returns false after a temporary failure; that file and all later files then stay in the folder.
  auto look() -> bool {
    std::map<fs::path, state> now;
    std::error_code error;
    for (auto at = fs::directory_iterator(folder_, error); !error && at != fs::directory_iterator();
         at.increment(error))
      if (std::error_code gone; is_data(at->path()) && at->is_regular_file(gone))
        now.emplace(at->path(), state{at->file_size(gone), at->last_write_time(gone)});
    bool is_fine = true;
    for (const auto& [file, found] : now) {
      const auto before = seen_.find(file);
      if (before == seen_.end() || before->second != found) break;  // in their order, so that the last value wins
      is_fine = load(file);
      if (!is_fine) break;
    }
    seen_ = std::move(now);
    return is_fine;
  }

 private:
  struct state {
    std::uintmax_t bytes = 0;
    fs::file_time_type changed;
    auto operator==(const state&) const -> bool = default;
  };

  static auto is_data(const fs::path& file) -> bool {
    return file.extension() == ".ndjson" && !file.filename().string().starts_with('.');
  }

  auto load(const fs::path& file) -> bool {
    options_.data = {file};
    const auto done = load_once(options_);
    std::fflush(stdout);
    if (done) return move(file, "done");
    const std::string text = printable(done.error());
    const bool is_new = std::exchange(complaint_, text) != text;
    if (is_new) std::fputs(text.c_str(), stderr);
    if (is_momentary(done.error().front().code)) return false;
    complaint_.clear();
    if (!move(file, "failed")) return false;
    static_cast<void>(replace_file(folder_ / "failed" / (file.filename().string() + ".errors"), text));
    return true;
  }

  /// Moves a loaded file into a subfolder. Returns false if that fails. The file then stays in the folder, and will be
  /// loaded again.
  auto move(const fs::path& file, std::string_view subfolder) -> bool {
    std::error_code error;
    fs::create_directories(folder_ / subfolder, error);
    if (!error) fs::rename(file, folder_ / subfolder / file.filename(), error);
    if (!error) return true;
    const std::string text = printable(file.string()) + " cannot be moved to `" + std::string(subfolder) +
                             "`: " + error.message() + "; it will be loaded again\n";
    if (std::exchange(complaint_, text) != text) std::fputs(text.c_str(), stderr);
    return false;
  }

  load_command_options options_;
  const fs::path folder_;
  std::map<fs::path, state> seen_;
  std::string complaint_;  // the last one that was printed
};

volatile std::sig_atomic_t is_asked_to_end = 0;  // written by a signal handler

auto watch(const load_command_options& options) -> exit_status {
  for (const int each : {SIGTERM, SIGINT}) std::signal(each, [](int) { is_asked_to_end = 1; });
  watched_folder folder(options);
  print("watching " + printable(options.watched.string()) + "\n");
  std::fflush(stdout);
  while (is_asked_to_end == 0) {
    const bool is_fine = folder.look();
    std::this_thread::sleep_for(std::chrono::milliseconds(is_fine ? 200 : 1000));
  }
  return exit_status::fine;
}

}  // namespace

auto load_command(const load_command_options& options) -> exit_status {
  if (!options.watched.empty()) return watch(options);
  const auto done = load_once(options);
  return done ? exit_status::fine : report(done.error());
}

auto init_command(const init_options& options) -> exit_status {
  braid::checked<demo_report> written;
  {
    progress_bar bar("writing " + printable(options.folder.string()));
    written =
        write_demo_project(options.folder, {.kind = options.kind, .size = options.size, .progress = bar.for_demo()});
  }
  if (!written) return report(written.error());
  const std::uint64_t megabytes = written->bytes / 1'000'000;
  print("wrote " + counted(written->files, "file") + (megabytes == 0 ? "" : " (" + std::to_string(megabytes) + " MB)") +
        " into " + printable(options.folder.string()) + "\n");
  return exit_status::fine;
}

}  // namespace rankd
