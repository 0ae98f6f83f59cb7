// tests/rankd/server/rank_server_test.cpp: what clients of the HTTP interface get.
#include <rankd/server/rank_server.hpp>

#include <rankd/engine/plans/plan_graph.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/server/files/line_file.hpp>
#include <rankd/store/faulty_store.hpp>
#include <tests/rankd/server/metrics.hpp>
#include <tests/rankd/server/serve_world.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/scratch_folder.hpp>

#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::testing::eventually;
using braid::testing::heard_answer;
using braid::testing::request_text;
using nlohmann::json;
using rankd::testing::engine_world;
using rankd::testing::serve_world;

namespace {

/// "status code pointer" of an error.
auto error_of(const heard_answer& answer) -> std::string {
  const json error = json::parse(answer.body).at("error");
  return std::to_string(answer.status) + " " + error.at("code").get<std::string>() + " " + error.value("pointer", "-");
}

auto metric(serve_world& world, const std::string& sample) -> std::string {
  const std::string text = "\n" + world.ask("GET", "/metrics").body;
  const std::size_t at = text.find("\n" + sample + " ");
  if (at == std::string::npos) return "none";
  const std::size_t begin = at + sample.size() + 2;
  return text.substr(begin, text.find('\n', begin) - begin);
}

}  // namespace

TEST_CASE("a request gets the bytes that the engine gives for it") {
  serve_world world;
  engine_world beside;
  for (const char* plan : {"reels_plan_a", "concat_plan"}) {
    const std::string request = R"({"user_id":1,"request_id":"r","plan":")" + std::string(plan) + "\"}";
    const heard_answer answer = world.rank(request, "Content-Type: application/json; charset=utf-8\r\n");
    CHECK(answer.status == 200);
    CHECK(answer.field("Content-Type") == "application/json");
    CHECK(answer.body == to_json(beside.rank(beside.reference_plan(plan), request)) + "\n");
  }
}

TEST_CASE("requests of one connection are answered in order, whatever came of them") {
  serve_world world;
  auto one = world.caller();
  std::string all;
  for (const char* body :
       {R"({"user_id":1,"plan":"ten","request_id":"a"})", "{", R"({"user_id":0,"plan":"ten","request_id":"b"})",
        R"({"user_id":1,"plan":"ten","request_id":"c"})"})
    all += request_text("POST", "/v1/rank", {}, body);
  one.say(all);
  std::vector<int> statuses;
  for (int i = 0; i < 4; ++i) statuses.push_back(one.hear().value().status);
  CHECK(statuses == std::vector<int>{200, 400, 400, 200});
}

TEST_CASE("the field X-Request-Id names a request that does not name itself") {
  serve_world world;
  const auto id_of = [](const heard_answer& answer) {
    return json::parse(answer.body).at("request_id").get<std::string>();
  };
  const heard_answer named = world.rank(R"({"user_id":1,"plan":"ten"})", "X-Request-Id: from outside\r\n");
  CHECK(id_of(named) == "from outside");
  CHECK(named.field("X-Request-Id") == "from outside");
  CHECK(id_of(world.rank(R"({"user_id":1,"plan":"ten","request_id":"own"})", "X-Request-Id: other\r\n")) == "own");
  CHECK(id_of(world.rank(R"({"user_id":0,"plan":"ten"})", "X-Request-Id: other\r\n")) == "other");
  CHECK(id_of(world.rank("no json", "X-Request-Id: other\r\n")) == "other");
  CHECK(id_of(world.ask("GET", "/nowhere", {}, "X-Request-Id: other\r\n")) == "other");
  CHECK(id_of(world.rank(R"({"user_id":1,"plan":"ten"})")).starts_with("req_"));
  CHECK(error_of(world.rank("{}", "X-Request-Id: \xff\r\n")) == "400 bad_request_id -");
  CHECK(error_of(world.rank("{}", "X-Request-Id: " + std::string(257, 'x') + "\r\n")) == "400 bad_request_id -");
}

