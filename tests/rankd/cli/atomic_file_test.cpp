// tests/rankd/cli/atomic_file_test.cpp: a file is there whole or as it was, and written by one process at a time.
#include <rankd/cli/atomic_file.hpp>

#include <tests/support/child.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/umask.hpp>

#include <csignal>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

using braid::testing::mode_of;
using braid::testing::scratch_folder;
using rankd::atomic_file;
using rankd::has_name;

namespace {

namespace fs = std::filesystem;

auto text_of(const fs::path& file) -> std::string {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

auto files_in(const fs::path& folder) -> std::ptrdiff_t {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

/// A file whose part, `file.part`, outlives its writer.
struct workplace {
  scratch_folder folder;
  fs::path part = folder.path() / "file.part";
  fs::path place = folder.path() / "file";

  [[nodiscard]] auto begin() const { return atomic_file::create(place, {.suffix = ".part", .keeps_part = true}); }
};

}  // namespace

TEST_CASE("a file has its name once it is finished, and not before") {
  const scratch_folder folder;
  const fs::path file = folder.path() / "out";
  auto out = atomic_file::create(file);
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
    auto out = atomic_file::create(file);
    REQUIRE(out.has_value());
    CHECK(out->write("half"));
    const atomic_file moved = std::move(*out);
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
    auto out = atomic_file::create(file);
    REQUIRE(out.has_value());
    CHECK(mode_of(file.string() + ".unfinished") == (mode | 0600));
    CHECK(out->write("after"));
    CHECK(out->finish());
    CHECK(text_of(file) == "after");
    CHECK(mode_of(file) == mode);
    fs::remove(file);
  }
  const ::mode_t mask = ::umask(027);
  auto fresh = atomic_file::create(folder.path() / "out");
  ::umask(mask);
  REQUIRE(fresh.has_value());
  CHECK(fresh->finish());
  CHECK(mode_of(folder.path() / "out") == 0640);
}

TEST_CASE("what a killed process has left beside its file is overwritten by the next one") {
  const scratch_folder folder;
  const fs::path file = folder.write("out", "before");
  const auto end = braid::testing::run_in_child([&file] {
    auto out = atomic_file::create(file);
    if (!out || !out->write("half of a long text")) ::_exit(1);
    ::raise(SIGKILL);
  });
  REQUIRE(end.signal == SIGKILL);
  CHECK(text_of(file) == "before");
  CHECK(text_of(file.string() + ".unfinished") == "half of a long text");
  {
    auto out = atomic_file::create(file);
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
  auto first = atomic_file::create(file);
  REQUIRE(first.has_value());
  CHECK(atomic_file::create(file).error() == std::errc::operation_would_block);
  CHECK(first->write("first"));
  CHECK(first->finish());
  CHECK(text_of(file) == "first");
}

TEST_CASE("a link is followed, and stays") {
  const scratch_folder folder;
  const fs::path file = folder.write("deep/out", "before");
  fs::create_symlink(file, folder.path() / "link");
  auto out = atomic_file::create(folder.path() / "link");
  REQUIRE(out.has_value());
  CHECK(out->write("after"));
  CHECK(out->finish());
  CHECK(fs::is_symlink(folder.path() / "link"));
  CHECK(text_of(file) == "after");
}

TEST_CASE("a device is never replaced") {
  auto full = atomic_file::create("/dev/full");
  REQUIRE(full.has_value());
  const auto written = full->write("x");
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error() == std::errc::no_space_on_device);
  auto null = atomic_file::create("/dev/null");
  REQUIRE(null.has_value());
  CHECK(null->write("x"));
  CHECK(null->finish());
  CHECK(fs::is_character_file("/dev/null"));
  CHECK(fs::is_character_file("/dev/full"));
}

TEST_CASE("a place that cannot be written is refused at the beginning") {
  const scratch_folder folder;
  CHECK(atomic_file::create(folder.path() / "nowhere/out").error() == std::errc::no_such_file_or_directory);
  CHECK_FALSE(atomic_file::create(folder.path()).has_value());
  CHECK(files_in(folder.path()) == 0);
}

TEST_CASE("a part takes its place, and a second one replaces it") {
  const workplace at;
  for (const std::string text : {"a longer text", "short"}) {
    auto file = at.begin();
    REQUIRE(file.has_value());
    CHECK(file->part() == at.part);
    CHECK(file->write(text));
    CHECK(file->finish());
    CHECK(text_of(at.place) == text);
    CHECK_FALSE(fs::exists(at.part));
  }
}

TEST_CASE("what is left in a part that is kept stays there until it is emptied, or up to the bytes that are kept") {
  const workplace at;
  at.folder.write("file.part", "left");
  {
    auto file = at.begin();
    REQUIRE(file.has_value());
    CHECK(text_of(at.part) == "left");
    CHECK(file->size() == 4);
    CHECK(file->write("gone"));
    CHECK(file->keep_first(0));
    CHECK(file->write("new one"));
    CHECK(file->sync());
    CHECK(text_of(at.part) == "new one");
    CHECK(file->keep_first(4));
    CHECK(file->write("two"));
  }
  CHECK(text_of(at.part) == "new two");
  CHECK_FALSE(fs::exists(at.place));
}

TEST_CASE("a part is opened by one process at a time, and is free when that one has died") {
  const workplace at;
  {
    const auto first = at.begin();
    REQUIRE(first.has_value());
    CHECK(at.begin().error() == std::errc::operation_would_block);
  }
  const auto end = braid::testing::run_in_child([&at] {
    const auto file = at.begin();
    if (file) ::raise(SIGKILL);
  });
  CHECK(end.signal == SIGKILL);
  CHECK(at.begin().has_value());
}

TEST_CASE("a file loses its name when it is renamed, replaced or deleted") {
  const workplace at;
  const auto open = [](const fs::path& file) {
    return braid::descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  };
  const braid::descriptor file = open(at.part);
  CHECK(has_name(file, at.part));
  fs::rename(at.part, at.place);
  CHECK_FALSE(has_name(file, at.part));
  CHECK(has_name(file, at.place));
  const braid::descriptor second = open(at.part);
  CHECK_FALSE(has_name(file, at.part));
  fs::rename(at.part, at.place);
  CHECK_FALSE(has_name(file, at.place));
  fs::remove(at.place);
  CHECK_FALSE(has_name(second, at.place));
}

TEST_CASE("a part is as private as what it replaces, and its owner may write it") {
  const workplace at;
  at.folder.write("file", "before");
  ::chmod(at.place.c_str(), 0440);
  at.folder.write("file.part", "left");
  ::chmod(at.part.c_str(), 0666);
  {
    auto file = at.begin();
    REQUIRE(file.has_value());
    CHECK(mode_of(at.part) == 0666);  // it may be a file of somebody's, and then it is left alone
    CHECK(file->keep_first(0));
    CHECK(mode_of(at.part) == 0640);
  }
  fs::remove(at.part);
  auto made = at.begin();
  REQUIRE(made.has_value());
  CHECK(mode_of(at.part) == 0640);
  CHECK(made->finish());
  CHECK(mode_of(at.place) == 0440);
}

TEST_CASE("a new file is for its owner and group at most, or as the umask says") {
  for (const auto& [mask, mode] : {std::pair<::mode_t, ::mode_t>{0, 0640}, {0022, 0640}, {0077, 0600}}) {
    const workplace at;
    const braid::testing::umask_for made_under(mask);
    auto file = at.begin();
    REQUIRE(file.has_value());
    CHECK(mode_of(at.part) == mode);
    CHECK(file->finish());
    CHECK(mode_of(at.place) == mode);
  }
}

TEST_CASE("a file that root replaces stays that of its owner") {
  if (::geteuid() != 0) return;
  const workplace at;
  at.folder.write("file", "before");
  REQUIRE(::chown(at.place.c_str(), 12345, 23456) == 0);
  auto file = at.begin();
  REQUIRE(file.has_value());
  CHECK(file->finish());
  struct ::stat now{};
  REQUIRE(::stat(at.place.c_str(), &now) == 0);
  CHECK(now.st_uid == 12345);
  CHECK(now.st_gid == 23456);
}

TEST_CASE("what is no regular file is not taken for a part") {
  const workplace at;
  REQUIRE(::mkfifo(at.part.c_str(), 0600) == 0);
  CHECK(at.begin().error() == std::errc::file_exists);
  CHECK(fs::is_fifo(at.part));
  fs::remove(at.part);
  fs::create_symlink(at.folder.write("other", "precious"), at.part);
  CHECK(at.begin().error() == std::errc::too_many_symbolic_link_levels);
  fs::remove(at.part);
  fs::create_directory(at.part);
  CHECK(at.begin().error() == std::errc::is_a_directory);
  CHECK(atomic_file::create(at.folder.path() / "no/file", {.suffix = ".part"}).error() ==
        std::errc::no_such_file_or_directory);
}
