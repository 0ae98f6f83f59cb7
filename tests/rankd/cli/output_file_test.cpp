// tests/rankd/cli/output_file_test.cpp: a file is there whole or as it was; devices are written as they are.
#include <rankd/cli/output_file.hpp>

#include <tests/support/child.hpp>
#include <tests/support/scratch_folder.hpp>

#include <csignal>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

using braid::testing::scratch_folder;
using rankd::output_file;

namespace {

namespace fs = std::filesystem;

auto text_of(const fs::path& file) -> std::string {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

auto mode_of(const fs::path& file) -> ::mode_t {
  return static_cast<::mode_t>(fs::status(file).permissions() & fs::perms::mask);
}

auto files_in(const fs::path& folder) -> std::ptrdiff_t {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

}  // namespace

TEST_CASE("a file has its name once it is finished, and not before") {
  const scratch_folder folder;
  const fs::path file = folder.path() / "out";
  auto out = output_file::create(file);
  REQUIRE(out.has_value());
  CHECK(out->write("one\n"));
  CHECK(out->write("two\n"));
  CHECK_FALSE(fs::exists(file));
  CHECK(out->finish());
  CHECK(text_of(file) == "one\ntwo\n");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a file that is not finished leaves what was there before, and nothing beside it") {
  const scratch_folder folder;
  const fs::path file = folder.write("out", "before");
  {
    auto out = output_file::create(file);
    REQUIRE(out.has_value());
    CHECK(out->write("half"));
    const output_file moved = std::move(*out);
    CHECK(files_in(folder.path()) == 2);
  }
  CHECK(text_of(file) == "before");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a file that is replaced keeps its mode, and nobody else may read the new one before") {
  const scratch_folder folder;
  for (const ::mode_t mode : {0600, 0640, 0444, 0604}) {
    CAPTURE(mode);
    const fs::path file = folder.write("out", "before");
    ::chmod(file.c_str(), mode);
    auto out = output_file::create(file);
    REQUIRE(out.has_value());
    CHECK(mode_of(file.string() + ".unfinished") == (mode | 0600));
    CHECK(out->write("after"));
    CHECK(out->finish());
    CHECK(text_of(file) == "after");
    CHECK(mode_of(file) == mode);
    fs::remove(file);
  }
  const ::mode_t mask = ::umask(027);
  auto fresh = output_file::create(folder.path() / "out");
  ::umask(mask);
  REQUIRE(fresh.has_value());
  CHECK(fresh->finish());
  CHECK(mode_of(folder.path() / "out") == 0640);
}

TEST_CASE("what a killed process has left beside its file is overwritten by the next one") {
  const scratch_folder folder;
  const fs::path file = folder.write("out", "before");
  const auto end = braid::testing::run_in_child([&file] {
    auto out = output_file::create(file);
    if (!out || !out->write("half of a long text")) ::_exit(1);
    ::raise(SIGKILL);
  });
  REQUIRE(end.signal == SIGKILL);
  CHECK(text_of(file) == "before");
  CHECK(text_of(file.string() + ".unfinished") == "half of a long text");
  {
    auto out = output_file::create(file);
    REQUIRE(out.has_value());
    CHECK(out->write("after"));
    CHECK(out->finish());
  }
  CHECK(text_of(file) == "after");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("two processes cannot write into one file") {
  const scratch_folder folder;
  const fs::path file = folder.path() / "out";
  auto first = output_file::create(file);
  REQUIRE(first.has_value());
  CHECK(output_file::create(file).error() == std::errc::operation_would_block);
  CHECK(first->write("first"));
  CHECK(first->finish());
  CHECK(text_of(file) == "first");
}

TEST_CASE("a link is followed, and stays") {
  const scratch_folder folder;
  const fs::path file = folder.write("deep/out", "before");
  fs::create_symlink(file, folder.path() / "link");
  auto out = output_file::create(folder.path() / "link");
  REQUIRE(out.has_value());
  CHECK(out->write("after"));
  CHECK(out->finish());
  CHECK(fs::is_symlink(folder.path() / "link"));
  CHECK(text_of(file) == "after");
}

TEST_CASE("a device is never replaced") {
  auto full = output_file::create("/dev/full");
  REQUIRE(full.has_value());
  const auto written = full->write("x");
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error() == std::errc::no_space_on_device);
  auto null = output_file::create("/dev/null");
  REQUIRE(null.has_value());
  CHECK(null->write("x"));
  CHECK(null->finish());
  CHECK(fs::is_character_file("/dev/null"));
  CHECK(fs::is_character_file("/dev/full"));
}

TEST_CASE("a place that cannot be written is refused at the beginning") {
  const scratch_folder folder;
  CHECK(output_file::create(folder.path() / "nowhere/out").error() == std::errc::no_such_file_or_directory);
  CHECK_FALSE(output_file::create(folder.path()).has_value());
  CHECK(files_in(folder.path()) == 0);
}
