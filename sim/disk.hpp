// sim/disk.hpp: declares the simulated disk of a machine, which consists of the files below one folder. The files are
// real. The machine reports each change to the coordinator, which undoes at a crash the changes that were not synced.
#pragma once

#include <sim/descriptors.hpp>
#include <sim/wire.hpp>

#include <array>
#include <climits>
#include <cstdio>
#include <string_view>

namespace sim {

/// Returns true if the process is a machine with a disk.
inline auto has_disk() -> bool { return page->wanted.disk[0] != '\0'; }

/// The path of an open file or folder, relative to the folder of the disk.
class disk_path {
 public:
  explicit disk_path(int descriptor);
  /// Returns true if the file is on the disk.
  [[nodiscard]] auto is_on_disk() const -> bool { return is_on_disk_; }
  [[nodiscard]] auto relative() const -> std::string_view { return path_; }

 private:
  std::array<char, PATH_MAX> text_{};
  std::string_view path_;
  bool is_on_disk_ = false;
};

/// The folder and the name in it to which the path in a call refers. Symbolic links at the end of the path are not
/// followed.
class folder_entry {
 public:
  folder_entry(int folder, const char* path);
  folder_entry(const folder_entry&) = delete;
  auto operator=(const folder_entry&) -> folder_entry& = delete;
  ~folder_entry();

  [[nodiscard]] auto is_on_disk() const -> bool { return is_on_disk_; }
  [[nodiscard]] auto parent() const -> int { return parent_; }
  [[nodiscard]] auto name() const -> const char* { return name_.data(); }
  [[nodiscard]] auto name_size() const -> std::size_t { return std::string_view(name_.data()).size(); }
  /// Returns the error with which a disk fault makes a change of this name fail, or 0 if the change may succeed.
  [[nodiscard]] auto fault(bool needs_space) const -> int;

 private:
  std::array<char, NAME_MAX + 1> name_{};
  std::array<char, PATH_MAX> path_{};  // relative to the disk
  int parent_ = -1;
  bool is_on_disk_ = false;
};

/// Returns true if the descriptor refers to a file that is on the disk and that the program can write.
auto is_disk_file(int descriptor) -> bool;
/// Begins to report the writes to an open file if the file is on the disk.
void adopt_file(int descriptor);
/// Opens a file like openat, and reports its creation and truncation.
auto open_on_disk(int folder, const char* path, int flags, unsigned mode) -> int;
/// Opens a stream that writes to a file, like fopen.
auto open_stream(const char* path, const char* mode) -> FILE*;
/// Returns true if a stream that fopen opens with this mode can be written.
constexpr auto writes(std::string_view mode) -> bool { return mode.find_first_of("wa+") != std::string_view::npos; }
/// Writes to a file of the disk at `offset`, or at the current position if `offset` is negative.
auto write_to_disk(int descriptor, std::span<const iovec> parts, std::int64_t offset) -> ssize_t;
/// Sets the size of a file of the disk.
auto resize_on_disk(int descriptor, std::int64_t size) -> int;
/// Makes a file or a folder durable. Returns false if the file or folder is not on the disk.
auto sync_on_disk(int descriptor, int& status) -> bool;
/// Reports a change of the names in folders.
void report_names(word kind, disk_change change, std::span<const int> files, std::string_view name,
                  std::string_view other);
/// Begins a disk fault, or ends all disk faults. Called when the coordinator requests this.
void set_disk_rule(std::span<const char> data);

}  // namespace sim
