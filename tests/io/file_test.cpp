// tests/io/file_test.cpp: files and folders, by a lane that may block.
#include <braid/io/file.hpp>

#include <braid/coro/when_all.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/byte_stream.hpp>
#include <braid/task/executors.hpp>

#include <tests/support/child.hpp>
#include <tests/support/connections.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/scratch_folder.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace braid;
using testing::manual_executor;
using testing::test_loop;

namespace {

auto error_of_open(test_loop& here, executor& blocking_threads, const std::string& path, file::mode mode)
    -> std::error_code {
  auto opened = here.run(file::open(blocking_threads, path, mode)).take();
  return opened ? std::error_code() : opened.error();
}

}  // namespace

TEST_CASE("a FIFO is refused, whether it has another end or not, and no thread waits for one") {
  test_loop here;
  blocking_pool blocking_threads;
  const testing::scratch_folder folder;
  const std::string path = folder.path() / "fifo";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  for (const bool has_writer : {false, true}) {
    const descriptor other(has_writer ? ::open(path.c_str(), O_RDWR | O_CLOEXEC) : -1);
    const auto whole = here.run(file::read(blocking_threads, path)).take();
    CHECK(whole.error() == std::errc::invalid_seek);
    CHECK(error_of_open(here, blocking_threads, path, file::mode::read) == std::errc::invalid_seek);
    CHECK(error_of_open(here, blocking_threads, path, file::mode::create) == std::errc::invalid_seek);
  }
}

TEST_CASE("what is open blocks as files do, and a device that has no end is read up to the limit") {
  test_loop here;
  blocking_pool blocking_threads;
  const auto whole = here.run(file::read(blocking_threads, "/dev/zero", 1000)).take();
  CHECK(whole.error() == std::errc::file_too_large);
  const auto nothing = here.run(file::read(blocking_threads, "/dev/null")).take();
  CHECK(nothing == std::string());
  const auto folder = here.run(file::read(blocking_threads, "/")).take();
  CHECK(folder.error() == std::errc::is_a_directory);
}

TEST_CASE("what is written at a place is read there, and the size is as far as it goes") {
  test_loop here;
  blocking_pool blocking_threads;
  const testing::scratch_folder folder;
  const std::string path = folder.path() / "data";
  auto body = [&]() -> task<void> {
    const auto opened = co_await file::open(blocking_threads, path, file::mode::create);
    REQUIRE(opened.has_value());
    const auto first = co_await opened->write_at(4, bytes_of("later"));
    CHECK(first.has_value());
    const auto second = co_await opened->write_at(0, bytes_of("now "));
    CHECK(second.has_value());
    const auto synced = co_await opened->sync();
    CHECK(synced.has_value());
    const auto size = co_await opened->size();
    CHECK(size.value() == 9);
    std::array<std::byte, 100> room{};
    const auto all = co_await opened->read_at(0, room);
    CHECK(text_of(std::span(room).first(all.value())) == "now later");
    const auto end = co_await opened->read_at(9, room);
    CHECK(end.value() == 0);
    const auto cut = co_await opened->resize(3);
    CHECK(cut.has_value());
    const auto rest = co_await opened->read_at(1, room);
    CHECK(text_of(std::span(room).first(rest.value())) == "ow");
  };
  CHECK(here.run(body()).has_value());
  CHECK(std::filesystem::file_size(path) == 3);
}

TEST_CASE("a whole file is created, or replaced, and what cannot be written is refused") {
  test_loop here;
  blocking_pool blocking_threads;
  const testing::scratch_folder folder;
  const std::string path = folder.path() / "data";
  const auto write = [&](const std::string& to, std::string_view text) {
    const auto written = here.run(file::write(blocking_threads, to, text)).take();
    return written ? std::error_code() : written.error();
  };
  const auto read = [&] { return here.run(file::read(blocking_threads, path)).take(); };
  CHECK_FALSE(write(path, "a first text that is long"));
  CHECK(read() == "a first text that is long");
  CHECK_FALSE(write(path, "short"));
  CHECK(read() == "short");
  CHECK_FALSE(write(path, ""));
  CHECK(read() == "");
  const std::array<std::byte, 3> bytes{std::byte{0}, std::byte{255}, std::byte{7}};
  CHECK(here.run(file::write(blocking_threads, path, std::span(bytes))).take().has_value());
  CHECK(read() == std::string("\0\377\7", 3));
  CHECK(write(folder.path() / "missing" / "data", "x") == std::errc::no_such_file_or_directory);
  CHECK(write(folder.path(), "x") == std::errc::is_a_directory);
  CHECK(write(path + std::string("\0x", 2), "x") == errc::invalid_argument);
  CHECK(write("/dev/full", "x") == std::errc::no_space_on_device);
}

