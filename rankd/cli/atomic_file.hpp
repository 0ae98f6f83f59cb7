// rankd/cli/atomic_file.hpp: a file that appears under its name when it is complete, and never before.
#pragma once

#include <braid/base/error.hpp>
#include <braid/io/backend.hpp>

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>

namespace rankd {

/// The destination of a command's output. A regular file is written as a part file next to it, which gets its name at
/// the end, so that a failure leaves the earlier contents; a device or a pipe is written directly. A part file is no
/// more readable than the file that it replaces. While it is open, no other process opens it; the lock ends with the
/// process, however that ends.
/// Threads: one. Blocks: on the disk.
class atomic_file {
 public:
  static constexpr std::string_view default_suffix = ".unfinished";

  struct options {
    std::string_view suffix = default_suffix;  ///< of the name of the part, after the name of the file
    /// The part outlives an unfinished file, and begins with the contents that an earlier process has left in it.
    bool keeps_part = false;
  };

  /// Begins a file; standard output if the path is empty. A link is followed.
  /// Errors: operation_would_block if another process is writing this file; file_exists if the part would be no regular
  /// file; the system's.
  static auto create(const std::filesystem::path& file, options options) -> braid::result<atomic_file>;
  static auto create(const std::filesystem::path& file) -> braid::result<atomic_file> { return create(file, {}); }

  atomic_file(atomic_file&& other) noexcept
      : file_(std::move(other.file_)),
        place_(std::move(other.place_)),
        part_(std::exchange(other.part_, {})),
        keeps_part_(other.keeps_part_) {}
  auto operator=(atomic_file&&) -> atomic_file& = delete;
  /// Deletes the part of an unfinished file, unless it is kept.
  ~atomic_file();

  auto write(std::string_view bytes) -> braid::result<void>;

  /// Returns the path of the part; empty if the target is not a regular file, and once the file has its name.
  [[nodiscard]] auto part() const noexcept -> const std::filesystem::path& { return part_; }
  /// Returns how many bytes the part has.
  [[nodiscard]] auto size() const -> braid::result<std::uint64_t>;
  /// Keeps the first bytes of the part, and continues after them. A part that is emptied is made as private as a new
  /// one.
  auto keep_first(std::uint64_t bytes) -> braid::result<void>;
  /// Flushes the written bytes to the disk.
  auto sync() -> braid::result<void>;

  /// Flushes everything to the disk, and renames the part to the file. The file gets the mode of the file that it
  /// replaces, and if the system allows it, owner and group. Nothing may be written afterwards.
  auto finish() -> braid::result<void>;

 private:
  atomic_file(braid::descriptor file, std::filesystem::path place, std::filesystem::path part, options options)
      : file_(std::move(file)), place_(std::move(place)), part_(std::move(part)), keeps_part_(options.keeps_part) {}

  braid::descriptor file_;
  std::filesystem::path place_;
  std::filesystem::path part_;
  bool keeps_part_ = false;
};

/// Returns whether an open file still has the name: it may have been renamed, replaced or deleted since.
auto has_name(const braid::descriptor& file, const std::filesystem::path& name) -> bool;

}  // namespace rankd
