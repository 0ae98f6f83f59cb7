// tests/rankd/cli/feed_tests.hpp: tests of the plan of the demo project, on a small store, for tests of what runs them.
#pragma once

#include <rankd/cli/plan_tests/plan_tests.hpp>
#include <rankd/cli/plan_tests/test_run.hpp>
#include <rankd/op/operator_list.hpp>
#include <rankd/plan/load_plan.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/registry/registries.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd::testing {

inline auto feed_registries() -> const registries& {
  static const registries loaded = braid::or_throw(registries::load("registry", "test"));
  return loaded;
}

inline auto feed_plan() -> const bound_plan& {
  static const bound_plan bound = [] {
    const std::string text = braid::or_throw(read_text_file("rankd/cli/demo/plans/home_feed.json"));
    auto loaded = braid::or_throw(parse_plan(text, "home_feed.json", {all_op_shapes(), feed_registries()}));
    return braid::or_throw(bind_plan(std::move(loaded), feed_registries()));
  }();
  return bound;
}

/// A file with one test: user 1 follows 2 (US), 3 (BR), 4 (CA) and 5 (MX), and is recommended 8 and 9. The answer has
/// the ids 2, 4, 5, 8, 9. `expect` is a JSON array, `more` further fields of the test.
inline auto feed_tests_text(const std::string& expect, const std::string& more = {}) -> std::string {
  const auto user = [](const std::string& id, const std::string& country) {
    return R"({"record":{"hash":"user:)" + id + R"(","fields":{"country":")" + country + R"("}}},)";
  };
  return R"({"schema_version":1,"tests_of":"home_feed","source_files":["plans/home_feed.test.ts#sha256=0"],"records":[)" +
         user("1", "US") + user("2", "US") + user("3", "BR") + user("4", "CA") + user("5", "MX") +
         R"({"record":{"list":"follow:1","values":[5,3,2,4]}},{"record":{"list":"recommendation:1","values":[9,8]}}],)" +
         R"("tests":[{"name":"one","source_span":{"file":0,"line":4,"column":3},"request":{"user_id":1},)" + more +
         R"("expect":)" + expect + "}]}";
}

inline auto feed_tests(const std::string& expect, const std::string& more = {}) -> plan_tests {
  return braid::or_throw(parse_plan_tests(feed_tests_text(expect, more), "home_feed.tests.json", feed_registries()));
}

/// How that test goes.
inline auto feed_outcome(const std::string& expect, const std::string& more = {}) -> test_outcome {
  static test_runner runner = braid::or_throw(test_runner::create(feed_registries()));
  return braid::or_throw(runner.run(feed_plan(), feed_tests(expect, more).tests.at(0)));
}

}  // namespace rankd::testing
