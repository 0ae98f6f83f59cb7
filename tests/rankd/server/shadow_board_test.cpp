// tests/rankd/server/shadow_board_test.cpp: candidates that run beside plans, and that no client notices.
#include <rankd/server/shadow/shadow_board.hpp>

#include <tests/rankd/server/metrics.hpp>
#include <tests/rankd/server/serve_world.hpp>
#include <tests/support/eventually.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::eventually;
using nlohmann::json;

namespace {

/// A server on which `candidate` runs beside `plan` for every request.
class shadowed_world : public serve_world {
 public:
  shadowed_world(const std::string& plan, const std::string& candidate, std::size_t in_flight = 4,
                 serve_options options = {})
      : serve_world(std::move(options), nullptr, {}, reference_project::get().stores, nullptr, {}, nullptr, nullptr,
                    {{.plan = plan, .candidate = candidate, .share = 1, .in_flight = in_flight}}) {}

  auto seen(const std::string& plan) -> json { return json::parse(ask("GET", "/v1/shadow/" + plan).body); }
  auto count(const std::string& plan, const std::string& verdict) -> std::size_t {
    return seen(plan).at("counts").at(verdict).get<std::size_t>();
  }
};

auto asked(int user, const std::string& plan) -> std::string {
  return R"({"user_id":)" + std::to_string(user) + R"(,"request_id":"r","plan":")" + plan + "\"}";
}

auto run_with(double rbo, const std::string& id) -> shadow_run {
  shadow_run out;
  out.request_id = id;
  out.code = out.other_code = "ok";
  out.verdict = {.change = rbo == 1 ? answer_change::equal : answer_change::candidates, .overlap = rbo, .rbo = rbo};
  return out;
}

}  // namespace

TEST_CASE("answers are those of the plan that is asked, and what the candidate gave is told apart from them") {
  serve_world alone;
  shadowed_world world("reels_plan_a", "concat_plan");
  for (int user = 1; user < 5; ++user)
    CHECK(world.rank(asked(user, "reels_plan_a")).body == alone.rank(asked(user, "reels_plan_a")).body);
  static_cast<void>(world.rank(asked(1, "concat_plan")));  // beside which nothing runs
  REQUIRE(eventually([&] { return world.seen("reels_plan_a").at("runs") == 4; }));
  const json all = world.seen("reels_plan_a");
  CHECK(all.at("candidate") == "concat_plan");
  CHECK(all.at("counts").at("candidates") == 4);
  CHECK(all.at("worst").size() == 4);
  CHECK(all.at("worst").at(0).at("request_id") == "r");
  CHECK(all.at("worst").at(0).at("served").at("code") == "ok");
  CHECK(all.at("worst").at(0).at("moves").size() <= shadow_board::max_moves);
  CHECK(all.at("rbo").get<double>() < 1);
  const auto samples = metric_reader().read(world.ask("GET", "/metrics").body);
  CHECK(samples.at(R"(rankd_shadow_total{plan="reels_plan_a",candidate="concat_plan",verdict="candidates"})") == 4);
  CHECK(samples.at(R"(rankd_shadow_overlap_count{plan="reels_plan_a",candidate="concat_plan"})") == 4);
  CHECK(samples.at(R"(rankd_requests_total{plan="concat_plan",code="ok"})") == 1);  // shadows are no requests
  CHECK(world.ask("GET", "/v1/shadow/concat_plan").status == 404);
  CHECK(world.ask("POST", "/v1/shadow/reels_plan_a").status == 405);
  CHECK(alone.ask("GET", "/v1/shadow/reels_plan_a").status == 404);
}

