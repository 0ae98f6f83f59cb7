// tests/rankd/cli/test_run_test.cpp: a test runs on its own records; what is missing is followed through the plan.
#include <rankd/cli/plan_tests/test_run.hpp>

#include <tests/rankd/cli/feed_tests.hpp>
#include <tests/support/scratch_folder.hpp>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd::testing;

TEST_CASE("a record of a test stands in place of the shared one") {
  const std::string more = R"("records":[{"record":{"list":"follow:1","values":[4]}}],)";
  CHECK(feed_outcome(R"([{"kind":"ids","ids":[4,8,9]}])", more).failures.empty());
  CHECK(feed_outcome(R"([{"kind":"ids","ids":[2,4,5,8,9]}])").failures.empty());
}

TEST_CASE("a sentence for each missing id says where it was lost") {
  const auto outcome = feed_outcome(R"([{"kind":"ids","ids":[2,3,77]},{"kind":"contains","ids":[3]}])");
  CHECK(outcome.plan == "home_feed");
  CHECK(outcome.test == "one");
  CHECK(outcome.place == "plans/home_feed.test.ts:4:3");
  REQUIRE(outcome.failures.size() == 2);
  const std::string third = "id 3 ends at `nearby` (core::filter): the predicate is false";
  REQUIRE(outcome.failures[0].fates.size() == 2);
  CHECK(outcome.failures[0].fates[0].starts_with(third));
  CHECK(outcome.failures[0].fates[0].find("country BR") != std::string::npos);
  CHECK(outcome.failures[0].fates[1] == "id 77: no node gave it");
  REQUIRE(outcome.failures[1].fates.size() == 1);
  CHECK(outcome.failures[1].fates[0].starts_with(third));
}

TEST_CASE("keys that a request does not want shown can be expected all the same") {
  std::string text = feed_tests_text(R"([{"kind":"none","pred":{"op":"is_null","x":{"op":"key_ref","key_id":2001}}}])");
  text.replace(text.find(R"({"user_id":1})"), 13, R"({"user_id":1,"output_keys":["country"]})");
  auto runner = braid::or_throw(rankd::test_runner::create(feed_registries()));
  const auto tests = braid::or_throw(rankd::parse_plan_tests(text, "t", feed_registries()));
  CHECK(braid::or_throw(runner.run(feed_plan(), tests.tests.at(0))).failures.empty());
}

TEST_CASE("a request that does not suit the plan fails as it would in a server") {
  std::string text = feed_tests_text(R"([{"kind":"error","code":"missing_field"}])");
  text.replace(text.find(R"({"user_id":1})"), 13, "{}");
  auto runner = braid::or_throw(rankd::test_runner::create(feed_registries()));
  const auto tests = braid::or_throw(rankd::parse_plan_tests(text, "t", feed_registries()));
  CHECK(braid::or_throw(runner.run(feed_plan(), tests.tests.at(0))).failures.empty());
}

TEST_CASE("a runner leaves nothing behind in the folder for temporary files") {
  const auto folders = [] {
    std::size_t count = 0;
    for (const auto& each : std::filesystem::directory_iterator(std::filesystem::temp_directory_path()))
      if (each.path().filename().string().starts_with("rankd-test-")) ++count;
    return count;
  };
  const braid::testing::scratch_folder place;
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", place.path().c_str(), 1);
  {
    auto runner = braid::or_throw(rankd::test_runner::create(feed_registries()));
    CHECK(braid::or_throw(runner.run(feed_plan(), feed_tests(R"([{"kind":"count","min":5}])").tests.at(0)))
              .failures.empty());
    CHECK(folders() == 1);
  }
  CHECK(folders() == 0);
  ::setenv("TMPDIR", "/nowhere", 1);
  const auto refused = rankd::test_runner::create(feed_registries());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().front().code == "store_write_failed");
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
}
