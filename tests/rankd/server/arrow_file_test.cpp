// tests/rankd/server/arrow_file_test.cpp: files of captured rows: which there are, what is in them, what is lost.
#include <rankd/server/files/arrow_file.hpp>

#include <rankd/registry/file.hpp>
#include <tests/rankd/server/arrow_reader.hpp>
#include <tests/rankd/server/captured_sets.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/scratch_folder.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::eventually;
using braid::testing::scratch_folder;

namespace {

namespace fs = std::filesystem;
using strings = std::vector<std::string>;

constexpr std::chrono::hours never{1};

auto files_in(const fs::path& folder) -> std::vector<fs::path> {
  std::vector<fs::path> paths;
  for (const auto& each : fs::directory_iterator(folder)) paths.push_back(each.path());
  std::ranges::sort(paths);
  return paths;
}

/// What the files of a folder have, in the order of their names.
auto read_all(const fs::path& folder) -> std::vector<read_stream> {
  std::vector<read_stream> out;
  for (const fs::path& path : files_in(folder)) out.push_back(read_arrow(read_text_file(path).value()));
  return out;
}

auto open_in(const fs::path& folder, arrow_file::options how = {}) -> std::unique_ptr<arrow_file> {
  how.series.folder = folder;
  how.series.name = "captures";
  how.series.suffix = ".arrows";
  auto made = arrow_file::open(std::move(how));
  REQUIRE(made.has_value());
  return std::move(*made);
}

}  // namespace

TEST_CASE("all rows are in files, in their order, whatever the sizes of batches and files") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const scratch_folder folder;
    random_captures random(seed);
    strings lines;
    {
      const auto file = open_in(
          folder.path(),
          {.series = {.max_bytes = 1 + seed % 7 * 3000}, .batch_bytes = 1 + seed % 5 * 2000, .max_delay = never});
      for (int i = 0; i < 30; ++i) {
        auto one = random.next();
        file->add(std::move(one.copy));
        lines.push_back(std::move(one.line));
        if (i % 11 == 10) file->reopen();
      }
    }
    strings read;
    for (const read_stream& each : read_all(folder.path())) {
      CHECK(each.is_ended);
      CHECK(each.batches != 0);
      read.insert(read.end(), each.lines.begin(), each.lines.end());
    }
    REQUIRE(read == lines);
  }
}

TEST_CASE("rows of several threads are all there") {
  const scratch_folder folder;
  {
    const auto file = open_in(folder.path(), {.batch_bytes = 2000});
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        plain_captures some;
        for (int n = 0; n < 200; ++n) file->add(some.numbers("count", 3));
      });
    threads.clear();
    CHECK(file->lost() == 0);
  }
  const auto files = read_all(folder.path());
  REQUIRE(files.size() == 1);
  CHECK(files[0].lines.size() == 800);
  CHECK(files[0].batches > 10);
}

TEST_CASE("rows with other columns begin another file, and those of the earlier ones are in it, too") {
  const scratch_folder folder;
  plain_captures some;
  {
    const auto file = open_in(folder.path(), {.batch_bytes = 1, .max_delay = never});
    file->add(some.numbers("count", 1));
    file->add(some.numbers("count", 1));
    file->add(some.texts("title", {"a"}));
    file->add(some.numbers("count", 1));
    file->add(some.texts("count", {"b"}));
    file->add(some.texts("title", {"c"}));
  }
  const auto files = read_all(folder.path());
  REQUIRE(files.size() == 3);
  CHECK(files[0].columns == strings{"id:int", "count:int"});
  CHECK(files[0].lines.size() == 2);
  CHECK(files[1].columns == strings{"id:int", "count:int", "title:string"});
  CHECK(files[1].lines.size() == 2);
  CHECK(files[2].columns == strings{"id:int", "title:string", "count:string"});
  CHECK(files[2].lines.size() == 2);
  for (const read_stream& each : files) CHECK(each.is_ended);
}

TEST_CASE("rows that wait together are written with the type that their key had") {
  const scratch_folder folder;
  plain_captures some;
  {
    const auto file = open_in(folder.path(), {.max_delay = never});
    file->add(some.texts("title", {"a"}));
    file->add(some.numbers("count", 2));
    file->add(some.texts("count", {"b"}));
  }
  const auto files = read_all(folder.path());
  REQUIRE(files.size() == 2);
  REQUIRE(files[0].lines.size() == 2);
  CHECK(files[0].batches == 1);
  CHECK(files[0].lines[0].find(R"("rows":{"id":[1],"title":["a"]})") != std::string::npos);
  CHECK(files[0].lines[1].find(R"("rows":{"id":[1,2],"count":[0,10]})") != std::string::npos);
  REQUIRE(files[1].lines.size() == 1);
  CHECK(files[1].lines[0].find(R"("rows":{"id":[1],"count":["b"]})") != std::string::npos);
}

