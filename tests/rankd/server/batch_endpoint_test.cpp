// tests/rankd/server/batch_endpoint_test.cpp: several requests in one call of POST /v1/rank/batch.
#include <rankd/server/rank_server.hpp>

#include <rankd/registry/file.hpp>
#include <rankd/server/files/line_file.hpp>
#include <tests/rankd/server/metrics.hpp>
#include <tests/rankd/server/serve_world.hpp>
#include <tests/support/scratch_folder.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::testing::heard_answer;
using nlohmann::json;
using rankd::testing::serve_world;
using rankd::testing::value_of;

namespace {

using texts = std::vector<std::string>;

auto batch_of(const texts& requests) -> std::string {
  std::string out;
  for (const std::string& each : requests) out += (out.empty() ? "" : ",") + each;
  return R"({"requests":[)" + out + "]}";
}

auto ask(serve_world& world, std::string_view body, std::string_view fields = {}) -> heard_answer {
  return world.ask("POST", "/v1/rank/batch", body, fields);
}

/// The code of each answer of a call, `ok` where it is none of an error.
auto codes(serve_world& world, const texts& requests, std::string_view fields = {}) -> texts {
  const heard_answer answer = ask(world, batch_of(requests), fields);
  REQUIRE(answer.status == 200);
  texts out;
  const json body = json::parse(answer.body);  // named: g++ 12 ends temporaries early
  for (const json& each : body.at("responses"))
    out.push_back(each.contains("error") ? each.at("error").at("code").get<std::string>() : "ok");
  return out;
}

/// "status code pointer" of a call that failed as a whole.
auto error_of(const heard_answer& answer) -> std::string {
  const json error = json::parse(answer.body).at("error");
  return std::to_string(answer.status) + " " + error.at("code").get<std::string>() + " " + error.value("pointer", "-");
}

auto has_line(serve_world& world, const std::string& line) -> bool {
  return ("\n" + world.ask("GET", "/metrics").body).find("\n" + line + "\n") != std::string::npos;
}

const std::string ten = R"({"user_id":1,"plan":"ten"})";
const std::string single = R"({"user_id":1,"plan":"single","deadline_ms":30})";
const std::string slow = R"({"user_id":1,"plan":"slow","deadline_ms":30})";

}  // namespace

TEST_CASE("the requests of a batch are answered in order, each with the bytes that it gets alone") {
  serve_world world;
  const texts requests{R"({"user_id":2,"plan":"reels_plan_a","request_id":"a"})",
                       R"({"user_id":})",
                       R"({"user_id":1,"plan":"nope"})",
                       R"({"user_id":1,"plan":"few"})",
                       R"({"user_id":1,"plan":"broken"})",
                       R"({"user_id":1,"plan":"fails"})",
                       R"({"user_id":0,"plan":"ten","request_id":"b"})",
                       R"({"plan":"reels_plan_a"})",
                       "7",
                       ten,
                       ten};
  std::string expected = R"({"responses":[)";
  for (const std::string& each : requests) {
    std::string one = world.rank(each).body;
    one.pop_back();
    expected += (expected.ends_with('[') ? "" : ",") + one;
  }
  const heard_answer answer = ask(world, batch_of(requests));
  CHECK(answer.status == 200);
  CHECK(answer.field("Content-Type") == "application/json");
  CHECK(answer.field("Retry-After").empty());
  CHECK(answer.body == expected + "]}\n");
  CHECK((codes(world, requests) == texts{"ok", "json_syntax", "unknown_plan", "row_budget_exceeded", "plan_left_out",
                                         "test_failure", "bad_user_id", "missing_field", "wrong_type", "ok", "ok"}));
  CHECK(ask(world, R"({"requests":[]})").body == "{\"responses\":[]}\n");
}

TEST_CASE("a call that is no batch is refused as a whole") {
  serve_options small;
  small.http.limits = {.head_bytes = 1024, .body_bytes = 200};
  small.max_batch = 3;
  serve_world world(small);
  CHECK(error_of(ask(world, "")) == "400 json_syntax -");
  CHECK(error_of(ask(world, "{}")) == "400 missing_field -");
  CHECK(error_of(ask(world, R"({"requests":1})")) == "400 wrong_type /requests");
  CHECK(error_of(ask(world, batch_of({"1", "2", "3", "4"}))) == "413 batch_too_large /requests");
  CHECK((codes(world, {"1", "2", "3"}) == texts{"wrong_type", "wrong_type", "wrong_type"}));
  CHECK(error_of(ask(world, std::string(201, ' '))) == "413 body_too_large -");
  CHECK(error_of(ask(world, batch_of({ten}), "Content-Type: text/plain\r\n")) == "415 unsupported_media_type -");
  CHECK(error_of(ask(world, batch_of({ten}), "X-Request-Id: \xff\r\n")) == "400 bad_request_id -");
  CHECK(error_of(world.ask("GET", "/v1/rank/batch")) == "405 method_not_allowed -");
  CHECK(json::parse(ask(world, "{}", "X-Request-Id: call\r\n").body).at("request_id") == "call");
}