TEST_CASE(
    "a candidate beside itself would be equal, one that fails is an error, one that cannot be run is unavailable") {
  shadowed_world fails("ten", "fails");
  CHECK(fails.rank(R"({"plan":"ten"})").status == 200);
  CHECK(eventually([&] { return fails.count("ten", "error") == 1; }));
  CHECK(fails.seen("ten").at("worst").at(0).at("shadow").at("code") != "ok");
  shadowed_world broken("ten", "broken");
  CHECK(broken.rank(R"({"plan":"ten"})").status == 200);
  CHECK(eventually([&] { return broken.count("ten", "unavailable") == 1; }));
  shadowed_world unfit("ten", "reels_plan_a");  // which wants a user
  CHECK(unfit.rank(R"({"plan":"ten"})").status == 200);
  CHECK(eventually([&] { return unfit.count("ten", "unavailable") == 1; }));
}

TEST_CASE("what a request wants captured is for the plan that is served, not for its candidate") {
  shadowed_world world("reels_plan_a", "concat_plan");  // which has no node `cutoff`
  const auto answer = world.rank(R"({"user_id":1,"request_id":"r","plan":"reels_plan_a","capture":["cutoff"]})");
  CHECK(json::parse(answer.body).contains("captured"));
  REQUIRE(eventually([&] { return world.seen("reels_plan_a").at("runs") == 1; }));
  CHECK(world.count("reels_plan_a", "candidates") == 1);
  CHECK(world.count("reels_plan_a", "unavailable") == 0);
  shadowed_world same("reels_plan_a", "reels_plan_a");
  CHECK(same.rank(R"({"user_id":1,"plan":"reels_plan_a","capture":["cutoff"]})").status == 200);
  REQUIRE(eventually([&] { return same.seen("reels_plan_a").at("runs") == 1; }));
  CHECK(same.count("reels_plan_a", "equal") == 1);
}

TEST_CASE("no more candidates run at a time than may, and a server ends while some do") {
  shadowed_world world("ten", "slow", 2);
  for (int i = 0; i < 5; ++i) CHECK(world.rank(R"({"plan":"ten"})").status == 200);
  CHECK(world.count("ten", "busy") == 3);
  CHECK(world.seen("ten").at("runs") == 0);
  world.end();
}

TEST_CASE("the requests of a batch have candidates, too, and later pages have none") {
  shadowed_world world("reels_plan_a", "concat_plan");
  const auto answer = world.ask("POST", "/v1/rank/batch",
                                R"({"requests":[)" + asked(1, "reels_plan_a") + "," + asked(2, "reels_plan_a") + "]}");
  CHECK(answer.status == 200);
  CHECK(eventually([&] { return world.seen("reels_plan_a").at("runs") == 2; }));
}

TEST_CASE("no candidate runs while requests wait to be admitted") {
  serve_options options;
  options.max_in_flight = 1;
  shadowed_world world("ten", "concat_plan", 4, std::move(options));
  const std::string one = R"({"plan":"ten","user_id":1})";
  CHECK(world.ask("POST", "/v1/rank/batch", R"({"requests":[)" + one + "," + one + "," + one + "]}").status == 200);
  CHECK(world.count("ten", "skipped") == 2);
  CHECK(eventually([&] { return world.seen("ten").at("runs") == 1; }));
}

TEST_CASE("where there are tokens, only those with the right see what came of candidates") {
  serve_options options;
  options.tokens = value_of(token_list::parse("a 0123456789abcdef\nb [force, shadow] fedcba9876543210\n", "tokens"));
  shadowed_world world("ten", "fails", 4, std::move(options));
  CHECK(world.ask("GET", "/v1/shadow/ten").status == 401);
  const auto refused = world.ask("GET", "/v1/shadow/ten", {}, "Authorization: Bearer 0123456789abcdef\r\n");
  CHECK(refused.status == 403);
  CHECK(refused.body.find("shadow_forbidden") != std::string::npos);
  CHECK(world.ask("GET", "/v1/shadow/ten", {}, "Authorization: Bearer fedcba9876543210\r\n").status == 200);
}

