// tests/rankd/registry/project_test.cpp: finding and reading rankd.toml.
#include <rankd/registry/project.hpp>
#include <rankd/registry/registries.hpp>
#include <tests/support/scratch_folder.hpp>

#include <vector>

#include <doctest/doctest.h>

using rankd::project;

namespace {

constexpr std::string_view good =
    "name = \"demo\"\nenvironment = \"dev\"\nregistry = \"registry\"\nplans = \"plans/compiled\"\n";

auto diagnostics(std::string_view text) -> std::vector<std::string> {
  const braid::testing::scratch_folder folder;
  const auto refused = project::load(folder.write("rankd.toml", text));
  std::vector<std::string> out;
  if (refused) return out;
  for (const auto& item : refused.error()) out.push_back(item.code + " " + item.pointer);
  return out;
}

}  // namespace

TEST_CASE("a project is found from any folder below its root") {
  const braid::testing::scratch_folder folder;
  folder.write("rankd.toml", good);
  folder.write("a/b/x", "");
  CHECK(project::find(folder.path() / "a" / "b") == folder.path());
  CHECK(project::find(folder.path()) == folder.path());
  CHECK(project::find(folder.path() / "not" / "there") == folder.path());
}

TEST_CASE("no project is found where there is none") {
  const braid::testing::scratch_folder folder;
  std::filesystem::create_directories(folder.path() / "rankd.toml");  // a folder is no project file
  CHECK_FALSE(project::find(folder.path()));
}

TEST_CASE("the folder of models is the one that the file names, or none") {
  const braid::testing::scratch_folder folder;
  CHECK(project::load(folder.write("rankd.toml", good))->models.empty());
  CHECK(project::load(folder.write("rankd.toml", std::string(good) + "models = \"models\"\n"))->models ==
        folder.path() / "models");
  CHECK((diagnostics(std::string(good) + "models = \"\"\n") == std::vector<std::string>{"bad_value /models"}));
}

TEST_CASE("a server keeps values of Redis only if the file says so, and for as long as it says") {
  const braid::testing::scratch_folder folder;
  CHECK(project::load(folder.write("rankd.toml", good))->records.mib == 0);
  const auto told = project::load(folder.write(
      "rankd.toml", std::string(good) + "[record_cache]\nmib = 5\nentries = 7\nage_ms = 2\nabsent_age_ms = 3\n"
                                        "tracked_age_ms = 4\ntracking = false\n"));
  CHECK(told->records.mib == 5);
  CHECK(told->records.entries == 7);
  CHECK(told->records.age.count() == 2);
  CHECK(told->records.absent_age.count() == 3);
  CHECK(told->records.tracked_age.count() == 4);
  CHECK_FALSE(told->records.tracking);
  CHECK(
      (diagnostics(std::string(good) + "[record_cache]\nmib = -1\nentries = 0\nage_ms = 0\ntracked_age_ms = 86400001\n"
                                       "tracking = 1\nttl = 3\n") ==
       std::vector<std::string>{"out_of_range /record_cache/mib", "out_of_range /record_cache/entries",
                                "out_of_range /record_cache/age_ms", "out_of_range /record_cache/tracked_age_ms",
                                "wrong_type /record_cache/tracking", "unknown_field /record_cache/ttl"}));
}

TEST_CASE("a server keeps as many rows as the file says, or as most servers can afford") {
  const braid::testing::scratch_folder folder;
  CHECK(project::load(folder.write("rankd.toml", good))->cache.mib == 64);
  const auto told = project::load(folder.write("rankd.toml", std::string(good) + "[cache]\nmib = 0\nentries = 7\n"));
  CHECK(told->cache.mib == 0);
  CHECK(told->cache.entries == 7);
  CHECK(
      (diagnostics(std::string(good) + "[cache]\nmib = -1\nentries = 0\nttl = 3\n") ==
       std::vector<std::string>{"out_of_range /cache/mib", "out_of_range /cache/entries", "unknown_field /cache/ttl"}));
  CHECK((diagnostics("cache = 64\n" + std::string(good)) == std::vector<std::string>{"wrong_type /cache"}));
}

TEST_CASE("folders are resolved against the root, and the data folder may be absent") {
  const braid::testing::scratch_folder folder;
  const auto file = folder.write("rankd.toml", good);
  for (const auto& where : {file, folder.path()}) {
    const auto read = project::load(where);
    REQUIRE(read);
    CHECK(read->root == folder.path());
    CHECK(read->name == "demo");
    CHECK(read->environment == "dev");
    CHECK(read->registry == folder.path() / "registry");
    CHECK(read->plans == folder.path() / "plans" / "compiled");
    CHECK_FALSE(read->data);
  }
}

TEST_CASE("everything wrong with a project file is said at once") {
  CHECK(diagnostics("").size() == 4);
  CHECK(diagnostics("name = 1\nenvironment = \"tset\"\nregistry = \"\"\nplans = []\nplan = 1\n") ==
        std::vector<std::string>{"wrong_type /name", "bad_value /environment", "bad_value /registry",
                                 "wrong_type /plans", "unknown_field /plan"});
  CHECK(diagnostics("name = ") == std::vector<std::string>{"toml_syntax "});
}

TEST_CASE("a folder without a project file is unreadable") {
  const braid::testing::scratch_folder folder;
  const auto refused = project::load(folder.path());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().front().code == "unreadable_file");
}

TEST_CASE("the repository's own project loads with its registries") {
  const auto own = project::load("rankd.toml");
  REQUIRE(own);
  CHECK(own->environment == "test");
  CHECK(own->data == "data/reference");
  CHECK(rankd::registries::load(own->registry, own->environment).has_value());
}

TEST_CASE("names whose values an audit does not have are a list of strings") {
  const braid::testing::scratch_folder folder;
  CHECK(project::load(folder.write("rankd.toml", good))->redacted.empty());
  const auto read =
      project::load(folder.write("rankd.toml", std::string(good) + "[audit]\nredact = [\"user_id\", \"x\"]\n"));
  REQUIRE(read);
  CHECK((read->redacted == std::vector<std::string>{"user_id", "x"}));
  CHECK((diagnostics(std::string(good) + "[audit]\nredact = [\"a\", 1]\n") ==
         std::vector<std::string>{"wrong_type /audit/redact/1"}));
  CHECK((diagnostics(std::string(good) + "[audit]\nredacted = []\n") ==
         std::vector<std::string>{"missing_field /audit", "unknown_field /audit/redacted"}));
}
