// rankd/cli/plan_tests/stub_files.hpp: models and vectors that tests use instead of those of the project.
#pragma once

#include <rankd/cli/plan_tests/plan_tests.hpp>
#include <rankd/cli/plan_tests/test_folder.hpp>
#include <rankd/registry/project.hpp>
#include <rankd/registry/registries.hpp>

#include <braid/base/error.hpp>

#include <memory>
#include <utility>

namespace rankd {

/// Temporary files of models and vectors: those that tests define, and links to all other models and vectors of the
/// project.
class stub_files {
 public:
  /// Creates the files. Blocks: on the disk.
  /// Errors: store_write_failed, unsupported_path for vectors outside the folder of the project, and those of
  /// `read_vectors`.
  static auto create(const project& source, const registries& declared, const plan_tests& tests)
      -> braid::checked<stub_files>;

  /// Returns the project, but with these models and vectors.
  [[nodiscard]] auto where() const noexcept -> const project& { return where_; }

 private:
  stub_files(std::unique_ptr<test_folder> folder, project stubbed)
      : folder_(std::move(folder)), where_(std::move(stubbed)) {}

  std::unique_ptr<test_folder> folder_;
  project where_;
};

}  // namespace rankd