TEST_CASE("each kind of failure has its status, its code and its place") {
  serve_world world;
  CHECK(error_of(world.rank(R"({"user_id":1,"plan":"ten","what":1})")) == "400 unknown_field /what");
  CHECK(error_of(world.rank(R"({"user_id":1})")) == "400 missing_field /plan");
  CHECK(error_of(world.rank(R"({"user_id":1,"plan":"nope"})")) == "404 unknown_plan /plan");
  CHECK(error_of(world.rank(R"({"user_id":1,"plan":"../x"})")) == "404 unknown_plan /plan");
  CHECK(world.rank(R"({"user_id":1,"plan":"broken"})").status == 422);
  CHECK(error_of(world.rank(R"({"user_id":1,"plan":"fails"})")) == "422 test_failure -");
  CHECK(error_of(world.rank(R"({"user_id":1,"plan":"slow","deadline_ms":1})")) == "504 deadline_exceeded -");
  CHECK(error_of(world.rank("{}", "Content-Type: text/plain\r\n")) == "415 unsupported_media_type -");
  CHECK(error_of(world.rank("{}", "Content-Encoding: gzip\r\n")) == "415 unsupported_media_type -");
  CHECK(error_of(world.rank("{}", "Content-Encoding: identit\r\n")) == "415 unsupported_media_type -");
  CHECK(error_of(world.rank("{}", "Content-Encoding: identity\r\nContent-Encoding: gzip\r\n")) ==
        "415 unsupported_media_type -");
  for (const std::string coding : {"identity", "Identity"})
    CHECK(error_of(world.rank(R"({"user_id":1})", "Content-Encoding: " + coding + "\r\n")) ==
          "400 missing_field /plan");
  CHECK(error_of(world.rank("{}", "Content-Type: application/json\r\nContent-Type: text/x\r\n")) ==
        "415 unsupported_media_type -");
  CHECK(error_of(world.ask("GET", "/v1/rank")) == "405 method_not_allowed -");
  CHECK(world.ask("GET", "/v1/rank").field("Allow") == "POST");
  CHECK(error_of(world.ask("GET", "/")) == "404 unknown_path -");
  CHECK(error_of(world.ask("GET", "/v1/plans/nope")) == "404 unknown_plan -");
  CHECK(world.ask("GET", "/v1/plans/broken").status == 422);
}

TEST_CASE("a name that no plan has is answered with the nearest one") {
  serve_world world;
  const auto message = [](const braid::testing::heard_answer& answer) {
    return json::parse(answer.body).at("error").at("message").get<std::string>();
  };
  CHECK(message(world.rank(R"({"user_id":1,"plan":"reels_plan_b"})")) ==
        "no plan is called `reels_plan_b`; did you mean `reels_plan_a`?");
  CHECK(message(world.ask("GET", "/v1/plans/concat")) ==
        "no plan is called `concat`; GET /v1/plans lists the plans of this server");
  CHECK(message(world.rank(R"({"user_id":1,"plan":"slow","deadline_ms":1})"))
            .ends_with("node `b` was the first unfinished node"));
}

