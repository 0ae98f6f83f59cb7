// rankd/cli/projects/demo.cpp: writes the files of a new project. The file rankd.toml is written last, because it marks
// a complete project.
#include <rankd/cli/projects/demo.hpp>

#include <rankd/registry/diagnostic.hpp>
#include <rankd/cli/detail/demo_files.hpp>
#include <rankd/cli/atomic_file.hpp>
#include <rankd/registry/json_text.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/project.hpp>

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>

#include <array>
#include <fstream>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace rankd {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view mark_line = "# Written by `rankd init ";
constexpr std::size_t piece = std::size_t{1} << 20U;
constexpr std::array<std::string_view, 4> data_files{"data/users.ndjson", "data/follow.ndjson",
                                                     "data/recommendation.ndjson", "data/media.ndjson"};

auto find_files(project_kind kind) noexcept -> std::span<const detail::demo_file> {
  switch (kind) {
    case project_kind::demo: return detail::demo_files();
    case project_kind::shop: return detail::shop_files();
    case project_kind::empty: break;
  }
  return detail::empty_files();
}

/// Writes one file in pieces. Errors are reported only by `close`.
class file_writer {
 public:
  explicit file_writer(const fs::path& file) : out_(file, std::ios::binary | std::ios::trunc) {}

  void add(std::string_view text) {
    out_.write(text.data(), static_cast<std::streamsize>(text.size()));
    bytes_ += text.size();
  }
  auto close() -> bool {
    out_.close();
    return !out_.fail();
  }
  [[nodiscard]] auto bytes() const noexcept -> std::uint64_t { return bytes_; }

 private:
  std::ofstream out_;
  std::uint64_t bytes_ = 0;
};

/// The folders that were created for the project, so that a failure can remove them.
class made_folders {
 public:
  /// Creates `folder` and its missing parents.
  auto make(const fs::path& folder) -> std::error_code {
    std::error_code error;
    std::vector<fs::path> missing;
    for (fs::path at = folder; !at.empty() && !fs::exists(at, error); at = at.parent_path()) missing.push_back(at);
    for (; !error && !missing.empty(); missing.pop_back())
      if (fs::create_directory(missing.back(), error)) made_.push_back(missing.back());
    if (!error && !fs::is_directory(folder, error)) error = std::make_error_code(std::errc::not_a_directory);
    return error;
  }

  /// Deletes the folders, except those into which another process has written something.
  void remove() {
    std::error_code ignored;  // nothing better can be done than to continue
    for (; !made_.empty(); made_.pop_back()) fs::remove(made_.back(), ignored);
  }

 private:
  std::vector<fs::path> made_;
};

/// Deletes the existing files of a project, and the folders that become empty.
void remove_demo(const fs::path& folder, project_kind kind) {
  std::vector<fs::path> names(data_files.begin(), data_files.end());
  for (const detail::demo_file& file : find_files(kind)) names.emplace_back(file.path);
  std::error_code ignored;  // as above
  for (const fs::path& name : names) fs::remove(folder / name, ignored);
  for (const fs::path& name : names)
    for (fs::path inside = name.parent_path(); !inside.empty(); inside = inside.parent_path())
      fs::remove(folder / inside, ignored);
}

class demo_writer {
 public:
  demo_writer(const fs::path& folder, const demo_options& options)
      : folder_(folder), options_(options), network_(options.size) {}

  /// Writes the project. `mark` is rankd.toml, the file that makes a folder a project.
  auto run(atomic_file& mark) -> braid::checked<demo_report>;

 private:
  template <typename AddLine>
  auto write_data(std::string_view name, AddLine add_line) -> bool;
  auto write_all_data() -> bool;
  auto write_text(const detail::demo_file& file) -> bool;
  auto write_mark(atomic_file& mark, const detail::demo_file& file) -> bool;
  auto begin(std::string_view name) -> file_writer;
  auto close(file_writer& out, std::string_view name) -> bool;
  void report(std::string_view name) const {
    if (options_.progress) options_.progress({name, lines_done_, data_files.size() * options_.size.users});
  }

  const fs::path& folder_;
  const demo_options& options_;
  demo_network network_;
  demo_report report_;
  std::uint64_t lines_done_ = 0;
  std::string failed_;  ///< the file that could not be written
};

auto demo_writer::begin(std::string_view name) -> file_writer {
  const fs::path file = folder_ / name;
  std::error_code ignored;  // if the folder cannot be made, the file cannot be written
  fs::create_directories(file.parent_path(), ignored);
  return file_writer(file);
}

auto demo_writer::close(file_writer& out, std::string_view name) -> bool {
  ++report_.files;
  report_.bytes += out.bytes();
  if (out.close()) return true;
  failed_ = name;
  return false;
}

auto demo_writer::write_text(const detail::demo_file& file) -> bool {
  file_writer out = begin(file.path);
  out.add(file.text);
  return close(out, file.path);
}

