// tests/rankd/cli/project_copy.hpp: the repository's reference project in a folder of the test's own, without a store.
#pragma once

#include <tests/support/scratch_folder.hpp>

#include <filesystem>

namespace rankd::testing {

class project_copy : public braid::testing::scratch_folder {
 public:
  project_copy() {
    for (const char* part : {"rankd.toml", "registry", "plans/compiled", "data/reference"}) {
      std::filesystem::create_directories((path() / part).parent_path());
      std::filesystem::copy(part, path() / part, std::filesystem::copy_options::recursive);
    }
  }

  [[nodiscard]] auto store() const -> std::filesystem::path { return path() / "build/data/reference.lmdb"; }
};

}  // namespace rankd::testing