TEST_CASE("a message that is too large or no message is refused as JSON") {
  serve_options small;
  small.http.limits = {.head_bytes = 1024, .body_bytes = 100};
  serve_world world(small);
  CHECK(error_of(world.rank(std::string(101, ' '))) == "413 body_too_large -");
  CHECK(world.rank(std::string(101, ' ')).body.contains("up to 100 bytes (--max-body-bytes)"));
  auto in_pieces = world.caller();
  in_pieces.say("POST /v1/rank HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" +
                std::string(101, ' '));
  CHECK(in_pieces.hear().value().body.contains("up to 100 bytes (--max-body-bytes)"));
  CHECK(world.rank({}, "X: " + std::string(2000, 'x') + "\r\n").body.contains("up to 1024 bytes (--max-header-bytes)"));
  CHECK(error_of(world.rank({}, "X: " + std::string(2000, 'x') + "\r\n")) == "431 head_too_large -");
  auto liar = world.caller();
  liar.say("nonsense\r\n\r\n");
  CHECK(error_of(liar.hear().value()) == "400 bad_start_line -");
  auto chunks = world.caller();
  chunks.say("POST /v1/rank HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
  CHECK(error_of(chunks.hear().value()) == "400 bad_chunk -");
  auto half = world.caller();
  half.say("POST /v1/rank HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{");
  half.finish();
  CHECK(error_of(half.hear().value()) == "400 truncated -");
  CHECK(world.rank(R"({"user_id":1,"plan":"ten"})").status == 200);
}

TEST_CASE("a client that is too slow is told so") {
  serve_options hasty_for_heads;
  hasty_for_heads.http.head_timeout = std::chrono::milliseconds(20);
  serve_world one(hasty_for_heads);
  std::optional<heard_answer> slow;
  CHECK(eventually([&] {  // a silent connection is not answered
    auto head = one.caller();
    head.say("POST /v1/ra");
    slow = head.hear();
    return slow.has_value();
  }));
  CHECK(error_of(slow.value()) == "408 too_slow -");
  serve_options hasty_for_bodies;  // and not for the head that comes before
  hasty_for_bodies.http.body_timeout = std::chrono::milliseconds(20);
  serve_world world(hasty_for_bodies);
  auto body = world.caller();
  body.say("POST /v1/rank HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\nX-Request-Id: me\r\n\r\n{");
  const heard_answer late = body.hear().value();
  CHECK(error_of(late) == "408 too_slow -");
  CHECK(json::parse(late.body).at("request_id") == "me");
}

TEST_CASE("plans are listed and described") {
  serve_world world;
  const json listed = json::parse(world.ask("GET", "/v1/plans").body).at("plans");
  std::string names;
  for (const json& each : listed) names += each.at("plan").get<std::string>() + (each.at("runnable") ? "+ " : "- ");
  CHECK(names == "broken- concat_plan+ fails+ few+ hasty+ reels_plan_a+ single+ slow+ ten+ ");
  const json one = json::parse(world.ask("GET", "/v1/plans/slow").body);
  CHECK(one.at("outputs") == json({"b"}));
  CHECK(one.at("nodes").at(1).at("op") == "test::sleep");
  CHECK(one.at("nodes").at(1).at("inputs") == json({"a"}));
  CHECK(one.at("digest").get<std::string>().size() == 64);
  CHECK(!one.contains("budget"));
  CHECK(json::parse(world.ask("GET", "/v1/plans/few").body).at("budget") == json({{"rows", 9}}));
  CHECK(json::parse(world.ask("GET", "/v1/plans/hasty").body).at("budget") == json({{"deadline_ms", 1000}}));
}

TEST_CASE("the full form of a plan is the graph that the command line prints") {
  serve_world world;
  engine_world beside;
  const heard_answer answer = world.ask("GET", "/v1/plans/reels_plan_a?form=full");
  CHECK(answer.status == 200);
  CHECK(answer.field("Content-Type") == "application/json");
  const bound_plan& plan = beside.reference_plan("reels_plan_a");
  CHECK(answer.body == graph_json(make_graph(plan, rankd::testing::reference_project::get().declared)));
  CHECK(json::parse(answer.body).at("nodes").at(3).at("params") == json{{"pred", "Key.final_score >= 0.6"}});
  CHECK(error_of(world.ask("GET", "/v1/plans/ten?form=whole")) == "400 bad_form -");
  CHECK(error_of(world.ask("GET", "/v1/plans/nope?form=full")) == "404 unknown_plan -");
  CHECK(world.ask("GET", "/v1/plans/broken?form=full").status == 422);
}

TEST_CASE("what would take more than the budget of its plan has a status and a node") {
  serve_world world;
  const auto told = [&](const std::string& request) {
    const heard_answer answer = world.rank(request);
    return error_of(answer) + " " + json::parse(answer.body).at("error").value("node", "-");
  };
  CHECK(told(R"({"user_id":1,"plan":"few"})") == "422 row_budget_exceeded - a");
  CHECK(told(R"({"user_id":1,"plan":"hasty"})") == "504 time_budget_exceeded - b");
  CHECK(told(R"({"user_id":1,"plan":"hasty","deadline_ms":86400000})") == "504 time_budget_exceeded - b");
}

TEST_CASE("a plan or a client that has enough under way gets 429, and nobody else does") {
  serve_options shared;
  shared.loops = 2;
  shared.client_in_flight = 2;
  shared.tokens = rankd::testing::value_of(token_list::parse("a 0123456789abcdef\nb fedcba9876543210\n", "tokens"));
  serve_world world(shared);
  const std::string a = "Authorization: Bearer 0123456789abcdef\r\n";
  const std::string b = "Authorization: Bearer fedcba9876543210\r\n";
  const auto in_flight = [&] {
    const std::string text = world.ask("GET", "/metrics", {}, b).body;
    return text.substr(text.find("\nrankd_in_flight ") + 17, 1);
  };
  const auto start = [&](const std::string& plan) {
    auto one = world.caller();
    one.say(request_text("POST", "/v1/rank", a, R"({"user_id":1,"deadline_ms":86400000,"plan":")" + plan + "\"}"));
    return one;
  };
  const auto refused_as = [](const heard_answer& answer) {
    CHECK(answer.field("Retry-After") == "1");
    return error_of(answer);
  };
  const std::string ten = R"({"user_id":1,"plan":"ten"})";
  const auto first = start("single");
  CHECK(eventually([&] { return in_flight() == "1"; }));
  CHECK(refused_as(world.rank(R"({"user_id":1,"plan":"single"})", a)) == "429 plan_busy -");
  CHECK(refused_as(world.rank(R"({"user_id":1,"plan":"single"})", b)) == "429 plan_busy -");
  CHECK(world.rank(ten, a).status == 200);
  auto second = start("slow");
  CHECK(eventually([&] { return in_flight() == "2"; }));
  CHECK(refused_as(world.rank(ten, a + "X-Request-Id: me\r\n")) == "429 client_busy -");
  CHECK(world.rank(ten, b).status == 200);
  CHECK(world.ask("GET", "/metrics", {}, a).body.find("rankd_requests_total{plan=\"single\",code=\"plan_busy\"} 2\n") !=
        std::string::npos);
}

