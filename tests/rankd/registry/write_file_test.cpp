// tests/rankd/registry/write_file_test.cpp: all bytes arrive, and a file is replaced whole or not at all.
#include <rankd/registry/file.hpp>
#include <rankd/registry/write_file.hpp>

#include <tests/support/child.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/umask.hpp>

#include <csignal>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

using braid::testing::scratch_folder;
using rankd::read_text_file;
using rankd::replace_file;
using rankd::write_all;

namespace {

namespace fs = std::filesystem;

auto files_in(const fs::path& folder) -> std::ptrdiff_t {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

}  // namespace

TEST_CASE("what the system takes only in part is written on, until all of it is there or it refuses") {
  const scratch_folder folder;
  const fs::path file = folder.write("file", "");
  const auto end = braid::testing::run_in_child([&file] {
    std::signal(SIGXFSZ, SIG_IGN);
    const ::rlimit small{.rlim_cur = 1000, .rlim_max = 1000};
    if (::setrlimit(RLIMIT_FSIZE, &small) != 0) ::_exit(1);
    const int descriptor = ::open(file.c_str(), O_WRONLY);
    if (!write_all(descriptor, std::string(900, 'a'))) ::_exit(2);
    const auto rest = write_all(descriptor, std::string(900, 'b'));  // the first piece of it fits
    if (rest.has_value() || rest.error() != std::errc::file_too_large) ::_exit(3);
  });
  CHECK(end.status == 0);
  CHECK(read_text_file(file) == std::string(900, 'a') + std::string(100, 'b'));
}

TEST_CASE("what the system refuses to write is its error") {
  const int full = ::open("/dev/full", O_WRONLY);
  REQUIRE(full >= 0);
  CHECK(write_all(full, ""));
  CHECK(write_all(full, "x").error() == std::errc::no_space_on_device);
  ::close(full);
}

TEST_CASE("a file is made or replaced, and nothing stays beside it") {
  const scratch_folder folder;
  const fs::path file = folder.path() / "state";
  for (const std::string text : {"a longer text", "short", ""}) {
    CHECK(replace_file(file, text));
    CHECK(read_text_file(file) == text);
  }
  CHECK(files_in(folder.path()) == 1);
  folder.write("state.new", "what a crash has left, longer than what comes");
  CHECK(replace_file(file, "after"));
  CHECK(read_text_file(file) == "after");
}

TEST_CASE("a file that is made is for its owner and group at most, or as the umask says") {
  for (const auto& [mask, mode] : {std::pair<::mode_t, ::mode_t>{0, 0640}, {0022, 0640}, {0077, 0600}}) {
    const scratch_folder folder;
    const braid::testing::umask_for made_under(mask);
    CHECK(replace_file(folder.path() / "state", "x"));
    CHECK(rankd::write_file(folder.path() / "sums", "x"));
    CHECK(braid::testing::mode_of(folder.path() / "state") == mode);
    CHECK(braid::testing::mode_of(folder.path() / "sums") == mode);
  }
}

TEST_CASE("a file that is replaced keeps its mode, whatever the umask says and a crash has left") {
  const scratch_folder folder;
  const braid::testing::umask_for made_under(0077);
  for (const ::mode_t mode : {0644, 0600, 0664}) {
    CAPTURE(mode);
    const fs::path file = folder.write("state", "before");
    folder.write("state.new", "what a crash has left");
    REQUIRE(::chmod(file.c_str(), mode) == 0);
    CHECK(replace_file(file, "after"));
    CHECK(read_text_file(file) == "after");
    CHECK(braid::testing::mode_of(file) == mode);
  }
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a file that cannot be replaced stays as it was") {
  const scratch_folder folder;
  const fs::path file = folder.write("state", "before");
  REQUIRE(::mkfifo((folder.path() / "state.new").c_str(), 0600) == 0);
  CHECK(replace_file(file, "after").error() == std::errc::no_such_device_or_address);
  CHECK(read_text_file(file) == "before");
  fs::create_directory(folder.path() / "folder");
  CHECK(replace_file(folder.path() / "folder", "x").error() == std::errc::is_a_directory);
  CHECK_FALSE(fs::exists(folder.path() / "folder.new"));
  CHECK(replace_file(folder.path() / "absent/state", "x").error() == std::errc::no_such_file_or_directory);
}

TEST_CASE("a folder that is not there cannot be made durable") {
  const scratch_folder folder;
  CHECK(rankd::sync_folder(folder.path()));
  CHECK(rankd::sync_parent_folder(folder.path() / "file"));
  CHECK(rankd::sync_parent_folder("file"));  // in the current folder
  CHECK(rankd::sync_folder(folder.path() / "absent").error() == std::errc::no_such_file_or_directory);
  CHECK(rankd::sync_folder(folder.write("file", "")).error() == std::errc::not_a_directory);
}

TEST_CASE("a folder is created with the missing ones above it, and may exist") {
  const scratch_folder folder;
  const fs::path inner = folder.path() / "outer" / "inner";
  CHECK(*rankd::create_durable_folder(inner));
  CHECK(fs::is_directory(inner));
  CHECK_FALSE(*rankd::create_durable_folder(inner));
  CHECK(*rankd::create_durable_folder(inner / "last" / ""));
  CHECK(fs::is_directory(inner / "last"));
  const fs::path file = folder.write("file", "");
  CHECK_FALSE(rankd::create_durable_folder(file / "below").has_value());
}
