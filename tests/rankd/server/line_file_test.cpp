// tests/rankd/server/line_file_test.cpp: lines that reach their file.
#include <rankd/server/line_file.hpp>

#include <rankd/registry/file.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/scratch_folder.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>

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

namespace {

/// The files of a folder in the order of their names, each with its lines.
auto files_in(const fs::path& folder) -> std::vector<std::string> {
  std::vector<fs::path> paths;
  for (const auto& each : fs::directory_iterator(folder)) paths.push_back(each.path());
  std::ranges::sort(paths);
  std::vector<std::string> out;
  for (const fs::path& path : paths) out.push_back(text_of(path));
  return out;
}

}  // namespace

TEST_CASE("a series goes on in another file where one is full, and cuts no line") {
  const scratch_folder folder;
  const fs::path made = folder.path() / "a" / "captures";
  {
    const auto lines = line_file::series({.folder = made, .name = "c", .max_bytes = 10}).value();
    for (const char* line : {"1234", "5678", "9", "a line that is longer than a file", "b"}) lines->add(line);
    CHECK(eventually([&] { return lines->written() == 5; }));
    lines->reopen();
    CHECK(eventually([&] { return files_in(made).size() == 5; }));
    lines->add("c");
  }
  CHECK(files_in(made) ==
        std::vector<std::string>{"1234\n5678\n", "9\n", "a line that is longer than a file\n", "b\n", "c\n"});
  CHECK((fs::status(made).permissions() & fs::perms::others_all) == fs::perms::none);
  for (const auto& each : fs::directory_iterator(made))
    CHECK((each.status().permissions() & fs::perms::others_all) == fs::perms::none);
}

TEST_CASE("a series without lines leaves no file, and one that cannot be made is an error") {
  const scratch_folder folder;
  line_file::series({.folder = folder.path() / "none", .name = "c"}).value().reset();
  CHECK(files_in(folder.path() / "none").empty());
  const fs::path file = folder.write("file", "");
  const auto none = line_file::series({.folder = file, .name = "c"});
  REQUIRE(!none);
  CHECK(none.error().front().code == "unwritable_file");
}

TEST_CASE("a series whose disk is full has whole lines in one file, and goes on where there is room again") {
  const scratch_folder folder;
  const fs::path made = folder.path() / "captures";
  const auto lines = line_file::series({.folder = made, .name = "c"}).value();
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  ::rlimit usual{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &usual) == 0);
  const ::rlimit small{.rlim_cur = 20, .rlim_max = usual.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  for (int i = 0; i < 5; ++i) lines->add("1234567");
  const bool ended = eventually([&] { return lines->written() + lines->lost() == 5; });
  ::setrlimit(RLIMIT_FSIZE, &usual);
  std::signal(SIGXFSZ, before);
  CHECK(ended);
  CHECK(lines->lost() == 3);
  lines->add("more");
  CHECK(eventually([&] { return files_in(made) == std::vector<std::string>{"1234567\n1234567\nmore\n"}; }));
}