TEST_CASE("places are given back by requests that end and by connections that break") {
  serve_options shared;
  shared.client_in_flight = 1;
  shared.tokens = rankd::testing::value_of(token_list::parse("0123456789abcdef\n", "tokens"));
  serve_world world(shared);
  const std::string who = "Authorization: Bearer 0123456789abcdef\r\n";
  const auto status = [&](const std::string& plan) {
    return world.rank(R"({"user_id":1,"deadline_ms":1,"plan":")" + plan + "\"}", who).status;
  };
  for (int i = 0; i < 3; ++i) {
    CHECK(status("single") == 504);
    CHECK(status("ten") != 429);
    CHECK(status("none") == 404);
  }
  {
    auto half = world.caller();
    half.say("POST /v1/rank HTTP/1.1\r\nHost: localhost\r\n" + who + "Content-Length: 50\r\n\r\n{");
    CHECK(eventually([&] { return status("ten") == 429; }));
  }
  CHECK(eventually([&] { return status("ten") != 429; }));
}

TEST_CASE("nodes and endpoints have metrics of their own, of plans that are there") {
  serve_options timed;
  timed.loops = 2;
  timed.engine.timed_of = 1;
  serve_world world(timed);
  for (int i = 0; i < 8; ++i) CHECK(world.rank(R"({"user_id":1,"plan":"reels_plan_a"})").status == 200);
  CHECK(world.rank(R"({"user_id":1,"plan":"fails"})").status == 422);
  CHECK(world.rank(R"({"user_id":1,"plan":"hasty"})").status == 504);
  auto metrics = rankd::testing::read_metrics(world.ask("GET", "/metrics").body);
  CHECK(metrics[R"(rankd_node_runs_total{plan="reels_plan_a",node="follow"})"] == 8);
  CHECK(metrics[R"(rankd_node_rows_total{plan="reels_plan_a",node="follow"})"] == 80);
  CHECK(metrics[R"(rankd_node_rows_total{plan="reels_plan_a",node="take"})"] == 40);
  CHECK(metrics[R"(rankd_node_errors_total{plan="reels_plan_a",node="follow"})"] == 0);
  CHECK(metrics[R"(rankd_node_errors_total{plan="fails",node="b"})"] == 1);
  CHECK(!metrics.contains(R"(rankd_node_runs_total{plan="hasty",node="b"})"));
  CHECK(metrics[R"(rankd_node_duration_seconds_count{plan="reels_plan_a",node="follow",part="io"})"] == 8);
  CHECK(metrics[R"(rankd_node_duration_seconds_count{plan="reels_plan_a",node="score",part="run"})"] == 8);
  CHECK(metrics[R"(rankd_node_duration_seconds_count{plan="reels_plan_a",node="score",part="queue"})"] == 8);
  CHECK(metrics[R"(rankd_endpoint_duration_seconds_count{endpoint="ep_0001"})"] == 16);  // a list, and countries
  CHECK(metrics[R"(rankd_endpoint_errors_total{endpoint="ep_0001"})"] == 0);
  CHECK(metrics[R"(rankd_endpoint_late_total{endpoint="ep_0001"})"] == 0);
  CHECK(metrics.contains(R"(rankd_endpoint_in_flight{endpoint="ep_0001"})"));
  CHECK(!metrics.contains(R"(rankd_endpoint_in_flight{endpoint="ep_0002"})"));
  CHECK(!metrics.contains(R"(rankd_store_reads_total{endpoint="ep_0001"})"));  // it answers at once
}

