// tests/rankd/cli/part_file_test.cpp: one process has a part, gives it its place, and leaves no doubt whose file it is.
#include <rankd/cli/part_file.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/registry/write_file.hpp>

#include <tests/support/child.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/umask.hpp>

#include <csignal>
#include <string>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

using namespace rankd;
using braid::testing::mode_of;
using braid::testing::scratch_folder;

namespace {

namespace fs = std::filesystem;

struct workplace {
  scratch_folder folder;
  fs::path part = folder.path() / "file.part";
  fs::path place = folder.path() / "file";
};

}  // namespace

TEST_CASE("a part takes its place, and a second one replaces it") {
  const workplace at;
  for (const std::string text : {"a longer text", "short"}) {
    const auto file = open_part(at.part, at.place);
    REQUIRE(file.has_value());
    CHECK(write_all(file->number(), text));
    CHECK(put_in_place(*file, at.part, at.place));
    CHECK(read_text_file(at.place) == text);
    CHECK_FALSE(fs::exists(at.part));
  }
}

TEST_CASE("what is left in a part stays there until it is emptied") {
  const workplace at;
  at.folder.write("file.part", "left");
  const auto file = open_part(at.part, at.place);
  REQUIRE(file.has_value());
  CHECK(read_text_file(at.part) == "left");
  CHECK(write_all(file->number(), "gone"));
  CHECK(empty_part(*file, at.place));
  CHECK(write_all(file->number(), "new"));
  CHECK(read_text_file(at.part) == "new");
}

TEST_CASE("a part is opened by one process at a time, and is free when that one has died") {
  const workplace at;
  {
    const auto first = open_part(at.part, at.place);
    REQUIRE(first.has_value());
    CHECK(open_part(at.part, at.place).error() == std::errc::operation_would_block);
  }
  const auto end = braid::testing::run_in_child([&at] {
    const auto file = open_part(at.part, at.place);
    if (file) ::raise(SIGKILL);
  });
  CHECK(end.signal == SIGKILL);
  CHECK(open_part(at.part, at.place).has_value());
}

TEST_CASE("a file loses its name when it is renamed, replaced or deleted") {
  const workplace at;
  const auto file = open_part(at.part, at.place);
  REQUIRE(file.has_value());
  CHECK(has_name(*file, at.part));
  CHECK(put_in_place(*file, at.part, at.place));
  CHECK_FALSE(has_name(*file, at.part));
  CHECK(has_name(*file, at.place));
  const auto second = open_part(at.part, at.place);
  REQUIRE(second.has_value());
  CHECK_FALSE(has_name(*file, at.part));
  CHECK(put_in_place(*second, at.part, at.place));
  CHECK_FALSE(has_name(*file, at.place));
  fs::remove(at.place);
  CHECK_FALSE(has_name(*second, at.place));
}

TEST_CASE("a part is as private as what it replaces, and its owner may write it") {
  const workplace at;
  at.folder.write("file", "before");
  ::chmod(at.place.c_str(), 0440);
  at.folder.write("file.part", "left");
  ::chmod(at.part.c_str(), 0666);
  {
    const auto file = open_part(at.part, at.place);
    REQUIRE(file.has_value());
    CHECK(mode_of(at.part) == 0666);  // it may be a file of somebody's, and then it is left alone
    CHECK(empty_part(*file, at.place));
    CHECK(mode_of(at.part) == 0640);
  }
  fs::remove(at.part);
  const auto made = open_part(at.part, at.place);
  REQUIRE(made.has_value());
  CHECK(mode_of(at.part) == 0640);
  CHECK(put_in_place(*made, at.part, at.place));
  CHECK(mode_of(at.place) == 0440);
}

TEST_CASE("a new file is for its owner and group at most, or as the umask says") {
  for (const auto& [mask, mode] : {std::pair<::mode_t, ::mode_t>{0, 0640}, {0022, 0640}, {0077, 0600}}) {
    const workplace at;
    const braid::testing::umask_for made_under(mask);
    const auto file = open_part(at.part, at.place);
    REQUIRE(file.has_value());
    CHECK(mode_of(at.part) == mode);
    CHECK(put_in_place(*file, at.part, at.place));
    CHECK(mode_of(at.place) == mode);
  }
}

TEST_CASE("a file that root replaces stays that of its owner") {
  if (::geteuid() != 0) return;
  const workplace at;
  at.folder.write("file", "before");
  REQUIRE(::chown(at.place.c_str(), 12345, 23456) == 0);
  const auto file = open_part(at.part, at.place);
  REQUIRE(file.has_value());
  CHECK(put_in_place(*file, at.part, at.place));
  struct ::stat now{};
  REQUIRE(::stat(at.place.c_str(), &now) == 0);
  CHECK(now.st_uid == 12345);
  CHECK(now.st_gid == 23456);
}

TEST_CASE("what is no regular file is not taken for a part") {
  const workplace at;
  REQUIRE(::mkfifo(at.part.c_str(), 0600) == 0);
  CHECK(open_part(at.part, at.place).error() == std::errc::file_exists);
  fs::remove(at.part);
  fs::create_symlink(at.folder.write("other", "precious"), at.part);
  CHECK(open_part(at.part, at.place).error() == std::errc::too_many_symbolic_link_levels);
  fs::remove(at.part);
  fs::create_directory(at.part);
  CHECK(open_part(at.part, at.place).error() == std::errc::is_a_directory);
  CHECK(open_part(at.folder.path() / "no/part", at.place).error() == std::errc::no_such_file_or_directory);
}
