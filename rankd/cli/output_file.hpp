// rankd/cli/output_file.hpp: a file that appears under its name when it is complete, and never before.
#pragma once

#include <braid/base/error.hpp>
#include <braid/io/backend.hpp>

#include <filesystem>
#include <string_view>
#include <utility>

namespace rankd {

/// Where a command writes what it makes. A regular file is written beside its place, as FILE.unfinished, and gets its
/// name at the end, so that a failure leaves what was there before; a device or a pipe is written as it is. What a
/// process leaves beside that was killed is overwritten by the next one.
/// Threads: one. Blocks: on the disk.
class output_file {
 public:
  static constexpr std::string_view suffix = ".unfinished";

  /// Begins a file; standard output where the path is empty. A link is followed.
  /// Errors: operation_would_block where another process is writing this file; the system's.
  static auto create(const std::filesystem::path& file) -> braid::result<output_file>;

  output_file(output_file&& other) noexcept
      : file_(std::move(other.file_)),
        place_(std::move(other.place_)),
        unfinished_(std::exchange(other.unfinished_, {})) {}
  auto operator=(output_file&&) -> output_file& = delete;
  /// Deletes a file that was not finished.
  ~output_file();

  auto write(std::string_view bytes) -> braid::result<void>;

  /// Makes sure that everything is on the disk, and gives the file its name and the mode of what it replaces. Nothing
  /// may be written afterwards.
  auto finish() -> braid::result<void>;

 private:
  output_file(braid::descriptor file, std::filesystem::path place, std::filesystem::path unfinished)
      : file_(std::move(file)), place_(std::move(place)), unfinished_(std::move(unfinished)) {}

  braid::descriptor file_;
  std::filesystem::path place_;
  std::filesystem::path unfinished_;  ///< empty for what is no regular file, and once it has its name
};

}  // namespace rankd