TEST_CASE("metrics tell what was asked of a store that is elsewhere, and what was shared") {
  faulty_store elsewhere(*rankd::testing::reference_project::get().stores.front(), "ep_0001", {});
  faulty_store models(*rankd::testing::reference_project::get().stores.front(), "ep_0002", {});  // of kind http
  serve_options two_loops;
  two_loops.loops = 2;
  serve_world world(two_loops, nullptr, {}, {&elsewhere, &models});
  for (int i = 0; i < 4; ++i) CHECK(world.rank(R"({"user_id":1,"plan":"concat_plan"})").status == 200);
  auto metrics = rankd::testing::read_metrics(world.ask("GET", "/metrics").body);
  const double asked = metrics[R"(rankd_store_reads_total{endpoint="ep_0001"})"];
  CHECK(asked > 0);
  CHECK(metrics[R"(rankd_store_reads_shared_total{endpoint="ep_0001"})"] +
            metrics[R"(rankd_endpoint_duration_seconds_count{endpoint="ep_0001"})"] ==
        asked);
  CHECK(metrics.contains(R"(rankd_endpoint_in_flight{endpoint="ep_0002"})"));
  CHECK(!metrics.contains(R"(rankd_store_reads_total{endpoint="ep_0002"})"));     // it has no keys to read
  CHECK(!metrics.contains(R"(rankd_record_cache_entries{endpoint="ep_0001"})"));  // nothing is kept unless asked for
}

TEST_CASE("clients can ask for the limits that their calls must keep to") {
  serve_options options;
  options.http.limits.body_bytes = 5000;
  options.max_batch = 7;
  options.client_in_flight = 3;
  serve_world open(options);
  CHECK(json::parse(open.ask("GET", "/v1/limits").body) ==
        json::parse(R"({"max_body_bytes":5000,"max_batch":7,"default_deadline_ms":60000})"));  // the world's deadline

  options.tokens = rankd::testing::value_of(token_list::parse("feed 0123456789abcdef\n", "tokens"));
  serve_world guarded(options);
  CHECK(error_of(guarded.ask("GET", "/v1/limits")) == "401 unauthorized -");
  const auto answer = guarded.ask("GET", "/v1/limits", {}, "Authorization: Bearer 0123456789abcdef\r\n");
  CHECK(json::parse(answer.body).at("client_in_flight") == 3);
}

TEST_CASE("where there are tokens, only health, readiness and the description are for everybody") {
  serve_options guarded;
  guarded.tokens = rankd::testing::value_of(token_list::parse("feed 0123456789abcdef\n", "tokens"));
  serve_world world(guarded);
  for (const char* path : {"/v1/plans", "/v1/plans/ten", "/metrics", "/v1/tasks"}) {
    const heard_answer refused = world.ask("GET", path);
    CHECK(error_of(refused) == "401 unauthorized -");
    CHECK(refused.field("WWW-Authenticate") == "Bearer");
    CHECK(world.ask("GET", path, {}, "Authorization: Bearer 0123456789abcdef\r\n").status == 200);
  }
  CHECK(world.ask("GET", "/healthz").status == 200);
  CHECK(world.ask("GET", "/readyz").status == 200);
  CHECK(world.ask("GET", "/v1/openapi.json").status == 200);
  const std::string_view request = R"({"user_id":1,"plan":"ten"})";
  CHECK(error_of(world.rank(request)) == "401 unauthorized -");
  CHECK(error_of(world.rank(request, "Authorization: Bearer 0123456789abcdeg\r\n")) == "401 unauthorized -");
  const std::string_view twice = "Authorization: Bearer 0123456789abcdef\r\nAuthorization: Bearer x\r\n";
  CHECK(error_of(world.rank(request, twice)) == "401 unauthorized -");
  CHECK(world.rank(request, "authorization: bearer 0123456789abcdef\r\n").status == 200);
}

