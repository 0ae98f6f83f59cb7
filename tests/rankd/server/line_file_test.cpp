// tests/rankd/server/line_file_test.cpp: lines that reach their file.
#include <rankd/server/line_file.hpp>

#include <rankd/registry/file.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/scratch_folder.hpp>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using braid::testing::eventually;
using braid::testing::scratch_folder;

namespace {

namespace fs = std::filesystem;

auto text_of(const fs::path& file) -> std::string { return read_text_file(file).value_or(""); }

}  // namespace

TEST_CASE("all lines of all threads are in the file once the object is gone, behind what was there") {
  const scratch_folder folder;
  const fs::path file = folder.write("log", "before\n");
  {
    const auto lines = line_file::open(file).value();
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int n = 0; n < 500; ++n) lines->add("a line");
      });
    threads.clear();
    lines->add("last");
  }
  std::string expected = "before\n";
  for (int n = 0; n < 2000; ++n) expected += "a line\n";
  CHECK(text_of(file) == expected + "last\n");
}

TEST_CASE("a file that was renamed is let go at a reopening") {
  const scratch_folder folder;
  const fs::path file = folder.path() / "log";
  const auto lines = line_file::open(file).value();
  lines->add("one");
  CHECK(eventually([&] { return text_of(file) == "one\n"; }));
  fs::rename(file, folder.path() / "log.1");
  lines->reopen();
  CHECK(eventually([&] { return fs::exists(file); }));
  lines->add("two");
  CHECK(eventually([&] { return text_of(file) == "two\n"; }));
  CHECK(text_of(folder.path() / "log.1") == "one\n");
}

TEST_CASE("a file that cannot be made is an error with its name, and a full one costs lines that are counted") {
  const scratch_folder folder;
  const auto none = line_file::open(folder.path() / "no folder/log");
  REQUIRE(!none);
  CHECK(none.error().front().code == "unwritable_file");
  CHECK(none.error().front().source.ends_with("no folder/log"));
  const auto full = line_file::open("/dev/full").value();
  full->add("lost");
  CHECK(eventually([&] { return full->lost() == 1; }));
}
