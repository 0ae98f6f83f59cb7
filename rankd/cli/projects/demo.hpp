// rankd/cli/projects/demo.hpp: writing a project that can be tried at once.
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

/// The initial contents of a project: the made-up network, an example of a plan on rows of the request, or a made-up
/// shop whose ids are texts.
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

/// Writes rankd.toml, README.md, registries, plans, settings for npm and editors, and the data of a demo into `folder`,
/// which is created if necessary: the same bytes for the same options. A failure deletes unfinished files; after a
/// killed process, the demo is written from the beginning. Until it is complete, the folder holds rankd.toml.unfinished
/// in place of rankd.toml, and is no project. Blocks: on the disk.
/// Errors: demo_exists (such a project is there already), folder_not_empty, demo_busy (another process is writing one
/// there), demo_write_failed.
auto write_demo_project(const std::filesystem::path& folder, const demo_options& options)
    -> braid::checked<demo_report>;

}  // namespace rankd
