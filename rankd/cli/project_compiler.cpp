// rankd/cli/project_compiler.cpp: the compiler of a project looked for as npm and shells do.
#include <rankd/cli/project_compiler.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

namespace rankd {
namespace {

namespace fs = std::filesystem;

auto is_program(const fs::path& file) -> bool {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  constexpr fs::perms any = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
  return !error && fs::is_regular_file(status) && (status.permissions() & any) != fs::perms::none;
}

}  // namespace

auto find_compiler(const fs::path& root, const std::string& path) -> std::string {
  std::error_code error;
  for (fs::path folder = fs::absolute(root, error); !folder.empty(); folder = folder.parent_path()) {
    if (const fs::path own = folder / "node_modules" / ".bin" / "dslc"; is_program(own)) return own.string();
    if (folder == folder.parent_path()) break;
  }
  for (std::string_view rest = path; !rest.empty();) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    if (const fs::path file = fs::path(folder) / "dslc"; !folder.empty() && is_program(file)) return file.string();
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
  }
  return {};
}

auto open_drafts(const workspace& in, const std::string& compiler) -> std::unique_ptr<draft_plans> {
  const char* const path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nothing of ours changes it
  std::string program = compiler.empty() ? find_compiler(in.where.root, path == nullptr ? "" : path) : compiler;
  if (program.empty()) {
    std::fputs("rankd: dslc is not installed, so the page shows plans and does not edit them (docs/plans.md)\n",
               stderr);
    return nullptr;
  }
  return std::make_unique<draft_plans>(
      draft_plans::settings{.compiler = {.program = std::move(program), .project = in.where.root},
                            .bind = [&in](const std::string& artifact, const std::string& name) {
                              return in.load_plan_text(artifact, name);
                            }});
}

}  // namespace rankd
