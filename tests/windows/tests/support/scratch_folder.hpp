// tests/windows/tests/support/scratch_folder.hpp: a folder of a test's own, removed when the test ends.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include <unistd.h>

namespace braid::testing {

class scratch_folder {
 public:
  explicit scratch_folder(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    static int made = 0;
    path_ = parent / ("braid_test_" + std::to_string(::getpid()) + "_" + std::to_string(++made));
    std::filesystem::create_directories(path_);
  }
  scratch_folder(const scratch_folder&) = delete;
  auto operator=(const scratch_folder&) -> scratch_folder& = delete;
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] auto path() const noexcept -> const std::filesystem::path& { return path_; }

  /// Writes a file and the folders above it; gives its path.
  auto write(const std::filesystem::path& name, std::string_view text) const -> std::filesystem::path {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
    return file;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace braid::testing
