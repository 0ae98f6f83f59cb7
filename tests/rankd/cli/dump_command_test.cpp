// tests/rankd/cli/dump_command_test.cpp: rankd dump as a person runs it.
#include <rankd/cli/commands/commands.hpp>

#include <rankd/store/folder.hpp>
#include <tests/rankd/cli/project_copy.hpp>
#include <tests/rankd/cli/run_rankd.hpp>

#include <algorithm>
#include <string>

#include <doctest/doctest.h>

using namespace rankd;
using braid::testing::process_end;
using rankd::testing::has;
using rankd::testing::project_copy;
using rankd::testing::rankd_in;

namespace fs = std::filesystem;

TEST_CASE("the project's store is dumped, loaded elsewhere, and dumped again as the same bytes") {
  const project_copy project;
  REQUIRE(rankd_in(project.path(), {"load"}).status == 0);
  const process_end first = rankd_in(project.path(), {"dump"});
  CHECK(first.status == 0);
  CHECK(first.err.empty());
  CHECK(first.out.starts_with(R"({"list":"follow:1","values":[)"));

  const process_end to_file = rankd_in(project.path(), {"dump", "--out", "all.ndjson"});
  CHECK(to_file.status == 0);
  const auto count = std::count(first.out.begin(), first.out.end(), '\n');
  CHECK(to_file.out == "dumped " + std::to_string(count) + " records into all.ndjson\n");
  REQUIRE(rankd_in(project.path(), {"load", "all.ndjson", "--store", "again"}).status == 0);
  CHECK(rankd_in(project.path(), {"dump", "--store", "lmdb:again"}).out == first.out);

  const process_end one = rankd_in(project.path(), {"dump", "--prefix", "user:1", "--out", "one.ndjson"});
  CHECK(has(one.out, "dumped "));
  CHECK(has(rankd_in(project.path(), {"load", "one.ndjson", "--store", "some"}).out, "into some"));
}

TEST_CASE("one record is counted in the singular") {
  const project_copy project;
  const fs::path data = project.write("one.ndjson", "{\"list\":\"a\",\"values\":[1]}\n");
  CHECK(rankd_in(project.path(), {"load", data, "--store", "db"}).out == "loaded 1 record into db\n");
  CHECK(rankd_in(project.path(), {"dump", "--store", "db", "--out", "x"}).out == "dumped 1 record into x\n");
}

TEST_CASE("output that cannot be written fails with a code, and leaves no file") {
  const project_copy project;
  REQUIRE(rankd_in(project.path(), {"load", "--store", "db"}).status == 0);
  const process_end file = rankd_in(project.path(), {"dump", "--store", "db", "--out", "/dev/full"});
  CHECK(file.status == 1);
  CHECK(file.out.empty());
  CHECK(has(file.err, "[output_unwritable]"));
  CHECK(has(file.err, "/dev/full"));
  CHECK(has(file.err, "No space left on device"));
  const std::string line = std::string(RANKD_BINARY) + " dump --store db >/dev/full";
  const process_end stream = braid::testing::run_process({"/bin/sh", "-c", line}, {.folder = project.path()});
  CHECK(stream.status == 1);
  CHECK(has(stream.err, "[output_unwritable]"));
  CHECK(has(rankd_in(project.path(), {"dump", "--store", "db", "--out", "no/where"}).err, "[output_unwritable]"));

  const process_end missing = rankd_in(project.path(), {"dump", "--store", "none", "--out", "none.ndjson"});
  CHECK(missing.status == 1);
  CHECK(has(missing.err, "[store_missing]"));
  CHECK_FALSE(fs::exists(project.path() / "none.ndjson"));
  CHECK(rankd_in(project.path(), {"dump", "--store", "redis://h"}).status == 2);
}