TEST_CASE("a share of the ids is run, always the same ones") {
  const shadow_board some({.plan = "a", .candidate = "b", .share = 0.05});
  std::size_t chosen = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string id = "request " + std::to_string(i);
    CHECK(some.wants(id) == some.wants(id));
    if (some.wants(id)) ++chosen;
  }
  CHECK(chosen > 900);  // of 1000 that are expected, with a deviation of 31
  CHECK(chosen < 1100);
  CHECK(shadow_board({.plan = "a", .candidate = "b", .share = 1}).wants(""));
}

TEST_CASE("errors and runs without time are counted apart from answers that have nothing in common") {
  shadow_board board({.plan = "a", .candidate = "b"});
  const auto ended = [](const std::string& code, const std::string& other) {
    shadow_run out;
    out.request_id = other;
    const bool is_same = code == other;
    out.verdict = {.change = is_same ? answer_change::equal : answer_change::error,
                   .overlap = is_same ? 1.0 : 0.0,
                   .rbo = is_same ? 1.0 : 0.0};
    out.code = code;
    out.other_code = other;
    return out;
  };
  json all = json::parse(board.to_json());
  CHECK(all.at("overlap").is_null());
  for (const char* const code : {"deadline_exceeded", "time_budget_exceeded", "node_timeout"})
    board.add(ended("ok", code), "1", "2");
  board.add(ended("ok", "store_timeout"), "1", "2");           // an error of the plan
  board.add(ended("null_value", "ok"), "1", "2");              // of the one that is served
  board.add(ended("null_value", "null_value"), "1", "2");      // equal, and no answers
  board.add(ended("node_timeout", "node_timeout"), "1", "2");  // the same: it is no matter of this thread
  all = json::parse(board.to_json());
  CHECK(all.at("counts").at("starved") == 3);
  CHECK(all.at("counts").at("error") == 2);
  CHECK(all.at("counts").at("equal") == 2);
  CHECK(all.at("runs") == 7);
  CHECK(all.at("compared") == 0);
  CHECK(all.at("overlap").is_null());
  CHECK(all.at("rbo").is_null());
  CHECK(all.at("worst").size() == 2);
  board.add(run_with(0, "other"), "1", "2");
  board.add(run_with(1, "same"), "1", "2");
  all = json::parse(board.to_json());
  CHECK(all.at("compared") == 2);
  CHECK(all.at("overlap") == 0.5);
  CHECK(all.at("rbo") == 0.5);
}

TEST_CASE("the worst runs are kept, of the versions that ran last") {
  shadow_board board({.plan = "a", .candidate = "b"});
  for (int i = 0; i < 50; ++i) {
    const double rbo = ((i * 37) % 50) / 50.0;
    if (board.is_among_worst(run_with(rbo, "").verdict, "1", "2"))
      board.add(run_with(rbo, std::to_string(i)), "1", "2");
  }
  board.add(run_with(1, "same"), "1", "2");
  json all = json::parse(board.to_json());
  REQUIRE(all.at("worst").size() == shadow_board::max_worst);
  for (std::size_t at = 0; at < shadow_board::max_worst; ++at)
    CHECK(all.at("worst").at(at).at("rbo").get<double>() == doctest::Approx(static_cast<double>(at) / 50));
  CHECK_FALSE(board.is_among_worst(run_with(0.9, "").verdict, "1", "2"));
  CHECK(board.is_among_worst(run_with(0.9, "").verdict, "1", "3"));  // of another version there are none yet
  CHECK(board.is_among_worst(run_with(0.9, "").verdict, "0", "2"));
  CHECK_FALSE(board.is_among_worst(run_with(1, "").verdict, "1", "3"));
  board.add(run_with(0.5, "new"), "1", "3");
  all = json::parse(board.to_json());
  CHECK(all.at("worst").size() == 1);
  CHECK(all.at("runs") == 1);
  CHECK(all.at("counts").at("equal") == 1);
}
