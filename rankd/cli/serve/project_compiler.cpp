// rankd/cli/serve/project_compiler.cpp: finds the compiler of a project in the project's packages, like npm, or in
// PATH, like a shell.
#include <rankd/cli/serve/project_compiler.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

namespace rankd {
namespace {

namespace fs = std::filesystem;

auto is_program(const fs::path& file) -> bool {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  constexpr fs::perms any = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
  return !error && fs::is_regular_file(status) && (status.permissions() & any) != fs::perms::none;
}

/// Returns whether a folder belongs to this user or to root, and other users cannot write to it.
auto is_trusted(const fs::path& folder) -> bool {
  struct ::stat found{};
  if (::stat(folder.c_str(), &found) != 0) return false;
  return (found.st_uid == ::geteuid() || found.st_uid == 0) && (found.st_mode & S_IWOTH) == 0;
}

}  // namespace

/// Finds dslc in trusted folders only. Other users may be able to write to a folder above the project, such as /tmp,
/// and a program from there would run with this user's rights.
auto find_compiler(const fs::path& root, const std::string& path) -> std::string {
  std::error_code error;
  const fs::path project = fs::absolute(root, error);
  for (fs::path folder = project; !folder.empty(); folder = folder.parent_path()) {
    if (folder != project && !is_trusted(folder)) break;
    if (const fs::path own = folder / "node_modules" / ".bin" / "dslc"; is_program(own)) return own.string();
    if (folder == folder.parent_path()) break;
  }
  for (std::string_view rest = path; !rest.empty();) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    if (const fs::path file = fs::path(folder) / "dslc"; folder.starts_with('/') && is_program(file))
      return file.string();
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
  }
  return {};
}

namespace {

/// Returns the path of this program, or an empty path if the system does not report it.
auto own_program() -> std::string {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).string();
}

}  // namespace

auto open_drafts(const fs::path& root, plan_library& library, const std::string& compiler)
    -> std::unique_ptr<draft_plans> {
  const char* const path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nothing of ours changes it
  std::string program = compiler.empty() ? find_compiler(root, path == nullptr ? "" : path) : compiler;
  if (program.empty()) {
    std::fputs("rankd: dslc is not installed, so the page can show plans but not edit them (docs/plans.md)\n", stderr);
    return nullptr;
  }
  return std::make_unique<draft_plans>(
      draft_plans::settings{.compiler = {.program = std::move(program), .project = root, .engine = own_program()},
                            .bind = [&library](const std::string& artifact, const std::string& name) {
                              return library.try_artifact(artifact, name);
                            }});
}

}  // namespace rankd
