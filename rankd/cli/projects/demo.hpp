// rankd/cli/projects/demo.hpp: writes a new project that can be used at once.
#pragma once

#include <rankd/cli/projects/demo_data.hpp>

#include <braid/base/error.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

namespace rankd {

struct demo_progress {
  std::string_view file;  ///< being written, relative to the project
  std::uint64_t lines_done = 0;
  std::uint64_t lines_total = 0;  ///< of all data files
};

/// The initial contents of a project: a synthetic social network, an example plan for candidates of the request, or a
/// synthetic shop whose ids are texts.
enum class project_kind : std::uint8_t { demo, empty, shop };

struct demo_options {
  project_kind kind = project_kind::demo;
  demo_size size;  ///< at least one user
  std::function<void(const demo_progress&)> progress = nullptr;
};

struct demo_report {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};

/// Writes a new project into `folder`, which is created if necessary: rankd.toml, README.md, registries, plans,
/// settings for npm and editors, and data. The same options produce the same bytes. If writing fails, unfinished files
/// are deleted. If the process is killed, the next call writes the project from the beginning. Until the project is
/// complete, rankd.toml is called rankd.toml.unfinished, so that no command treats the folder as a project. Blocks: on
/// the disk.
/// Errors: demo_exists (the folder already contains such a project), folder_not_empty, demo_busy (another process is
/// writing a project there), demo_write_failed.
auto write_demo_project(const std::filesystem::path& folder, const demo_options& options)
    -> braid::checked<demo_report>;

}  // namespace rankd
