// tests/rankd/server/file_series_test.cpp: files that follow each other. What is in them is the matter of
// line_file_test and arrow_file_test.
#include <rankd/server/files/file_series.hpp>

#include <rankd/registry/file.hpp>
#include <tests/support/scratch_folder.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using braid::testing::scratch_folder;

namespace {

auto texts_in(const std::filesystem::path& folder) -> std::vector<std::string> {
  std::vector<std::filesystem::path> paths;
  for (const auto& each : std::filesystem::directory_iterator(folder)) paths.push_back(each.path());
  std::ranges::sort(paths);
  std::vector<std::string> out;
  for (const auto& each : paths) out.push_back(read_text_file(each).value());
  return out;
}

}  // namespace

TEST_CASE("a series goes on with a file of the next number, and ends the one before") {
  const scratch_folder folder;
  auto files = file_series::create({.folder = folder.path(), .name = "c", .max_bytes = 8, .suffix = ".data"});
  REQUIRE(files.has_value());
  CHECK(files->is_open());
  CHECK(files->append("12345") == 5);
  CHECK(files->keep(5, 5));
  CHECK(files->room() == 3);
  CHECK(files->open_next("end"));
  CHECK(files->size() == 0);
  CHECK(files->append("6789") == 4);
  CHECK(files->keep(2, 4));  // the others are no part of it
  CHECK(files->append("x") == 1);
  CHECK(files->keep(1, 1));
  files->close("end");
  CHECK_FALSE(files->is_open());
  CHECK(texts_in(folder.path()) == std::vector<std::string>{"12345end", "67xend"});
}

TEST_CASE("a file that got no bytes is taken away, and so is its end") {
  const scratch_folder folder;
  auto files = file_series::create({.folder = folder.path(), .name = "c"});
  REQUIRE(files.has_value());
  files->close("end");
  CHECK(texts_in(folder.path()).empty());
  CHECK(files->open_next("end"));
  CHECK(files->open_next("end"));
  CHECK(texts_in(folder.path()) == std::vector<std::string>{""});
  std::filesystem::remove_all(folder.path());
  CHECK_FALSE(files->open_next("end"));
  CHECK(files->is_open());  // and goes on with what it has
}