TEST_CASE("a file is there with its first rows, for its owner and group, and goes on until it is full") {
  const scratch_folder folder;
  const fs::path made = folder.path() / "a" / "captures";
  plain_captures some;
  {
    const auto file = open_in(made, {.series = {.max_bytes = 6000}, .batch_bytes = 1, .max_delay = never});
    CHECK(files_in(made).empty());
    for (int i = 0; i < 9; ++i) file->add(some.numbers("count", 20));
    CHECK(eventually([&] { return file->written() == 9; }));
    file->reopen();
    file->add(some.numbers("count", 1));
  }
  const std::vector<fs::path> paths = files_in(made);
  const auto files = read_all(made);
  CHECK(files.size() > 3);
  CHECK(files.back().lines.size() == 1);
  for (const fs::path& each : paths) {
    CHECK(each.extension() == ".arrows");
    CHECK(fs::file_size(each) < 6000 + 1000);
    CHECK(fs::status(each).permissions() == (fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read));
  }
  CHECK((fs::status(made).permissions() & fs::perms::others_all) == fs::perms::none);
}

TEST_CASE("without rows there is no file, and a folder that cannot be made is an error with its name") {
  const scratch_folder folder;
  open_in(folder.path() / "none").reset();
  CHECK(files_in(folder.path() / "none").empty());
  const fs::path file = folder.write("file", "");
  const auto none = arrow_file::open({.series = {.folder = file / "captures", .name = "c"}});
  REQUIRE(!none);
  CHECK(none.error().front().code == "unwritable_file");
  CHECK(none.error().front().source.ends_with("file/captures"));
}

TEST_CASE("rows are written after a while, also where there are few") {
  const scratch_folder folder;
  plain_captures some;
  const auto file = open_in(folder.path(), {.max_delay = std::chrono::milliseconds(1)});
  file->add(some.numbers("count", 1));
  CHECK(eventually([&] { return file->written() == 1; }));
  const auto files = read_all(folder.path());
  REQUIRE(files.size() == 1);
  CHECK(files[0].lines.size() == 1);
  CHECK_FALSE(files[0].is_ended);  // and can be read as it is
  CHECK_FALSE(files[0].is_cut);
}

TEST_CASE("a disk that is full costs whole batches, which are counted, and files can be read on") {
  const scratch_folder folder;
  plain_captures some;
  const auto file = open_in(folder.path(), {.batch_bytes = 1, .max_delay = never});
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  ::rlimit usual{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &usual) == 0);
  const ::rlimit small{.rlim_cur = 5000, .rlim_max = usual.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  for (int i = 0; i < 6; ++i) file->add(some.numbers("count", 20));
  const bool ended = eventually([&] { return file->written() + file->lost() == 6; });
  ::setrlimit(RLIMIT_FSIZE, &usual);
  std::signal(SIGXFSZ, before);
  CHECK(ended);
  const std::uint64_t kept = file->written();
  CHECK(kept > 0);
  CHECK(file->lost() > 0);
  file->add(some.numbers("count", 1));
  CHECK(eventually([&] { return file->written() == kept + 1; }));
  const auto files = read_all(folder.path());
  REQUIRE(files.size() == 1);
  CHECK(files[0].lines.size() == kept + 1);
  CHECK_FALSE(files[0].is_cut);
}

TEST_CASE("rows that wait have a bound, and those beyond it are lost and counted") {
  const scratch_folder folder;
  plain_captures some;
  const captured_copy large = some.numbers("count", 100'000);
  REQUIRE(large.bytes() > std::size_t{1} << 20U);
  const auto file = open_in(folder.path(), {.batch_bytes = arrow_file::max_waiting, .max_delay = never});
  const std::size_t all = arrow_file::max_waiting / large.bytes() + 3;
  for (std::size_t i = 0; i < all; ++i) file->add(large);
  const std::uint64_t lost = file->lost();
  CHECK(lost >= 2);
  file->reopen();
  CHECK(eventually([&] { return file->written() == all - lost; }));
}
