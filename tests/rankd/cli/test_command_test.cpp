// tests/rankd/cli/test_command_test.cpp: rankd test, for people and for programs, and what it cannot test.
#include <rankd/cli/commands/test_command.hpp>
#include <rankd/registry/file.hpp>

#include <tests/rankd/cli/feed_tests.hpp>
#include <tests/rankd/cli/project_copy.hpp>
#include <tests/rankd/cli/run_rankd.hpp>
#include <tests/support/scratch_folder.hpp>

#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using braid::testing::process_end;
using nlohmann::json;
using namespace rankd::testing;

namespace fs = std::filesystem;

namespace {

/// A project with the plan home_feed and two tests of it, of which the second fails.
class tested_project : public project_copy {
 public:
  tested_project() {
    std::filesystem::remove(path() / "plans/compiled/index.json");
    std::filesystem::copy("rankd/cli/demo/plans/home_feed.json", path() / "plans/compiled/home_feed.json");
    json tests = json::parse(feed_tests_text(R"([{"kind":"ids","ids":[2,4,5,8,9]}])"));
    json second = tests["tests"][0];
    second["name"] = "accounts from elsewhere";
    second["expect"] = json::parse(
        R"([{"kind":"contains","ids":[3],"source_span":{"file":0,"line":9,"column":12}},{"kind":"count","min":6}])");
    tests["tests"].push_back(second);
    write("plans/compiled/home_feed.tests.json", tests.dump());
  }
};

}  // namespace

TEST_CASE("test shows what passed, and how the rest differs") {
  const tested_project project;
  const process_end run = rankd_in(project.path(), {"test"});
  CHECK(run.status == 1);
  CHECK(run.err.empty());
  const std::string start = R"(ok    home_feed: one
WRONG home_feed: accounts from elsewhere
  plans/home_feed.test.ts:9:12: contains: expected, but missing: 3
    expected: 3
    got:      2, 4, 5, 8, 9
    id 3 ends at `nearby` (core::filter): the predicate is false)";
  CHECK(run.out.substr(0, start.size()) == start);
  CHECK(run.out.ends_with(R"(  plans/home_feed.test.ts:4:3: count: the answer has 5 rows, but at least 6 are expected
    got:      2, 4, 5, 8, 9
2 tests: 1 passed, 1 failed
)"));
  const process_end one = rankd_in(project.path(), {"test", "home_feed", "--only", "on"});
  CHECK(one.out == "ok    home_feed: one\n1 test: 1 passed, 0 failed\n");
  CHECK(one.status == 0);
}

TEST_CASE("test prints the same for programs") {
  const tested_project project;
  const process_end run = rankd_in(project.path(), {"test", "plans/compiled/home_feed.tests.json", "--json"});
  CHECK(run.status == 1);
  const json found = json::parse(run.out);
  CHECK(found.at("passed") == 1);
  CHECK(found.at("failed") == 1);
  CHECK_FALSE(found.contains("diagnostics"));
  CHECK(found.at("tests").at(0) ==
        json{{"plan", "home_feed"}, {"test", "one"}, {"source", "plans/home_feed.test.ts:4:3"}, {"passed", true}});
  const json failure = found.at("tests").at(1).at("failures").at(0);
  CHECK(failure.at("kind") == "contains");
  CHECK(failure.at("source") == "plans/home_feed.test.ts:9:12");
  CHECK(failure.at("expected") == json{3});
  CHECK(failure.at("got") == json{2, 4, 5, 8, 9});
  CHECK(failure.at("fates").size() == 1);
}

TEST_CASE("tests of a plan that is gone are named by their file") {
  const tested_project project;
  fs::remove(project.path() / "plans/compiled/home_feed.json");
  const process_end run = rankd_in(project.path(), {"test"});
  CHECK(run.status == 1);
  CHECK(has(run.err, "plans/compiled/home_feed.tests.json#: no plan is called `home_feed` [unknown_plan]"));
}

TEST_CASE("test says what it cannot test") {
  const project_copy none;
  const auto said = [](const std::filesystem::path& folder, words arguments) {
    arguments.insert(arguments.begin(), "test");
    const process_end run = rankd_in(folder, std::move(arguments));
    CHECK(run.status == 1);
    return run.err;
  };
  CHECK(has(said(none.path(), {}), "no plan of the project has tests [no_tests]; write NAME.test.ts"));
  const tested_project project;
  CHECK(has(said(project.path(), {"home_fed"}), "did you mean `home_feed`?"));
  CHECK(has(said(project.path(), {"--only", "zzz"}), "no test has `zzz` in its name [no_tests]"));
  project.write(
      "plans/compiled/gone.tests.json",
      R"({"schema_version":1,"tests_of":"gone","tests":[{"name":"a","request":{},"expect":[{"kind":"count"}]}]})");
  CHECK(has(said(project.path(), {"gone"}), "[unknown_plan]"));
  project.write("plans/compiled/gone.tests.json", "{}");
  const process_end both = rankd_in(project.path(), {"test", "--only", "one"});
  CHECK(both.status == 1);
  CHECK(has(both.err, "[missing_field]"));
  CHECK(has(both.out, "1 test: 1 passed, 0 failed\n"));
  CHECK(json::parse(rankd_in(project.path(), {"test", "--json"}).out).at("diagnostics").size() > 0);
  CHECK(rankd_in(project.path(), {"test", "--only"}).status == 2);
}