/// Returns the text of rankd.toml with the name of the folder as the project's name.
auto named_mark(std::string_view text, const fs::path& folder) -> std::string {
  constexpr std::string_view placeholder = "name = \"project\"";
  std::string out(text);
  fs::path whole = fs::absolute(folder).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();  // a slash ended it
  const std::string name = whole.filename().string();
  const std::size_t at = out.find(placeholder);
  if (at == std::string::npos || name.empty() || !is_utf8(name)) return out;
  std::string quoted;
  append_json_string(quoted, name);  // a basic string of TOML, too
  return out.replace(at, placeholder.size(), "name = " + quoted);
}

auto demo_writer::write_mark(atomic_file& mark, const detail::demo_file& file) -> bool {
  const std::string text =
      options_.kind == project_kind::empty ? named_mark(file.text, folder_) : std::string(file.text);
  ++report_.files;
  report_.bytes += text.size();
  // rankd.toml is a source file like README.md, so it gets the same mode.
  std::error_code error;
  const fs::path part = folder_ / (std::string(project_file) + std::string(atomic_file::default_suffix));
  fs::permissions(part, fs::status(folder_ / "README.md", error).permissions(), error);
  if (!error && mark.write(text) && mark.finish()) return true;
  failed_ = file.path;
  return false;
}

template <typename AddLine>
auto demo_writer::write_data(std::string_view name, AddLine add_line) -> bool {
  report(name);
  file_writer out = begin(name);
  std::string text;
  for (std::uint32_t user = 1; user <= options_.size.users; ++user) {
    add_line(user, text);
    ++lines_done_;
    if (text.size() < piece) continue;
    out.add(text);
    text.clear();
    report(name);
  }
  out.add(text);
  report(name);
  return close(out, name);
}

auto demo_writer::write_all_data() -> bool {
  return write_data(data_files[0],
                    [this](std::uint32_t user, std::string& out) { append_hash(out, user, network_.profile(user)); }) &&
         write_data(data_files[1],
                    [this](std::uint32_t user, std::string& out) {
                      append_list(out, "follow:", user, network_.follows(user));
                    }) &&
         write_data(data_files[2],
                    [this](std::uint32_t user, std::string& out) {
                      append_list(out, "recommendation:", user, network_.recommendations(user));
                    }) &&
         write_data(data_files[3], [this](std::uint32_t user, std::string& out) {
           append_list(out, "media:", user, network_.media(user));
         });
}

auto demo_writer::run(atomic_file& mark) -> braid::checked<demo_report> {
  detail::demo_file mark_text;
  bool fine = options_.kind != project_kind::demo || write_all_data();
  for (const detail::demo_file& file : find_files(options_.kind)) {
    if (file.path == project_file)
      mark_text = file;
    else
      fine = fine && write_text(file);
  }
  if (fine && write_mark(mark, mark_text)) return report_;
  return refused("demo_write_failed", "the file cannot be written",
                 "check the permissions and the space on the disk; what was written is deleted again",
                 folder_ / failed_);
}

/// Returns why no project may be written into `folder`, or no diagnostics if that is allowed.
auto check_folder(const fs::path& folder) -> braid::diagnostics {
  std::error_code error;
  const bool begun = fs::exists(folder / (std::string(project_file) + std::string(atomic_file::default_suffix)), error);
  const bool is_project = fs::exists(folder / project_file, error);
  if (!is_project && (begun || fs::is_empty(folder, error))) return {};
  if (error) return make_diagnostic("demo_write_failed", "the folder cannot be used: " + error.message(), {}, folder);
  std::string first_line;
  std::ifstream mark(folder / project_file);
  std::getline(mark, first_line);
  if (first_line.starts_with(mark_line))
    return make_diagnostic("demo_exists", "the folder already contains a project that rankd wrote",
                           "use this project, or delete the folder first", folder);
  return make_diagnostic("folder_not_empty", "the folder is not empty",
                         "name a folder that is empty or does not exist yet", folder);
}

/// Writes into an existing folder. Until rankd.toml is complete, the other files in the folder count as files of an
/// unfinished project, and may be overwritten.
auto write_into(const fs::path& folder, const demo_options& options) -> braid::checked<demo_report> {
  if (auto refusal = check_folder(folder); !refusal.empty()) return std::unexpected(std::move(refusal));
  auto mark = atomic_file::create(folder / project_file);
  if (!mark && mark.error() == std::errc::operation_would_block)
    return refused("demo_busy", "another process is writing a demo here", "wait until it is done", folder);
  if (!mark) return refused("demo_write_failed", "the folder cannot be used: " + mark.error().message(), {}, folder);
  // Checks the folder again: another process may have completed a project before this process locked rankd.toml.
  if (auto refusal = check_folder(folder); !refusal.empty()) return std::unexpected(std::move(refusal));
  auto report = demo_writer(folder, options).run(*mark);
  if (!report) remove_demo(folder, options.kind);
  return report;
}

}  // namespace

auto write_demo_project(const fs::path& folder, const demo_options& options) -> braid::checked<demo_report> {
  BRAID_EXPECTS(options.size.users >= 1, "a network must have at least one user");
  made_folders made;
  const std::error_code error = made.make(folder);
  auto report = error ? refused("demo_write_failed", "the folder cannot be used: " + error.message(), {}, folder)
                      : write_into(folder, options);
  if (!report) made.remove();
  return report;
}

}  // namespace rankd