TEST_CASE("modes make, keep, empty and refuse files as they say") {
  test_loop here;
  blocking_pool blocking_threads;
  const testing::scratch_folder folder;
  const std::string path = folder.path() / "data";
  CHECK(error_of_open(here, blocking_threads, path, file::mode::read) == std::errc::no_such_file_or_directory);
  CHECK(error_of_open(here, blocking_threads, path, file::mode::write) == std::errc::no_such_file_or_directory);
  CHECK_FALSE(error_of_open(here, blocking_threads, path, file::mode::make));
  CHECK(error_of_open(here, blocking_threads, path, file::mode::make) == std::errc::file_exists);
  folder.write("data", "kept");
  CHECK_FALSE(error_of_open(here, blocking_threads, path, file::mode::create));
  CHECK(std::filesystem::file_size(path) == 4);
  CHECK_FALSE(error_of_open(here, blocking_threads, path, file::mode::truncate));
  CHECK(std::filesystem::file_size(path) == 0);
  CHECK(error_of_open(here, blocking_threads, folder.path(), file::mode::write) == std::errc::is_a_directory);
  auto body = [&]() -> task<std::error_code> {
    const auto opened = co_await file::open(blocking_threads, path, file::mode::read);
    const auto wrote = co_await opened->write_at(0, bytes_of("x"));
    co_return wrote.error();
  };
  CHECK(here.run(body()).take() == std::errc::bad_file_descriptor);
}

