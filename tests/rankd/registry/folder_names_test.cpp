// tests/rankd/registry/folder_names_test.cpp: the names in a folder, and a folder that is none.
#include <rankd/registry/folder_names.hpp>
#include <tests/support/scratch_folder.hpp>

#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

#include <doctest/doctest.h>

using braid::testing::scratch_folder;
using rankd::folder_names;

TEST_CASE("the names of all that a folder holds are there, and neither itself nor the one above") {
  const scratch_folder folder;
  CHECK(folder_names(folder.path()).value().empty());
  folder.write(".hidden", "");
  folder.write("b", "");
  std::filesystem::create_directory(folder.path() / "a");
  std::vector<std::string> names = folder_names(folder.path()).value();
  std::ranges::sort(names);
  CHECK(names == std::vector<std::string>{".hidden", "a", "b"});
}

TEST_CASE("what is no folder is refused") {
  const scratch_folder folder;
  CHECK(folder_names(folder.path() / "none").error() == std::errc::no_such_file_or_directory);
  CHECK(folder_names(folder.write("file", "")).error() == std::errc::not_a_directory);
}
