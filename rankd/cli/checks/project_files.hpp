// rankd/cli/checks/project_files.hpp: checks the files of a project that concern no single plan, as `rankd serve` does.
#pragma once

#include <rankd/embed/workspace.hpp>

#include <braid/base/error.hpp>

#include <string>
#include <vector>

namespace rankd {

/// The diagnostics about one file of a project.
struct file_problems {
  std::string file;  ///< its name, such as `events.toml`
  braid::diagnostics problems;
};

/// Checks what a server would refuse when it starts, apart from the plans: budgets, shadows and redacted names in
/// rankd.toml, the plans of experiments, and the rules for events. Returns only files with problems. `plans` are all
/// plans of the project. Blocks: on the disk.
auto find_file_problems(const workspace& workspace, const std::vector<std::string>& plans)
    -> std::vector<file_problems>;

}  // namespace rankd
