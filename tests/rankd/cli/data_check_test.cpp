// tests/rankd/cli/data_check_test.cpp: what load and doctor say of data that plans read in vain.
#include <rankd/cli/checks/data_check.hpp>

#include <tests/rankd/cli/run_rankd.hpp>
#include <tests/support/scratch_folder.hpp>

#include <fstream>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

using braid::testing::process_end;
using braid::testing::scratch_folder;
using rankd::testing::has;
using rankd::testing::rankd_in;

namespace {

/// A copy of the tutorial's project, some of whose data is changed.
struct books : scratch_folder {
  books() { std::filesystem::copy("examples/books", path(), std::filesystem::copy_options::recursive); }

  void change(const std::string& file, const std::string& from, const std::string& to) const {
    std::stringstream all;
    all << std::ifstream(path() / file).rdbuf();
    std::string text = all.str();
    std::size_t count = 0;
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()), ++count)
      text.replace(at, from.size(), to);
    REQUIRE(count != 0);
    write(file, text);
  }
};

}  // namespace

TEST_CASE("data that has what plans read is loaded without a word, and the doctor agrees") {
  const books project;
  CHECK(rankd_in(project.path(), {"load"}).err.empty());
  CHECK_FALSE(has(rankd_in(project.path(), {"doctor"}).out, "warn  store"));
}

TEST_CASE("a column that is misspelled in the data is told by load and by doctor") {
  const books project;
  project.change("data/books.ndjson", "\"price\"", "\"pric\"");
  const process_end loaded = rankd_in(project.path(), {"load"});
  CHECK(loaded.status == 0);
  CHECK(has(loaded.err,
            "warning: no record of `features:*` has `price`, which plans first, scored read; these records have the "
            "columns pric, rating, sales [missing_column]; did you mean `pric`?\n"));
  const process_end doctor = rankd_in(project.path(), {"doctor"});
  CHECK(doctor.status == 0);
  CHECK(has(doctor.out, "warn  store ep_0001  no record of `features:*` has `price`"));
  CHECK(has(doctor.out, "-> did you mean `pric`?"));
}

TEST_CASE("a form of keys that is misspelled in the data is told by the doctor") {
  const books project;
  project.change("data/books.ndjson", "features:", "feature:");
  REQUIRE(rankd_in(project.path(), {"load"}).status == 0);
  CHECK(has(rankd_in(project.path(), {"doctor"}).out,
            "warn  store ep_0001  there is no hash `features:*`, which plans first, scored read"));
}

TEST_CASE("a value that is none of its type is told with file, line and record") {
  const books project;
  project.change("data/books.ndjson", "\"price\":\"30\"", "\"price\":\"30 EUR\"");
  const process_end loaded = rankd_in(project.path(), {"load"});
  CHECK(loaded.status == 0);
  CHECK(has(loaded.err, "data/books.ndjson#: line 2: `features:12`: `price` is `30 EUR`, no float, so rows have "));
  CHECK(has(rankd_in(project.path(), {"doctor"}).out,
            "warn  store ep_0001  `features:12`: `price` is `30 EUR`, no float, so rows have null there; it was "
            "loaded from line 2 of its file"));
}

TEST_CASE("warnings are counted, and with --strict they leave the store as it was") {
  const books project;
  REQUIRE(rankd_in(project.path(), {"load"}).status == 0);
  const std::string before = rankd_in(project.path(), {"dump"}).out;
  project.change("data/books.ndjson", "\"price\":\"30\"", "\"price\":\"30 EUR\"");
  project.write("data/more.ndjson",
                "{\"hash\":\"feature:1\",\"fields\":{\"price\":\"1\"}}\n"
                "{\"hash\":\"feature:2\",\"fields\":{\"price\":\"1\"}}\n");
  const process_end strict = rankd_in(project.path(), {"load", "--strict"});
  CHECK(strict.status == 1);
  CHECK(strict.out.empty());
  CHECK(has(strict.err, "`price` is `30 EUR`"));
  CHECK(has(strict.err, "2 records of `feature:*`, such as `feature:1`, are read by no plan"));
  CHECK(rankd_in(project.path(), {"dump"}).out == before);
  const process_end lax = rankd_in(project.path(), {"load"});
  CHECK(lax.status == 0);
  CHECK(has(lax.out, "loaded "));
  CHECK(lax.err.ends_with("warnings: 1 malformed value, 2 unread records\n"));
  project.change("data/books.ndjson", "30 EUR", "30");
  std::filesystem::remove(project.path() / "data/more.ndjson");
  CHECK(rankd_in(project.path(), {"load", "--strict"}).status == 0);
}

TEST_CASE("outside of a project a load says nothing of columns") {
  const scratch_folder nowhere;
  nowhere.write("a.ndjson", "{\"hash\":\"features:1\",\"fields\":{\"pric\":\"x\"}}\n");
  const process_end loaded = rankd_in(nowhere.path(), {"load", "a.ndjson", "--store", "db"});
  CHECK(loaded.status == 0);
  CHECK(loaded.err.empty());
}

TEST_CASE("fields that events fill need not be in the data") {
  const books project;
  project.change("data/books.ndjson", "\"sales\"", "\"sold\"");
  REQUIRE(rankd_in(project.path(), {"load"}).status == 0);
  CHECK(has(rankd_in(project.path(), {"doctor"}).out, "has `sales`, which plan scored reads"));
  project.write("registry/events.toml",
                "[[counter]]\nname = \"sales\"\nevent = \"purchase\"\nendpoint = \"ep_0001\"\n"
                "key = \"features:{item_id}\"\n");
  CHECK_FALSE(has(rankd_in(project.path(), {"doctor"}).out, "has `sales`"));
  const std::string other = "event = \"purchase\"\nendpoint = \"ep_0001\"\nkey = \"k\"\nvalue = \"item_id\"\n";
  project.write("registry/events.toml", "[[list]]\nmax_items = 5\n" + other);
  CHECK(has(rankd_in(project.path(), {"doctor"}).out, "has `sales`, which plan scored reads"));
  project.write("registry/events.toml", "[[field]]\nname = \"sales\"\n" + other);
  CHECK_FALSE(has(rankd_in(project.path(), {"doctor"}).out, "has `sales`"));
}
