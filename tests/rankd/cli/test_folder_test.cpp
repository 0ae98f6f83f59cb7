// tests/rankd/cli/test_folder_test.cpp: the temporary folder of tests is there, and then gone with its files.
#include <rankd/cli/plan_tests/test_folder.hpp>

#include <rankd/registry/write_file.hpp>

#include <filesystem>

#include <doctest/doctest.h>

TEST_CASE("a test folder is deleted with its files") {
  auto folder = rankd::test_folder::create().value();
  const std::filesystem::path path = folder->path();
  CHECK(std::filesystem::is_directory(path));
  CHECK(rankd::test_folder::create().value()->path() != path);
  CHECK(rankd::write_file(path / "a", "text").has_value());
  folder.reset();
  CHECK_FALSE(std::filesystem::exists(path));
}
