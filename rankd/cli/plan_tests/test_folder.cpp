// rankd/cli/plan_tests/test_folder.cpp: creates and deletes a temporary folder.
#include <rankd/cli/plan_tests/test_folder.hpp>

#include <rankd/registry/diagnostic.hpp>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

namespace rankd {
namespace fs = std::filesystem;

auto test_folder::create() -> braid::checked<std::unique_ptr<test_folder>> {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  std::string name = (parent / "rankd-test-XXXXXX").string();
  if (!error && ::mkdtemp(name.data()) == nullptr) error = {errno, std::system_category()};
  if (error)
    return refused("store_write_failed", "no folder can be created for the stores of the tests: " + error.message(),
                   "set TMPDIR to a folder for temporary files that can be written", parent);
  return std::make_unique<test_folder>(name);
}

test_folder::~test_folder() {
  std::error_code ignored;  // nothing better can be done than to leave it
  fs::remove_all(path_, ignored);
}

}  // namespace rankd
