// rankd/cli/data_commands.cpp: rankd load and rankd init: filling stores, making projects.
#include <rankd/cli/commands.hpp>
#include <rankd/cli/complaint.hpp>
#include <rankd/cli/demo.hpp>
#include <rankd/cli/printable.hpp>
#include <rankd/cli/progress.hpp>
#include <rankd/cli/report.hpp>
#include <rankd/cli/workspace.hpp>
#include <rankd/store/load.hpp>

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

namespace rankd {
namespace {

namespace fs = std::filesystem;

/// Folders replaced by their *.ndjson files, in order of their names.
auto files_of(const std::vector<fs::path>& data) -> braid::checked<std::vector<fs::path>> {
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
    if (inside.empty()) return refused("data_missing", "folder `" + each.string() + "` holds no *.ndjson file");
    std::ranges::sort(inside);
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

struct load_plan_of_command {
  fs::path store;
  std::vector<fs::path> files;
};

/// What to load where: what the command line leaves open, the project says.
auto resolve(const load_command_options& options) -> braid::checked<load_plan_of_command> {
  std::vector<fs::path> data = options.data;
  auto store = store_folder(options.project, options.store);
  if (!store) return std::unexpected(std::move(store.error()));
  if (data.empty()) {
    const auto in = workspace::open(options.project);
    if (!in) return std::unexpected(in.error());
    if (!in->where.data) return refused("data_missing", "the project names no data folder", "name files");
    data.push_back(*in->where.data);
  }
  auto files = files_of(data);
  if (!files) return std::unexpected(std::move(files.error()));
  return load_plan_of_command{std::move(*store), std::move(*files)};
}

}  // namespace

auto load_command(const load_command_options& options) -> exit_status {
  const auto what = resolve(options);
  if (!what) return report(what.error());
  braid::checked<load_report> loaded;
  {
    progress_bar bar("loading");
    loaded = load_store(what->store, what->files,
                        {.mode = options.replace ? load_mode::replace : load_mode::merge, .progress = bar.for_load()});
  }
  if (!loaded) return report(loaded.error());
  print("loaded " + counted(loaded->records, "record") + " into " + printable(what->store.string()) +
        (loaded->kept == 0 ? "" : ", kept " + std::to_string(loaded->kept)) +
        (loaded->resumed_at == 0 ? ""
                                 : ", gone on with an interrupted load at byte " + std::to_string(loaded->resumed_at)) +
        "\n");
  return exit_status::fine;
}

auto init_demo_command(const init_options& options) -> exit_status {
  braid::checked<demo_report> written;
  {
    progress_bar bar("writing " + printable(options.folder.string()));
    written = write_demo_project(options.folder, {.size = options.size, .progress = bar.for_demo()});
  }
  if (!written) return report(written.error());
  print("wrote " + counted(written->files, "file") + " (" + std::to_string(written->bytes / 1'000'000) + " MB) into " +
        printable(options.folder.string()) + "\n");
  return exit_status::fine;
}

}  // namespace rankd