TEST_CASE("the field X-Request-Id names those of a batch that do not name themselves") {
  serve_world world;
  const heard_answer answer =
      ask(world, batch_of({ten, R"({"user_id":1,"plan":"ten","request_id":"own"})", "{}"}), "X-Request-Id: call\r\n");
  CHECK(answer.field("X-Request-Id") == "call");
  texts ids;
  const json body = json::parse(answer.body);
  for (const json& each : body.at("responses")) ids.push_back(each.at("request_id"));
  CHECK((ids == texts{"call.0", "own", "call.2"}));
}

TEST_CASE("the requests of a batch are under way at the same time, and each counts for its plan, client and gate") {
  {
    serve_world world;
    CHECK((codes(world, {single, single, ten}) == texts{"deadline_exceeded", "plan_busy", "ok"}));
    CHECK((codes(world, {single, ten}) == texts{"deadline_exceeded", "ok"}));  // the place was given back
  }
  {
    serve_options narrow;
    narrow.max_in_flight = 1;
    narrow.queue = 0;
    serve_world world(narrow);
    CHECK((codes(world, {slow, ten}) == texts{"deadline_exceeded", "overloaded"}));
    CHECK((codes(world, {ten}) == texts{"ok"}));
    CHECK(has_line(world, "rankd_shed_total 1"));
  }
  serve_options guarded;
  guarded.tokens = value_of(token_list::parse("feed 0123456789abcdef", "tokens"));
  guarded.client_in_flight = 1;
  serve_world world(guarded);
  CHECK(error_of(ask(world, batch_of({ten}))) == "401 unauthorized -");
  const std::string token = "Authorization: Bearer 0123456789abcdef\r\n";
  CHECK((codes(world, {slow, ten}, token) == texts{"deadline_exceeded", "client_busy"}));
  CHECK((codes(world, {ten}, token) == texts{"ok"}));
}

TEST_CASE("a call has its metrics, and so has each of its requests") {
  serve_world world;
  CHECK((codes(world, {ten, ten, R"({"plan":"few"})"}) == texts{"ok", "ok", "row_budget_exceeded"}));
  CHECK(ask(world, "{}").status == 400);
  CHECK(has_line(world, R"(rankd_http_responses_total{endpoint="/v1/rank/batch",status="200"} 1)"));
  CHECK(has_line(world, R"(rankd_http_responses_total{endpoint="/v1/rank/batch",status="400"} 1)"));
  CHECK(has_line(world, R"(rankd_http_request_duration_seconds_count{endpoint="/v1/rank/batch"} 2)"));
  CHECK(has_line(world, "rankd_batch_requests_total 3"));
  CHECK(has_line(world, R"(rankd_requests_total{plan="ten",code="ok"} 2)"));
  CHECK(has_line(world, R"(rankd_requests_total{plan="few",code="row_budget_exceeded"} 1)"));
  CHECK(has_line(world, "rankd_admitted_total 3"));
}

TEST_CASE("the audit has a line for each request of a batch, and one for a call that failed") {
  const braid::testing::scratch_folder folder;
  {
    const auto audit = line_file::open(folder.path() / "audit").value();
    serve_world world({}, audit.get());
    codes(world, {R"({"user_id":1,"plan":"ten","request_id":"a"})", "nonsense"}, "X-Request-Id: call\r\n");
    ask(world, "{}", "X-Request-Id: call\r\n");
    world.end();
  }
  std::vector<json> all;
  const std::string text = read_text_file(folder.path() / "audit").value();
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    all.push_back(json::parse(text.substr(at, text.find('\n', at) - at)));
  REQUIRE(all.size() == 3);
  texts seen;
  for (const json& each : all)
    seen.push_back(each.at("request_id").get<std::string>() + " " + each.at("code").get<std::string>() + " " +
                   std::to_string(each.at("status").get<int>()));
  std::ranges::sort(seen);
  CHECK((seen == texts{"a ok 200", "call missing_field 400", "call.1 json_syntax 400"}));
}
