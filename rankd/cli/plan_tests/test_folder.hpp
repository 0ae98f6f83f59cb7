// rankd/cli/plan_tests/test_folder.hpp: a temporary folder for the files of tests.
#pragma once

#include <braid/base/error.hpp>

#include <filesystem>
#include <memory>
#include <utility>

namespace rankd {

/// A temporary folder, which is deleted with all of its contents.
class test_folder {
 public:
  /// Creates a folder in the folder for temporary files. Errors: store_write_failed.
  static auto create() -> braid::checked<std::unique_ptr<test_folder>>;

  explicit test_folder(std::filesystem::path path) : path_(std::move(path)) {}
  test_folder(const test_folder&) = delete;
  auto operator=(const test_folder&) -> test_folder& = delete;
  ~test_folder();

  [[nodiscard]] auto path() const noexcept -> const std::filesystem::path& { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace rankd
