// tests/rankd/server/line_file_test.cpp: lines that reach their file.
#include <rankd/server/files/line_file.hpp>

#include <rankd/registry/file.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/scratch_folder.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <mutex>
#include <string>
#include <system_error>
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

namespace {

/// What a listener has heard: messages, and "" once the file is reopened.
struct heard {
  std::mutex mutex;
  std::vector<std::string> all;

  void listen_to(line_file& lines) {
    lines.reopened().listen([this](std::error_code why) {
      const std::scoped_lock lock(mutex);
      all.push_back(why ? why.message() : "");
    });
  }
  auto list() -> std::vector<std::string> {
    const std::scoped_lock lock(mutex);
    return all;
  }
};

}  // namespace

TEST_CASE("a file that cannot be reopened is reported once, tried again, and reported when it is") {
  const scratch_folder folder;
  const fs::path place = folder.path() / "logs";
  fs::create_directory(place);
  heard told;
  const auto lines = line_file::open(place / "log").value();
  told.listen_to(*lines);
  lines->add("one");
  CHECK(eventually([&] { return text_of(place / "log") == "one\n"; }));
  lines->reopen(std::chrono::milliseconds(1));
  lines->add("same");  // nothing to say while all is well
  CHECK(eventually([&] { return text_of(place / "log") == "one\nsame\n"; }));
  CHECK(told.list().empty());
  fs::rename(place, folder.path() / "old");
  folder.write("logs", "");  // a file where the folder was, as on a volume that is not mounted
  lines->reopen(std::chrono::milliseconds(1));
  CHECK(eventually([&] { return lines->reopened().failures() >= 3; }));
  CHECK(lines->reopened().is_pending());
  CHECK(told.list() == std::vector<std::string>{std::generic_category().message(ENOTDIR)});
  lines->add("two");  // none is lost
  CHECK(eventually([&] { return text_of(folder.path() / "old" / "log") == "one\nsame\ntwo\n"; }));
  fs::remove(place);
  fs::create_directory(place);
  CHECK(eventually([&] { return !lines->reopened().is_pending(); }));
  lines->add("three");
  CHECK(eventually([&] { return text_of(place / "log") == "three\n"; }));
  CHECK(told.list() == std::vector<std::string>{std::generic_category().message(ENOTDIR), ""});
}

TEST_CASE("a series whose folder was moved away is reported, whether or not its file has lines") {
  for (const bool has_lines : {false, true}) {
    CAPTURE(has_lines);
    const scratch_folder folder;
    const fs::path place = folder.path() / "captures";
    heard told;
    const auto lines = line_file::series({.folder = place, .name = "c"}).value();
    told.listen_to(*lines);
    if (has_lines) lines->add("one");
    CHECK(eventually([&] { return lines->written() == (has_lines ? 1U : 0U); }));
    fs::rename(place, folder.path() / "old");
    lines->reopen(std::chrono::milliseconds(1));
    CHECK(eventually([&] { return lines->reopened().is_pending(); }));
    fs::create_directory(place);
    CHECK(eventually([&] { return !lines->reopened().is_pending(); }));
    lines->add("two");
    CHECK(eventually([&] {
      const auto files = fs::directory_iterator(place);
      return files != fs::directory_iterator() && text_of(files->path()) == "two\n";
    }));
    CHECK(told.list() == std::vector<std::string>{std::generic_category().message(ENOENT), ""});
  }
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
