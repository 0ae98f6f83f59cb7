// tests/rankd/server/plan_changes_test.cpp: plans that change while they are served, and what clients may do.
#include <rankd/server/plan_changes.hpp>

#include <rankd/registry/diagnostic.hpp>
#include <tests/rankd/server/changing_world.hpp>
#include <tests/rankd/server/metrics.hpp>

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::heard_answer;
using nlohmann::json;

namespace {

auto has_line(const std::string& text, const std::string& line) -> bool {
  return text.find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("a reload over HTTP serves what the folder has now") {
  changing_world world;
  CHECK(world.mark() == 1);
  world.write("a", 2);
  world.write("b", 7);
  CHECK(world.mark() == 1);
  CHECK(world.ask_json("POST", "/v1/reload") ==
        json::parse(R"({"added":["b"],"changed":["a"],"unchanged":[],"removed":[],"pinned_only":[]})"));
  CHECK(world.mark() == 2);
  CHECK(world.ask("GET", "/v1/plans/b").status == 200);
}

TEST_CASE("a reload with a bad plan says all that is wrong, and the earlier plans go on") {
  changing_world world;
  world.write("a", 2);
  world.folder.write("b.json", "{}");
  const heard_answer refused = world.ask("POST", "/v1/reload");
  CHECK(refused.status == 422);
  CHECK(refused.body.find("b.json") != std::string::npos);
  CHECK(world.mark() == 1);
  CHECK(world.ask("GET", "/metrics").body.find("rankd_plan_reloads_total{result=\"refused\"} 1\n") !=
        std::string::npos);
}

TEST_CASE("a server that keeps going serves the plans that are right, and says everywhere which are left out") {
  changing_world world(true, {}, bad_plans::leave_out);
  CHECK_FALSE(json::parse(world.ask("GET", "/readyz").body).contains("left_out"));
  CHECK(has_line(world.ask("GET", "/metrics").body, "rankd_plans_left_out 0"));
  world.write("b", 5);
  world.folder.write("c.json", R"({"schema_version":1,"plan_name":"c"})");
  const json report = world.ask_json("POST", "/v1/reload");
  CHECK(report.at("added") == json::parse(R"(["b"])"));
  REQUIRE(report.at("left_out").size() == 1);
  CHECK(report.at("left_out")[0].at("plan") == "c");
  CHECK(report.at("left_out")[0].at("diagnostics")[0].at("code") == "missing_field");

  world.write("a", 2);
  world.folder.write("b.json", "{");
  CHECK(world.ask_json("POST", "/v1/reload").at("left_out").size() == 2);
  CHECK(world.mark() == 2);
  CHECK(mark_in(world.ask("POST", "/v1/rank", R"({"user_id":1,"plan":"b"})").body) == 5);

  const heard_answer ready = world.ask("GET", "/readyz");
  CHECK(ready.status == 200);
  const json checks = json::parse(ready.body).at("checks");
  CHECK(checks.back() == json::parse(R"({"name":"plans","state":"warning","message":"plans left out because )"
                                     R"(their newest artifact is invalid: 2 of 3; `left_out` lists them"})"));
  json left_out = json::parse(ready.body).at("left_out");
  REQUIRE(left_out.size() == 2);
  CHECK(left_out[0].at("message").get<std::string>().starts_with("line 1"));
  left_out[0].erase("message");
  CHECK(left_out[0] == json::parse(R"({"plan":"b","serves_earlier":true,"code":"json_syntax"})"));
  CHECK(left_out[1] == json::parse(R"({"plan":"c","serves_earlier":false,"code":"missing_field",)"
                                   R"("message":"the field `nodes` is missing"})"));
  CHECK(has_line(world.ask("GET", "/metrics").body, "rankd_plans_left_out 2"));

  const json plans = world.ask_json("GET", "/v1/plans").at("plans");
  REQUIRE(plans.size() == 3);
  CHECK(plans[0].at("runnable") == true);
  CHECK_FALSE(plans[0].contains("code"));
  CHECK(plans[1].at("runnable") == true);
  CHECK(plans[1].at("code") == "json_syntax");
  CHECK(plans[2].at("runnable") == false);
  CHECK(plans[2].at("message") == "the field `nodes` is missing");

  const heard_answer refused = world.ask("POST", "/v1/rank", R"({"user_id":1,"plan":"c","request_id":"r"})");
  CHECK(refused.status == 422);
  const json error = json::parse(refused.body);
  CHECK(error.at("request_id") == "r");
  CHECK(error.at("error").at("code") == "plan_left_out");
  CHECK(error.at("error").at("message") ==
        "the plan `c` was left out when the plans were loaded: c.json: the field `nodes` is missing");
  CHECK(error.at("diagnostics").size() == 2);
  CHECK(refused.body.find(world.folder.path().string()) == std::string::npos);
  CHECK(json::parse(world.ask("GET", "/v1/plans/c").body).at("error").at("code") == "plan_left_out");
  CHECK(has_line(world.ask("GET", "/metrics").body, R"(rankd_requests_total{plan="c",code="plan_left_out"} 1)"));

  world.write("b", 6);
  std::filesystem::remove(world.folder.path() / "c.json");
  CHECK_FALSE(world.ask_json("POST", "/v1/reload").contains("left_out"));
  CHECK(has_line(world.ask("GET", "/metrics").body, "rankd_plans_left_out 0"));
  CHECK(mark_in(world.ask("POST", "/v1/rank", R"({"user_id":1,"plan":"b"})").body) == 6);
}

TEST_CASE("the metrics name the version of each plan that is served, and no other") {
  changing_world world(true, {}, bad_plans::leave_out);
  world.write("b", 5);
  world.folder.write("c.json", "{");
  static_cast<void>(world.ask_json("POST", "/v1/reload"));
  const auto digests = [&world] {
    const json plans = world.ask_json("GET", "/v1/plans").at("plans");
    return std::pair(plans[0].at("digest").get<std::string>(), plans[1].at("digest").get<std::string>());
  };
  const auto line = [](std::string_view plan, const std::string& digest) {
    return "rankd_plan_info{plan=\"" + std::string(plan) + "\",digest=\"" + digest + "\"} 1";
  };
  const auto [a, b] = digests();
  const std::string before = world.ask("GET", "/metrics").body;
  CHECK(has_line(before, line("a", a)));
  CHECK(has_line(before, line("b", b)));
  CHECK(before.find("rankd_plan_info{plan=\"c\"") == std::string::npos);

  world.write("a", 2);
  static_cast<void>(world.ask_json("POST", "/v1/reload"));
  const auto [changed, same] = digests();
  const std::string after = world.ask("GET", "/metrics").body;
  CHECK(changed != a);
  CHECK(same == b);
  CHECK(has_line(after, line("a", changed)));
  CHECK(has_line(after, line("b", b)));
  CHECK_FALSE(has_line(after, line("a", a)));
}

TEST_CASE("versions are listed, rolled back, pinned and let go of") {
  changing_world world;
  world.write("a", 2);
  CHECK(world.ask("POST", "/v1/reload").status == 200);
  const json two = world.ask_json("GET", "/v1/plans/a/versions").at("versions");
  REQUIRE(two.size() == 2);
  CHECK(two[0].at("serves") == false);
  CHECK(two[1].at("serves") == true);
  CHECK(two[1].at("users") == 0);
  CHECK(world.ask_json("POST", "/v1/plans/a/rollback").at("version") == two[0].at("version"));
  CHECK(world.mark() == 1);
  const std::string newest = std::to_string(two[1].at("version").get<int>());
  CHECK(world.ask_json("POST", "/v1/plans/a/versions/" + newest + "/pin").at("pinned") == true);
  CHECK(world.mark() == 2);
  world.write("a", 3);
  CHECK(world.ask("POST", "/v1/reload").status == 200);
  CHECK(world.mark() == 2);
  CHECK(world.ask("POST", "/v1/plans/a/unpin").status == 200);
  CHECK(world.mark() == 3);
}

TEST_CASE("changes of what is not there are refused by name") {
  changing_world world;
  const auto code = [&](std::string_view method, std::string_view path, int status) {
    const heard_answer answer = world.ask(method, path);
    CHECK(answer.status == status);
    return json::parse(answer.body).at("error").at("code").get<std::string>();
  };
  CHECK(code("GET", "/v1/plans/none/versions", 404) == "unknown_plan");
  CHECK(code("POST", "/v1/plans/none/rollback", 404) == "unknown_plan");
  CHECK(code("POST", "/v1/plans/none/unpin", 404) == "unknown_plan");
  CHECK(code("POST", "/v1/plans/a/rollback", 409) == "no_earlier_version");
  for (const char* number : {"99", "0", "01", "-1", "x", "1x", "99999999999999999999999"})
    CHECK(code("POST", "/v1/plans/a/versions/" + std::string(number) + "/pin", 404) == "unknown_version");
}

TEST_CASE("what is read with the plans is put in place with them, or nothing is") {
  changing_world world;
  int prepared = 0;
  int placed = 0;
  bool right = false;
  world.changes.reload_with([&]() -> braid::checked<std::function<void()>> {
    ++prepared;
    if (!right) return refused("bad_token", "it is too short", {}, "tokens");
    return std::function<void()>([&] { ++placed; });
  });
  world.write("a", 2);
  const heard_answer answer = world.ask("POST", "/v1/reload");
  CHECK(answer.status == 422);
  CHECK(json::parse(answer.body).at("error").at("code") == "bad_token");
  CHECK(world.mark() == 1);
  right = true;
  world.folder.write("b.json", "{}");
  CHECK(world.ask("POST", "/v1/reload").status == 422);
  CHECK(world.mark() == 1);
  CHECK(placed == 0);
  world.write("b", 1);
  CHECK(world.ask("POST", "/v1/reload").status == 200);
  CHECK(world.mark() == 2);
  CHECK(placed == 1);
  CHECK(prepared == 3);
  CHECK(world.changes.reloads().done == 2);
  CHECK(world.changes.reloads().refused == 2);
  world.changes.reload_with({});
  CHECK(world.ask("POST", "/v1/reload").status == 200);
  CHECK(prepared == 3);
}

TEST_CASE("the metrics of nodes go with the plans that had them, and stay with the plans that go on") {
  changing_world world;
  const auto metrics = [&] { return read_metrics(world.ask("GET", "/metrics").body); };
  const auto runs = [](const std::string& plan, const std::string& node) {
    return "rankd_node_runs_total{plan=\"" + plan + "\",node=\"" + node + "\"}";
  };
  world.write("b", 1);
  CHECK(world.ask("POST", "/v1/reload").status == 200);
  CHECK(world.mark() == 1);
  CHECK(world.ask("POST", "/v1/rank", R"({"user_id":1,"plan":"b"})").status == 200);
  CHECK(metrics()[runs("a", "two")] == 1);
  CHECK(metrics()[runs("b", "two")] == 1);
  std::filesystem::remove(world.folder.path() / "b.json");
  world.folder.write("a.json",
                     R"({"schema_version":1,"plan_name":"a","outputs":["s"],"nodes":[)" + source("s", 2) + "]}");
  CHECK(world.ask("POST", "/v1/reload").status == 200);
  auto now = metrics();
  CHECK(now[runs("a", "s")] == 1);
  CHECK(!now.contains(runs("a", "two")));
  CHECK(!now.contains(runs("b", "two")));
  CHECK(world.ask("POST", "/v1/rank", request_to_a).status == 200);
  now = metrics();
  CHECK(now[runs("a", "s")] == 2);
  CHECK(!now.contains(runs("a", "two")));
}

TEST_CASE("clients change nothing where nobody allowed it") {
  changing_world world(false);
  CHECK(world.ask("POST", "/v1/reload").status == 404);
  CHECK(world.ask("POST", "/v1/plans/a/rollback").status == 404);
  CHECK(world.ask("POST", "/v1/plans/a/versions/1/pin").status == 404);
  CHECK(world.ask("GET", "/v1/plans/a/versions").status == 200);
}

TEST_CASE("of clients with tokens those with the right to edit change what serves, and no others") {
  changing_world world(true, value_of(token_list::parse("[edit] 0123456789abcdef\nfeed fedcba9876543210\n", "tokens")));
  const auto status = [&](const std::string& path, const std::string& token) {
    auto one = world.caller();
    one.say(braid::testing::request_text("POST", path, "Authorization: Bearer " + token + "\r\n"));
    return one.hear().value().status;
  };
  world.write("a", 2);
  for (const char* path : {"/v1/reload", "/v1/plans/a/rollback", "/v1/plans/a/versions/1/pin", "/v1/plans/a/unpin"})
    CHECK_MESSAGE(status(path, "fedcba9876543210") == 403, path);
  CHECK(world.library.versions().size() == 1);
  for (const char* path : {"/v1/reload", "/v1/plans/a/rollback", "/v1/plans/a/versions/1/pin", "/v1/plans/a/unpin"})
    CHECK_MESSAGE(status(path, "0123456789abcdef") == 200, path);
  CHECK(world.library.versions().size() == 2);
}

TEST_CASE("versions that are kept are described and compared, and so are two plans") {
  changing_world world;
  world.write("a", 2);
  world.write("b", 3);
  CHECK(world.ask("POST", "/v1/reload").status == 200);
  const auto answer = [&world](const std::string& path) { return json::parse(world.ask("GET", path).body); };
  CHECK(answer("/v1/plans/a?version=1&form=full") != answer("/v1/plans/a?form=full"));
  CHECK(answer("/v1/plans/a?version=2&form=full") == answer("/v1/plans/a?form=full"));
  CHECK(answer("/v1/plans/a?version=1").at("digest") == answer("/v1/plans/a?version=1&form=full").at("digest"));

  const json older = answer("/v1/plans/a/diff?version=1");
  CHECK(older.at("before").at("digest") == answer("/v1/plans/a?version=1").at("digest"));
  CHECK(older.at("after").at("digest") == answer("/v1/plans/a").at("digest"));
  CHECK(older.at("equal") == false);
  CHECK(older.at("changes")[0].at("kind") == "changed");
  CHECK(answer("/v1/plans/a/diff?with_version=1").at("before") == older.at("after"));
  CHECK(answer("/v1/plans/a/diff?version=1&with_version=1").at("equal") == true);
  CHECK(answer("/v1/plans/a/diff?with=b").at("after").at("plan") == "b");
  CHECK(answer("/v1/plans/b/diff?with=a&with_version=1").at("after") == older.at("before"));

  const auto code = [&world](const std::string& path) {
    const auto refused = world.ask("GET", path);
    return std::to_string(refused.status) + " " + json::parse(refused.body).at("error").at("code").get<std::string>();
  };
  CHECK(code("/v1/plans/c/diff?with=a") == "404 unknown_plan");
  CHECK(code("/v1/plans/a/diff?with=c") == "404 unknown_plan");
  CHECK(code("/v1/plans/a/diff?with=c&with_version=1") == "404 unknown_plan");
  CHECK(code("/v1/plans/a/diff?version=9") == "404 unknown_version");
  CHECK(code("/v1/plans/a/diff?with_version=x") == "404 unknown_version");
  CHECK(code("/v1/plans/a?version=0") == "404 unknown_version");
}
