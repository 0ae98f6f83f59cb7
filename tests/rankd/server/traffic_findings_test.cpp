// tests/rankd/server/traffic_findings_test.cpp: two plans compared over HTTP: for a request, and on recorded traffic.
#include <rankd/server/traffic/traffic_findings.hpp>

#include <tests/rankd/server/studio_world.hpp>
#include <tests/support/eventually.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;
using nlohmann::json;

namespace {

constexpr std::string_view answers = "/v1/plans/reels_plan_a/diff/answers?with=stricter";
const std::string traffic = "/v1/plans/reels_plan_a/diff/traffic?with=stricter";
constexpr std::string_view visit = R"({"user_id":1,"request_id":"r"})";

auto code_of(const braid::testing::heard_answer& answer) -> std::string {
  return json::parse(answer.body).at("error").at("code");
}

/// As `rankd diff --traffic` does it, here.
auto findings() -> json {
  const auto stricter = bound_from(reels_artifact(1), "stricter");
  const auto before = bound_from(reels_artifact(0.6), "reels_plan_a");
  const auto found = value_of(compare_on_records(value_of(list_records({recorded_visits::get().folder()})),
                                                 {.declared = &reference_project::get().declared,
                                                  .before = before,
                                                  .after = stricter,
                                                  .recorded_plan = "reels_plan_a"},
                                                 [](auto, auto) { return true; }));
  json out = json::parse(to_json(found));
  for (json& each : out["records"]) each["file"] = "day.rec";
  return out;
}

}  // namespace

TEST_CASE("both answers are those of the plans, with what they have in common and why ids moved") {
  studio_world world;
  const json found = world.ask_json("POST", answers, visit);
  for (const auto& [side, plan] : {std::pair("before", "reels_plan_a"), std::pair("after", "stricter")}) {
    const json alone =
        world.ask_json("POST", "/v1/rank", R"({"user_id":1,"request_id":"r","plan":")" + std::string(plan) + "\"}");
    CHECK(found.at(side).at("plan") == plan);
    CHECK(found.at(side).at("code") == "ok");
    CHECK(found.at(side).at("answer").at("candidates") == alone.at("candidates"));
  }
  CHECK(found.at("change") == "candidates");
  CHECK(found.at("depth") == 10);
  CHECK(found.at("moved") == found.at("moves").size());
  REQUIRE(found.at("moves").size() == 4);
  CHECK(found.at("moves").at(0) ==
        json::parse(R"({"id":3,"was":1,"is":null,"node":"cutoff","why":"dropped at `cutoff`, final_score )"
                    R"(0.6000000000000001, `Key.final_score >= 1` was `Key.final_score >= 0.6`"})"));
}

TEST_CASE("both plans see the same data: the stores are asked by the first run alone") {
  studio_world world;
  const auto calls = [&] {
    const std::string text = world.ask("GET", "/metrics").body;
    double sum = 0;
    const std::string name = "\nrankd_endpoint_duration_seconds_count{";
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1))
      sum += std::stod(text.substr(text.find("} ", at) + 2));
    return sum;
  };
  world.ask("POST", "/v1/rank", R"({"user_id":1,"plan":"reels_plan_a"})");
  const double of_one = calls();
  CHECK(of_one > 0);
  CHECK(world.ask("POST", answers, visit).status == 200);
  CHECK(calls() == 2 * of_one);
}

TEST_CASE("a plan beside itself is equal, and one that fails has its error as the answer") {
  studio_world world;
  const json same = world.ask_json("POST", "/v1/plans/ten/diff/answers", "{}");
  CHECK(same.at("change") == "equal");
  CHECK(same.at("moves").empty());
  const json failed = world.ask_json("POST", "/v1/plans/ten/diff/answers?with=fails", "{}");
  CHECK(failed.at("change") == "error");
  CHECK(failed.at("after").at("code") == failed.at("after").at("answer").at("error").at("code"));
  CHECK(failed.at("moved") == 10);
  const json unfit = world.ask_json("POST", "/v1/plans/ten/diff/answers?with=reels_plan_a", "{}");
  CHECK(unfit.at("after").at("code") == "missing_field");  // the user
}

TEST_CASE("requests that are for another plan, or wrong, are refused") {
  studio_world world;
  CHECK(code_of(world.ask("POST", answers, R"({"user_id":1,"plan":"ten"})")) == "plan_mismatch");
  CHECK(code_of(world.ask("POST", answers, "{")) == "json_syntax");
  CHECK(code_of(world.ask("POST", answers, visit, "Content-Type: text/plain\r\n")) == "unsupported_media_type");
  CHECK(code_of(world.ask("POST", "/v1/plans/none/diff/answers", visit)) == "unknown_plan");
  CHECK(code_of(world.ask("POST", "/v1/plans/ten/diff/answers?with=broken", visit)) == "plan_left_out");
}