TEST_CASE("a method that a path does not take needs a token first, as any other") {
  serve_options guarded;
  guarded.tokens = rankd::testing::value_of(token_list::parse("feed 0123456789abcdef\n", "tokens"));
  serve_world world(guarded);
  constexpr std::string_view token = "Authorization: Bearer 0123456789abcdef\r\n";
  struct row {
    std::string_view method;
    std::string_view path;
    std::string_view allowed;
  };
  for (const auto& [method, path, allowed] :
       {row{"PUT", "/v1/rank", "POST"}, row{"GET", "/v1/rank", "POST"}, row{"POST", "/v1/plans", "GET, HEAD"},
        row{"DELETE", "/v1/plans/ten", "GET, HEAD"}, row{"PATCH", "/metrics", "GET, HEAD"}}) {
    CAPTURE(method);
    CAPTURE(path);
    const heard_answer unknown = world.ask(method, path);
    CHECK(error_of(unknown) == "401 unauthorized -");
    CHECK(unknown.field("Allow").empty());
    CHECK(error_of(world.ask("OPTIONS", path)) == "401 unauthorized -");
    const heard_answer refused = world.ask(method, path, {}, token);
    CHECK(error_of(refused) == "405 method_not_allowed -");
    CHECK(refused.field("Allow") == allowed);
    const heard_answer options = world.ask("OPTIONS", path, {}, token);
    CHECK(options.status == 204);
    CHECK(options.field("Allow") == allowed);
  }
  CHECK(world.ask("OPTIONS", "/healthz").status == 204);
  CHECK(error_of(world.ask("PUT", "/readyz")) == "405 method_not_allowed -");
}

TEST_CASE("new tokens count from then on, and a connection goes on with them") {
  const auto tokens = [](std::string_view text) { return rankd::testing::value_of(token_list::parse(text, "tokens")); };
  serve_options guarded;
  guarded.loops = 2;
  guarded.tokens = tokens("0123456789abcdef");
  serve_world world(guarded);
  const std::string before = "Authorization: Bearer 0123456789abcdef\r\n";
  const std::string after = "Authorization: Bearer fedcba9876543210\r\n";
  auto kept = world.caller();
  const auto ask = [&](const std::string& fields) {
    kept.say(request_text("GET", "/v1/plans", fields));
    return kept.hear().value().status;
  };
  CHECK(ask(before) == 200);
  CHECK(ask(after) == 401);
  const auto replace = rankd::testing::value_of(world.server().renew(tokens("fedcba9876543210")));
  CHECK(ask(before) == 200);
  replace();
  CHECK(eventually([&] { return ask(after) == 200; }));
  CHECK(ask(before) == 401);
  for (int i = 0; i < 8; ++i) CHECK(eventually([&] { return world.ask("GET", "/v1/plans", {}, after).status == 200; }));
}

TEST_CASE("requests beyond those that may run and wait are refused, and others come in when there is room") {
  serve_options narrow;
  narrow.max_in_flight = 1;
  narrow.queue = 1;
  serve_world world(narrow);
  const std::string slow = R"({"user_id":1,"plan":"slow","deadline_ms":86400000})";
  auto running = world.caller();
  running.say(request_text("POST", "/v1/rank", {}, slow));
  CHECK(eventually([&] { return metric(world, "rankd_in_flight") == "1"; }));
  auto waiting = world.caller();
  waiting.say(request_text("POST", "/v1/rank", {}, R"({"user_id":1,"plan":"ten","deadline_ms":86400000})"));
  CHECK(eventually([&] { return metric(world, "rankd_queue_length") == "1"; }));
  const heard_answer refused = world.rank(R"({"user_id":1,"plan":"ten"})", "X-Request-Id: third\r\n");
  CHECK(error_of(refused) == "503 overloaded -");
  CHECK(refused.field("Retry-After") == "1");
  CHECK(json::parse(refused.body).at("request_id") == "third");
  CHECK(metric(world, "rankd_shed_total") == "1");
  CHECK(world.ask("GET", "/healthz").status == 200);
}