TEST_CASE("files of tests are no plans") {
  const tested_project project;
  const process_end run = rankd_in(project.path(), {"validate"});
  CHECK(run.status == 0);
  CHECK_FALSE(has(run.out, "tests"));
}

TEST_CASE("new projects have tests, which pass") {
  const braid::testing::scratch_folder folder;
  REQUIRE(rankd_in(folder.path(), {"init", "demo", "demo", "--users", "3", "--media", "0"}).status == 0);
  const process_end demo = rankd_in(folder.path() / "demo", {"test"});
  CHECK(demo.status == 0);
  CHECK(demo.out.ends_with("5 tests: 5 passed, 0 failed\n"));
  CHECK_FALSE(std::filesystem::exists(folder.path() / "demo/build"));  // the project's own store is not asked
  REQUIRE(rankd_in(folder.path(), {"init", "empty", "empty"}).status == 0);
  const fs::path all_capabilities = "registry/capabilities.toml";
  CHECK(rankd::read_text_file(folder.path() / "empty" / all_capabilities).value() ==
        rankd::read_text_file(all_capabilities).value());
  CHECK(rankd_in(folder.path() / "empty", {"test"}).out.ends_with("3 tests: 3 passed, 0 failed\n"));
}

TEST_CASE("tests may replace a model, so that they need no model of the project") {
  const braid::testing::scratch_folder folder;
  REQUIRE(rankd_in(folder.path(), {"init", "shop", "shop"}).status == 0);
  const fs::path shop = folder.path() / "shop";
  fs::remove(shop / "models/buys.json");
  const fs::path file = shop / "plans/for_you.tests.json";
  json tests = json::parse(rankd::read_text_file(file).value());
  tests["tests"] = json::array({tests["tests"][0]});
  const auto run = [&] {
    folder.write("shop/plans/for_you.tests.json", tests.dump());
    return rankd_in(shop, {"test", "for_you"});
  };
  CHECK(has(run().err, "unknown_model"));
  // The most expensive product comes first, and of two with one price the one that does not suit the taste.
  tests["models"] = json::parse(R"([{"name": "buys", "intercept": 0, "weights": [
      {"key": "price", "weight": 1, "when_null": 0}, {"key": "likes", "weight": -1, "when_null": 0}]}])");
  tests["tests"][0]["expect"][0]["ids"] = {"tent", "boots", "socks"};
  const process_end done = run();
  CHECK(done.err.empty());
  CHECK(done.out == "ok    for_you: what fits taste and budget comes first\n1 test: 1 passed, 0 failed\n");
  tests["models"][0]["name"] = "buyz";
  const process_end misspelt = run();
  CHECK(misspelt.status == 1);
  CHECK(has(misspelt.err, "unknown_model"));
  tests["models"].push_back(tests["models"][0]);
  tests["models"][0]["name"] = "buys";
  folder.write("shop/models/buyz.json", "{}");  // a model of the project that the plan does not call
  CHECK(has(run().err, "the tests replace the model `buyz`, which the plan does not call"));
  tests["models"][1]["name"] = "../buys";
  CHECK(has(run().err, "bad_name"));
  tests["models"].erase(1);
  tests["models"][0]["weights"][0]["key"] = "prize";
  CHECK(has(run().err, "unknown_key"));
}

TEST_CASE("tests may have a few vectors, so that they need no file of vectors") {
  const braid::testing::scratch_folder folder;
  fs::copy("examples/similar", folder.path() / "similar", fs::copy_options::recursive);
  json tests = json::parse(R"({"schema_version": 1, "tests_of": "similar",
      "vectors": [{"endpoint": "ep_0002", "items": [{"id": 1, "vector": [1, 0, 0, 0]},
          {"id": 2, "vector": [0.9, 0.1, 0, 0]}, {"id": 3, "vector": [0, 0, 1, 0]}]}],
      "tests": [{"name": "near products", "request": {"candidates": {"id": [1]}},
                 "expect": [{"kind": "same_ids", "ids": [2, 3]}]}]})");
  for (const char* id : {"1", "2", "3"}) {
    const json fields{{"title", id}, {"embedding", {1, 0, 0, 0}}};
    tests["records"].push_back({{"record", {{"hash", std::string("product:") + id}, {"fields", fields}}}});
  }
  const auto run = [&] {
    folder.write("similar/plans/similar.tests.json", tests.dump());
    return rankd_in(folder.path() / "similar", {"test"});
  };
  const process_end done = run();
  CHECK(done.err.empty());
  CHECK(done.out == "ok    similar: near products\n1 test: 1 passed, 0 failed\n");
  tests["vectors"][0]["items"][1]["vector"].push_back(1);
  CHECK(has(run().err, "wrong_length"));
  tests["vectors"][0]["endpoint"] = "ep_0001";
  CHECK(has(run().err, "wrong_endpoint_kind"));
  tests["vectors"][0]["endpoint"] = "ep_0009";
  CHECK(has(run().err, "unknown_endpoint"));
  tests.erase("vectors");
  CHECK(has(run().err, "vectors_missing"));
}