TEST_CASE("no more than four comparisons are under way, and none beyond the budget of a plan") {
  studio_world world;
  std::vector<braid::testing::http_caller> slow;
  for (int at = 0; at < 4; ++at)
    slow.emplace_back(world.caller())
        .say("POST /v1/plans/slow/diff/answers HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}");
  const auto in_flight = [&] { return world.ask("GET", "/metrics").body.find("\nrankd_in_flight 4\n"); };
  REQUIRE(braid::testing::eventually([&] { return in_flight() != std::string::npos; }));
  CHECK(code_of(world.ask("POST", "/v1/plans/ten/diff/answers", "{}")) == "comparison_busy");
  studio_world other;
  auto single = other.caller();
  single.say("POST /v1/plans/single/diff/answers HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}");
  REQUIRE(braid::testing::eventually(
      [&] { return other.ask("GET", "/metrics").body.find("\nrankd_in_flight 1\n") != std::string::npos; }));
  CHECK(code_of(other.ask("POST", "/v1/plans/single/diff/answers", "{}")) == "plan_busy");
}

TEST_CASE("on recorded traffic a comparison finds what rankd diff finds") {
  studio_world world;
  const json records = world.ask_json("GET", "/v1/traffic").at("records");
  REQUIRE(records.size() == 1);
  CHECK(records.at(0).at("record") == "day.rec");
  const std::vector<json> lines = world.ask_lines(traffic + "&record=day.rec");
  REQUIRE_FALSE(lines.empty());
  const json found = lines.back().at("traffic");
  CHECK(found == findings());
  CHECK(found.at("requests") == 6);
  CHECK(found.at("different").at("all") > 0);
  CHECK(world.ask_lines(traffic + "&changed=0&depth=1").back().at("traffic").at("changed").empty());
}

TEST_CASE("what cannot be compared on recorded traffic is said") {
  studio_world world;
  CHECK(code_of(world.ask("GET", traffic + "&record=none.rec")) == "unknown_record");
  for (const char* wrong :
       {"&depth=0", "&depth=100001", "&depth=x", "&changed=1001", "&changed=-1", "&live=2", "&depth="})
    CHECK_MESSAGE(code_of(world.ask("GET", traffic + wrong)) == "bad_comparison", wrong);
  CHECK(world.ask_lines(traffic + "&requests_of=ten").back().at("error").at("code") == "unknown_plan");
  const braid::testing::scratch_folder folder;
  const auto damaged = folder.write("broken.rec", "this is no record");
  studio_world other({}, studio_world::clients::any, {damaged, folder.path() / "missing.rec"});
  CHECK(other.ask_json("GET", "/v1/traffic").at("records").size() == 1);
  const json last = other.ask_lines(traffic).back();
  CHECK(last.at("error").at("code") == "not_traffic");
  CHECK(last.dump().find(folder.path().string()) == std::string::npos);  // clients need not know folders
}

TEST_CASE("a server without records has no traffic to compare, and one without the page compares no answers") {
  studio_world none({}, studio_world::clients::any, {});
  CHECK(none.ask("GET", "/v1/traffic").status == 404);
  CHECK(none.ask("GET", traffic).status == 404);
  CHECK(none.ask_json("GET", "/v1/plans").at("offers") == json::array({"drafts"}));
  serve_world plain;
  CHECK(plain.ask("POST", answers, visit).status == 404);
  CHECK_FALSE(json::parse(plain.ask("GET", "/v1/plans").body).contains("offers"));
}

TEST_CASE("what others have asked is for clients with a right, and is offered to no others") {
  studio_world world({}, studio_world::clients::with_tokens);
  CHECK(code_of(world.ask("GET", "/v1/traffic", {}, other_client)) == "traffic_forbidden");
  CHECK(code_of(world.ask("GET", traffic, {}, other_client)) == "traffic_forbidden");
  CHECK(world.ask("GET", "/v1/traffic", {}, editor).status == 200);
  CHECK(world.ask("GET", "/v1/traffic").status == 401);
  CHECK(json::parse(world.ask("GET", "/v1/plans", {}, other_client).body).at("offers").empty());
  CHECK(json::parse(world.ask("GET", "/v1/plans", {}, editor).body).at("offers") == json::array({"traffic", "drafts"}));
}