TEST_CASE("a refusal leaves the connection open, does not want the body, and hundreds are a line of the log") {
  const braid::testing::scratch_folder folder;
  auto file = rankd::testing::value_of(line_file::open(folder.path() / "log"));
  serve_options narrow;
  narrow.max_in_flight = 1;
  narrow.queue = 0;
  constexpr int times = 300;
  {
    serve_world world(narrow, nullptr, serve_log(*file, log_level::info));
    auto running = world.caller();
    running.say(request_text("POST", "/v1/rank", {}, R"({"user_id":1,"plan":"slow","deadline_ms":86400000})"));
    CHECK(eventually([&] { return metric(world, "rankd_in_flight") == "1"; }));
    auto one = world.caller();
    const std::string request = request_text("POST", "/v1/rank", {}, R"({"user_id":1,"plan":"ten"})");
    for (int i = 0; i < times; ++i) {
      one.say(request);
      const heard_answer refused = one.hear().value();
      CHECK(error_of(refused) == "503 overloaded -");
      CHECK(refused.field("Retry-After") == "1");
      CHECK(refused.field("Connection").empty());
    }
    one.say(request.substr(0, request.size() - 5));
    CHECK(world.ask("GET", "/healthz").status == 200);
    one.say(request.substr(request.size() - 5));
    CHECK(one.hear().value().field("Connection").empty());
    one.say("POST /v1/rank HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n");
    CHECK(error_of(one.hear().value()) == "503 overloaded -");
    CHECK(!one.hear());
    CHECK(metric(world, "rankd_shed_total") == std::to_string(times + 2));
    world.server().begin_stop(braid::duration::zero());
    world.server().wait();
  }
  file.reset();
  int told = 0;
  int lines = 0;
  std::istringstream log(read_text_file(folder.path() / "log").value());
  for (std::string line; std::getline(log, line); ++lines) {
    const json event = json::parse(line);
    CHECK(event.at("event") == "overloaded");
    told += event.at("refused").get<int>();
  }
  CHECK(told == times + 2);
  CHECK(lines < times / 5);
}

TEST_CASE("beyond their share of time, refusals keep connections waiting for their turn, and a stop does not") {
  serve_options narrow;
  narrow.max_in_flight = 1;
  narrow.queue = 0;
  narrow.refusal_share = 0;
  narrow.max_unread = std::chrono::hours(1);
  serve_world world(narrow);
  auto running = world.caller();
  running.say(request_text("POST", "/v1/rank", {}, R"({"user_id":1,"plan":"slow","deadline_ms":86400000})"));
  CHECK(eventually([&] { return metric(world, "rankd_in_flight") == "1"; }));
  auto one = world.caller();
  const std::string request = request_text("POST", "/v1/rank", {}, R"({"user_id":1,"plan":"ten"})");
  one.say(request);
  CHECK(error_of(one.hear().value()) == "503 overloaded -");
  CHECK(eventually([&] { return metric(world, "rankd_unread_connections") == "1"; }));
  one.say(request);
  auto other = world.caller();
  other.say(request);  // a connection without a refusal is answered at once
  CHECK(error_of(other.hear().value()) == "503 overloaded -");
  CHECK(eventually([&] { return metric(world, "rankd_unread_connections") == "2"; }));
  CHECK(metric(world, "rankd_shed_total") == "2");
  world.server().begin_stop(std::chrono::hours(1));
  const heard_answer last = one.hear().value();
  CHECK(error_of(last) == "503 overloaded -");
  CHECK(last.field("Connection") == "close");
  CHECK(!other.hear());
  world.server().begin_stop(braid::duration::zero());
  world.server().wait();
}

