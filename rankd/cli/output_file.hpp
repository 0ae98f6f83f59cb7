// rankd/cli/output_file.hpp: a file that appears under its name when it is complete, and never before.
#pragma once

#include <braid/base/error.hpp>

#include <filesystem>
#include <string_view>
#include <utility>

namespace rankd {

/// Where a command writes what it makes. A regular file is written beside its place and gets its name at the end, so
/// that a failure leaves what was there before; a device or a pipe is written as it is.
/// Threads: one. Blocks: on the disk.
class output_file {
 public:
  /// Begins a file; standard output where the path is empty. A link is followed.
  static auto create(const std::filesystem::path& file) -> braid::result<output_file>;

  output_file(output_file&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)),
        place_(std::move(other.place_)),
        unfinished_(std::exchange(other.unfinished_, {})) {}
  auto operator=(output_file&&) -> output_file& = delete;
  /// Deletes a file that was not finished.
  ~output_file();

  auto write(std::string_view bytes) -> braid::result<void>;

  /// Makes sure that everything is on the disk, and gives the file its name. Nothing may be written afterwards.
  auto finish() -> braid::result<void>;

 private:
  output_file(int descriptor, std::filesystem::path place, std::filesystem::path unfinished)
      : descriptor_(descriptor), place_(std::move(place)), unfinished_(std::move(unfinished)) {}

  int descriptor_;
  std::filesystem::path place_;
  std::filesystem::path unfinished_;  ///< empty for what is no regular file, and once it has its name
};

}  // namespace rankd
