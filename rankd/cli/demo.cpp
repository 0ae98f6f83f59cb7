// rankd/cli/demo.cpp: the files of a demo project, one after another; rankd.toml last, as the mark of a whole one.
#include <rankd/cli/demo.hpp>

#include <rankd/cli/detail/demo_files.hpp>

#include <braid/base/assert.hpp>
#include <braid/base/error.hpp>

#include <fstream>
#include <string>

namespace rankd {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view mark_file = "rankd.toml";
constexpr std::string_view mark_line = "# Written by `rankd init demo`.";
constexpr std::size_t piece = std::size_t{1} << 20U;
constexpr std::uint64_t data_files = 4;

auto complaint(std::string_view code, const fs::path& where, std::string_view message, std::string_view hint)
    -> braid::diagnostics {
  return braid::diagnostics({.code = std::string(code),
                             .pointer = {},
                             .message = std::string(message),
                             .hint = std::string(hint),
                             .node = {},
                             .source = where.string()});
}

/// Writes one file in pieces. Errors of the stream stay until `close` tells them.
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

class demo_writer {
 public:
  demo_writer(const fs::path& folder, const demo_options& options)
      : folder_(folder), options_(options), network_(options.size) {}

  auto run() -> braid::checked<demo_report>;

 private:
  template <typename AddLine>
  auto write_data(std::string_view name, AddLine add_line) -> bool;
  auto write_all_data() -> bool;
  auto write_text(const detail::demo_file& file) -> bool;
  auto close(file_writer& out, std::string_view name) -> bool;
  void report(std::string_view name) const {
    if (options_.progress) options_.progress({name, lines_done_, data_files * options_.size.users});
  }

  const fs::path& folder_;
  const demo_options& options_;
  demo_network network_;
  demo_report report_;
  std::uint64_t lines_done_ = 0;
  std::string failed_;  ///< the file that could not be written
};

auto demo_writer::close(file_writer& out, std::string_view name) -> bool {
  ++report_.files;
  report_.bytes += out.bytes();
  if (out.close()) return true;
  failed_ = name;
  return false;
}

auto demo_writer::write_text(const detail::demo_file& file) -> bool {
  std::error_code ignored;  // where a folder cannot be made, the file cannot be written
  fs::create_directories((folder_ / file.path).parent_path(), ignored);
  file_writer out(folder_ / file.path);
  out.add(file.text);
  return close(out, file.path);
}

template <typename AddLine>
auto demo_writer::write_data(std::string_view name, AddLine add_line) -> bool {
  report(name);
  file_writer out(folder_ / name);
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
  std::error_code ignored;
  fs::create_directories(folder_ / "data", ignored);
  return write_data("data/users.ndjson",
                    [this](std::uint32_t user, std::string& out) { append_hash(out, user, network_.profile(user)); }) &&
         write_data("data/follow.ndjson",
                    [this](std::uint32_t user, std::string& out) {
                      append_list(out, "follow:", user, network_.follows(user));
                    }) &&
         write_data("data/recommendation.ndjson",
                    [this](std::uint32_t user, std::string& out) {
                      append_list(out, "recommendation:", user, network_.recommendations(user));
                    }) &&
         write_data("data/media.ndjson", [this](std::uint32_t user, std::string& out) {
           append_list(out, "media:", user, network_.media(user));
         });
}

auto demo_writer::run() -> braid::checked<demo_report> {
  detail::demo_file mark;
  bool fine = write_all_data();
  for (const detail::demo_file& file : detail::demo_files()) {
    if (file.path == mark_file)
      mark = file;
    else
      fine = fine && write_text(file);
  }
  if (fine && write_text(mark)) return report_;
  return std::unexpected(complaint("demo_write_failed", folder_ / failed_, "the file cannot be written",
                                   "check the permissions and the space on the disk, delete what was written"));
}

/// Why nothing may be written into `folder`, or no complaint.
auto check_folder(const fs::path& folder) -> braid::diagnostics {
  std::error_code error;
  fs::create_directories(folder, error);
  const bool empty = !error && fs::is_empty(folder, error);
  if (error) return complaint("demo_write_failed", folder, "the folder cannot be used: " + error.message(), {});
  if (empty) return {};
  std::string first_line;
  std::ifstream mark(folder / mark_file);
  std::getline(mark, first_line);
  if (first_line.starts_with(mark_line))
    return complaint("demo_exists", folder, "a demo project is here already", "use it, or delete the folder first");
  return complaint("folder_not_empty", folder, "the folder is not empty",
                   "name one that is empty or does not exist yet");
}

}  // namespace

auto write_demo_project(const fs::path& folder, const demo_options& options) -> braid::checked<demo_report> {
  BRAID_EXPECTS(options.size.users >= 1, "a network has at least one user");
  if (auto refusal = check_folder(folder); !refusal.empty()) return std::unexpected(std::move(refusal));
  return demo_writer(folder, options).run();
}

}  // namespace rankd