TEST_CASE("a request whose turn does not come in time is late") {
  serve_options narrow;
  narrow.max_in_flight = 1;
  serve_world world(narrow);
  auto running = world.caller();
  running.say(request_text("POST", "/v1/rank", {}, R"({"user_id":1,"plan":"slow","deadline_ms":86400000})"));
  CHECK(eventually([&] { return metric(world, "rankd_in_flight") == "1"; }));
  CHECK(error_of(world.rank(R"({"user_id":1,"plan":"ten","deadline_ms":5})")) == "504 deadline_exceeded -");
  CHECK(metric(world, "rankd_queue_timeouts_total") == "1");
  CHECK(metric(world, "rankd_queue_length") == "0");
}

TEST_CASE("bodies that would take too much memory together are refused") {
  serve_options poor;
  poor.http.limits.body_bytes = 1000;
  poor.body_memory = 1000;
  serve_world world(poor);
  auto first = world.caller();
  first.say("POST /v1/rank HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n" + std::string(600, ' '));
  // The second is read behind what the first has sent, or before it; one of both is refused.
  auto second = world.caller();
  second.say("POST /v1/rank HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n" + std::string(600, ' '));
  const std::string refusals = R"(rankd_http_responses_total{endpoint="/v1/rank",status="503"})";
  CHECK(eventually([&] { return metric(world, refusals) == "1"; }));
  CHECK(world.rank(R"({"user_id":1,"plan":"ten"})").status == 200);
}

TEST_CASE("a body that came with its head counts among those in memory until its request is answered") {
  serve_options poor;
  poor.http.limits.body_bytes = 1000;
  poor.body_memory = 1000;
  serve_world world(poor);
  const auto padded = [](std::string body, std::size_t size) {
    body.resize(size, ' ');
    return body;
  };
  auto running = world.caller();
  const std::string slow = R"({"user_id":1,"plan":"slow","deadline_ms":86400000})";
  running.say(request_text("POST", "/v1/rank", {}, padded(slow, 700)));
  CHECK(eventually([&] { return metric(world, "rankd_in_flight") == "1"; }));
  const std::string ten = R"({"user_id":1,"plan":"ten"})";
  CHECK(error_of(world.rank(padded(ten, 301))).starts_with("503 overloaded"));
  CHECK(world.rank(padded(ten, 300)).status == 200);
}

TEST_CASE("a stop answers what was received, refuses to be ready, and then nobody listens") {
  for (const unsigned loops : {1U, 3U}) {
    serve_options several;
    several.loops = loops;
    serve_world world(several);
    CHECK(world.ask("GET", "/readyz").status == 200);
    auto idle = world.caller();
    idle.say(request_text("GET", "/healthz"));
    CHECK(idle.hear().value().status == 200);
    world.server().announce_stop();
    CHECK(error_of(world.ask("GET", "/readyz")) == "503 stopping -");
    CHECK(world.ask("GET", "/healthz").status == 200);
    CHECK(world.rank(R"({"user_id":1,"plan":"ten"})").status == 200);
    const auto address = world.server().address();
    world.server().begin_stop(std::chrono::seconds(20));
    world.server().wait();
    CHECK(!idle.hear());
    CHECK(!braid::testing::http_caller(address).connected());
  }
}

TEST_CASE("a second stop cuts what the first one waits for") {
  serve_world world;
  auto running = world.caller();
  running.say(request_text("POST", "/v1/rank", {}, R"({"user_id":1,"plan":"slow","deadline_ms":86400000})"));
  CHECK(eventually([&] { return metric(world, "rankd_in_flight") == "1"; }));
  world.server().begin_stop(std::chrono::hours(1));
  world.server().begin_stop(braid::duration::zero());
  world.server().wait();
  CHECK(!running.hear());
}

TEST_CASE("several loops answer at one port, which nobody else may have") {
  serve_options several;
  several.loops = 3;
  serve_world world(several);
  for (int i = 0; i < 20; ++i) CHECK(world.rank(R"({"user_id":1,"plan":"ten"})").status == 200);
  CHECK(metric(world, R"(rankd_requests_total{plan="ten",code="ok"})") == "20");
  const fixed_plans none({});
  serve_options taken = several;
  taken.listen = world.server().address();
  const auto second = rank_server::start({.declared = &rankd::testing::reference_project::get().declared,
                                          .stores = rankd::testing::reference_project::get().stores,
                                          .plans = &none},
                                         taken);
  CHECK(second.error().front().code == "cannot_listen");
}
