// rankd/cli/atomic_file.hpp: an output file that appears under its name only when it is complete.
#pragma once

#include <braid/base/error.hpp>
#include <braid/io/backend.hpp>

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>

namespace rankd {

/// The destination of a command's output. The output is written to a part file next to the destination, and this part
/// file is renamed at the end. So a failure leaves the earlier contents unchanged. A device or a pipe is written
/// directly. A part file is never more readable than the file that it replaces. An open part file is locked, so that no
/// other process writes to it. The lock ends with the process.
/// Threads: a single thread. Blocks: on the disk.
class atomic_file {
 public:
  static constexpr std::string_view default_suffix = ".unfinished";

  struct options {
    std::string_view suffix = default_suffix;  ///< the part file's name is the file's name followed by this
    /// States whether an unfinished part file is kept. If so, and if an earlier process has left a part file, new bytes
    /// are appended to that part file.
    bool keeps_part = false;
  };

  /// Begins to write a file, or standard output if the path is empty. If the path is a symbolic link, the file that the
  /// link points to is written.
  /// Errors: operation_would_block if another process is writing this file; file_exists if something other than a
  /// regular file has the name of the part file; system errors.
  static auto create(const std::filesystem::path& file, options options) -> braid::result<atomic_file>;
  static auto create(const std::filesystem::path& file) -> braid::result<atomic_file> { return create(file, {}); }

  atomic_file(atomic_file&& other) noexcept
      : file_(std::move(other.file_)),
        place_(std::move(other.place_)),
        part_(std::exchange(other.part_, {})),
        keeps_part_(other.keeps_part_) {}
  auto operator=(atomic_file&&) -> atomic_file& = delete;
  /// Deletes the part file of an unfinished output, unless the options keep it.
  ~atomic_file();

  auto write(std::string_view bytes) -> braid::result<void>;

  /// Returns the path of the part file. Returns an empty path if the target is not a regular file, or if the output is
  /// finished.
  [[nodiscard]] auto part() const noexcept -> const std::filesystem::path& { return part_; }
  /// Returns the size of the part file in bytes.
  [[nodiscard]] auto size() const -> braid::result<std::uint64_t>;
  /// Truncates the part file to `bytes` bytes. Later writes append to these bytes. With 0 bytes, the part file gets the
  /// permissions of a new part file.
  auto keep_first(std::uint64_t bytes) -> braid::result<void>;
  /// Flushes the written bytes to the disk.
  auto sync() -> braid::result<void>;

  /// Flushes everything to the disk, and renames the part file to its final name. The new file gets the mode of the
  /// replaced file. If the system allows it, the new file also gets the owner and group of the replaced file. No bytes
  /// may be written afterwards.
  auto finish() -> braid::result<void>;

 private:
  atomic_file(braid::descriptor file, std::filesystem::path place, std::filesystem::path part, options options)
      : file_(std::move(file)), place_(std::move(place)), part_(std::move(part)), keeps_part_(options.keeps_part) {}

  braid::descriptor file_;
  std::filesystem::path place_;
  std::filesystem::path part_;
  bool keeps_part_ = false;
};

/// Returns whether an open file still has this name. The file may have been renamed, replaced or deleted since it was
/// opened.
auto has_name(const braid::descriptor& file, const std::filesystem::path& name) -> bool;

}  // namespace rankd