TEST_CASE("a file is read whole, one that says it is empty included") {
  test_loop here;
  blocking_pool blocking_threads;
  const testing::scratch_folder folder;
  const std::string text(100'000, 't');
  CHECK(here.run(file::read(blocking_threads, folder.write("big", text))).take().value() == text);
  CHECK(here.run(file::read(blocking_threads, folder.write("empty", ""))).take().value().empty());
  CHECK(here.run(file::read(blocking_threads, "/proc/self/status")).take().value().starts_with("Name:"));
  CHECK(here.run(file::read(blocking_threads, folder.path() / "none")).take().error() ==
        std::errc::no_such_file_or_directory);
  CHECK(here.run(file::read(blocking_threads, folder.path())).take().error() == std::errc::is_a_directory);
  const std::string cut = std::string("/proc/self/status") + '\0' + ".txt";  // the system would read the first
  CHECK(here.run(file::read(blocking_threads, cut)).take().error() == std::errc::invalid_argument);
  CHECK(here.run(file::list_folder(blocking_threads, std::string("/\0x", 3))).take().error() ==
        std::errc::invalid_argument);
}

TEST_CASE("a file is read up to a limit, whatever it says of its size") {
  test_loop here;
  blocking_pool blocking_threads;
  const testing::scratch_folder folder;
  const std::string path = folder.write("ten", "0123456789");
  CHECK(here.run(file::read(blocking_threads, path, 10)).take().value().size() == 10);
  CHECK(here.run(file::read(blocking_threads, path, 9)).take().error() == std::errc::file_too_large);
  CHECK(here.run(file::read(blocking_threads, path, 0)).take().error() == std::errc::file_too_large);
  CHECK(here.run(file::read(blocking_threads, folder.write("empty", ""), 0)).take().value().empty());
  CHECK(here.run(file::read(blocking_threads, "/dev/zero", 100'000)).take().error() == std::errc::file_too_large);
  const std::string sparse = folder.write("sparse", "");
  std::filesystem::resize_file(sparse, std::uintmax_t{1} << 40U);
  CHECK(here.run(file::read(blocking_threads, sparse)).take().error() == std::errc::file_too_large);
}

#if !defined(BRAID_TEST_ADDRESS) && !defined(BRAID_TEST_THREAD)  // which need more addresses than that
TEST_CASE("a file for which there is no memory is an error") {
  const testing::scratch_folder folder;
  const std::string sparse = folder.write("sparse", "");
  const std::string small = folder.write("small", "small");
  std::filesystem::resize_file(sparse, std::uintmax_t{1} << 40U);
  const testing::child_end end = testing::run_in_child([&] {
    const ::rlimit limit{.rlim_cur = rlim_t{1} << 32U, .rlim_max = rlim_t{1} << 32U};
    ::setrlimit(RLIMIT_AS, &limit);
    test_loop here;
    blocking_pool blocking_threads({.max_threads = 1});
    const auto everything = std::numeric_limits<std::uint64_t>::max();
    const auto refused = here.run(file::read(blocking_threads, sparse, everything)).take();
    if (refused || refused.error() != std::errc::not_enough_memory) ::_exit(1);
    ::_exit(here.run(file::read(blocking_threads, small, everything)).take().value() == "small" ? 0 : 2);
  });
  CHECK(end.signal == 0);
  CHECK(end.status == 0);
}
#endif

namespace {

template <typename T>
auto error_of(test_loop& here, task<result<T>> work) -> std::error_code {
  result<T> ended = here.run(std::move(work)).take();
  return ended ? std::error_code() : ended.error();
}

}  // namespace

TEST_CASE("folders are made and removed, files are renamed and removed, and what cannot be is said") {
  test_loop here;
  blocking_pool blocking_threads;
  const testing::scratch_folder folder;
  const std::string base = folder.path();
  CHECK_FALSE(error_of(here, file::make_folder(blocking_threads, base + "/new")));
  CHECK(std::filesystem::is_directory(base + "/new"));
  CHECK(error_of(here, file::make_folder(blocking_threads, base + "/new")) == std::errc::file_exists);
  CHECK(error_of(here, file::make_folder(blocking_threads, base + "/none/new")) ==
        std::errc::no_such_file_or_directory);

  folder.write("one", "1");
  folder.write("two", "22");
  CHECK_FALSE(error_of(here, file::rename(blocking_threads, base + "/one", base + "/two")));
  CHECK_FALSE(std::filesystem::exists(base + "/one"));
  CHECK(std::filesystem::file_size(base + "/two") == 1);
  CHECK(error_of(here, file::rename(blocking_threads, base + "/one", base + "/two")) ==
        std::errc::no_such_file_or_directory);
  CHECK_FALSE(error_of(here, file::rename(blocking_threads, base + "/two", base + "/new/two")));

  CHECK(error_of(here, file::remove_folder(blocking_threads, base + "/new")) == std::errc::directory_not_empty);
  CHECK(error_of(here, file::remove_folder(blocking_threads, base + "/new/two")) == std::errc::not_a_directory);
  CHECK(error_of(here, file::remove(blocking_threads, base + "/new")) == std::errc::is_a_directory);
  CHECK_FALSE(error_of(here, file::remove(blocking_threads, base + "/new/two")));
  CHECK(error_of(here, file::remove(blocking_threads, base + "/new/two")) == std::errc::no_such_file_or_directory);
  CHECK_FALSE(error_of(here, file::remove_folder(blocking_threads, base + "/new")));
  CHECK_FALSE(std::filesystem::exists(base + "/new"));

  const std::string cut = base + std::string("/x\0y", 4);
  folder.write("x", "stays");
  CHECK(error_of(here, file::remove(blocking_threads, cut)) == std::errc::invalid_argument);
  CHECK(error_of(here, file::remove_folder(blocking_threads, cut)) == std::errc::invalid_argument);
  CHECK(error_of(here, file::make_folder(blocking_threads, cut)) == std::errc::invalid_argument);
  CHECK(error_of(here, file::rename(blocking_threads, cut, base + "/z")) == std::errc::invalid_argument);
  CHECK(error_of(here, file::rename(blocking_threads, base + "/x", cut)) == std::errc::invalid_argument);
  CHECK(error_of(here, file::status_of(blocking_threads, cut)) == std::errc::invalid_argument);
  CHECK(std::filesystem::exists(base + "/x"));
  REQUIRE(blocking_threads.shutdown(shutdown_mode::drain));
  CHECK(error_of(here, file::make_folder(blocking_threads, base + "/new")) == errc::closed);
}

TEST_CASE("the status of a file tells kind, size and time, of a link itself where that is wanted") {
  test_loop here;
  blocking_pool blocking_threads;
  const testing::scratch_folder folder;
  const std::string path = folder.write("data", "12345");
  std::filesystem::create_symlink("data", folder.path() / "link");
  std::filesystem::create_symlink("none", folder.path() / "loose");
  const auto when = std::chrono::sys_days(std::chrono::year(2001) / 2 / 3) + 250ms;
  const auto since = when.time_since_epoch();
  const std::array times{
      ::timespec{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
      ::timespec{.tv_sec = std::chrono::floor<std::chrono::seconds>(since).count(), .tv_nsec = 250'000'000}};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) == 0);
  const auto status = [&](const std::string& of, file::links links) {
    return here.run(file::status_of(blocking_threads, folder.path() / of, links)).take();
  };
  for (const char* const name : {"data", "link"}) {
    const file::status seen = status(name, file::links::follow).value();
    CHECK(seen.kind == file::kind::file);
    CHECK(seen.size == 5);
    CHECK(seen.modified == when);
  }
  CHECK(status("link", file::links::stay).value().kind == file::kind::link);
  CHECK(status("loose", file::links::stay).value().kind == file::kind::link);
  CHECK(status("loose", file::links::follow).error() == std::errc::no_such_file_or_directory);
  CHECK(status(".", file::links::follow).value().kind == file::kind::folder);
  CHECK(here.run(file::status_of(blocking_threads, "/dev/null")).take().value().kind == file::kind::other);
}

TEST_CASE("a folder is listed by name, with the kinds of what it holds") {
  test_loop here;
  blocking_pool blocking_threads;
  const testing::scratch_folder folder;
  folder.write("b", "");
  folder.write("a/inner", "");
  std::filesystem::create_symlink("b", folder.path() / "c");
  const auto listed = here.run(file::list_folder(blocking_threads, folder.path())).take().value();
  CHECK((listed == std::vector<file::entry>{{.name = "a", .kind = file::kind::folder},
                                            {.name = "b", .kind = file::kind::file},
                                            {.name = "c", .kind = file::kind::link}}));
  CHECK(here.run(file::list_folder(blocking_threads, folder.path() / "none")).take().error() ==
        std::errc::no_such_file_or_directory);
  CHECK(here.run(file::list_folder(blocking_threads, folder.path() / "b")).take().error() ==
        std::errc::not_a_directory);
}

TEST_CASE("a file that waits for a busy executor is given up at a deadline, and is not read afterwards") {
  test_loop here;
  testing::manual_executor busy;
  std::optional<result<std::string>> read;
  auto body = [&]() -> task<void> { read = co_await with_timeout(5ms, file::read(busy, "/dev/null")); };
  here.io().spawn(body());
  here.advance(6ms);
  REQUIRE(read.has_value());
  CHECK(*read == fail(errc::deadline_exceeded));
  CHECK(here.io().root().tasks() == 0);
  REQUIRE(busy.pending() == 1);
  busy.run();
}

TEST_CASE("a hundred files at once leave no descriptor open, and a closed lane refuses") {
  test_loop here;
  blocking_pool blocking_threads;
  const testing::scratch_folder folder;
  const std::size_t before = testing::open_descriptors();
  auto one = [&](int number) -> task<bool> {
    const std::string path = folder.path() / std::to_string(number);
    const auto opened = co_await file::open(blocking_threads, path, file::mode::make);
    const auto wrote = co_await opened->write_at(0, bytes_of(path));
    const auto text = co_await file::read(blocking_threads, path);
    co_return wrote&& text.value() == path;
  };
  std::vector<task<bool>> all;
  for (int i = 0; i < 100; ++i) all.push_back(one(i));
  const auto done = here.run(when_all(std::move(all))).take();
  for (const bool each : done) CHECK(each);
  CHECK(testing::open_descriptors() == before);
  REQUIRE(blocking_threads.shutdown(shutdown_mode::drain));
  CHECK(error_of_open(here, blocking_threads, folder.path() / "0", file::mode::read) == errc::closed);
}
