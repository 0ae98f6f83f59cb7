// tests/rankd/server/audit_line_test.cpp: a line of the audit has what it takes to ask again, but for what is redacted.
#include <rankd/server/sinks/audit_line.hpp>

#include <rankd/registry/file.hpp>
#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/server/serve_world.hpp>
#include <tests/support/scratch_folder.hpp>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using nlohmann::json;
using rankd::testing::reference_project;
using rankd::testing::serve_world;
using rankd::testing::value_of;

namespace {

auto declared() -> const registries& { return reference_project::get().declared; }

/// The answers to requests, and the lines that the audit of them has.
struct audited_answers {
  std::vector<json> answers;
  std::vector<json> lines;
};

auto ask_all(const std::vector<std::string>& requests, const std::vector<std::string>& redacted = {})
    -> audited_answers {
  audited_answers out;
  const braid::testing::scratch_folder folder;
  {
    const auto audit = line_file::open(folder.path() / "audit").value();
    serve_world world({}, audit.get(), {}, reference_project::get().stores, nullptr,
                      value_of(redaction::make(redacted, declared())));
    for (const std::string& each : requests) out.answers.push_back(json::parse(world.rank(each).body));
    world.end();
  }
  const std::string text = read_text_file(folder.path() / "audit").value();
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    out.lines.push_back(json::parse(text.substr(at, text.find('\n', at) - at)));
  return out;
}

/// An answer without what only its bytes decide, and without times.
auto comparable(json answer) -> json {
  answer.erase("engine_request_id");
  if (answer.contains("explain")) answer["explain"] = answer["explain"].value("ids", json::array()).size();
  return answer;
}

}  // namespace

TEST_CASE("a record is a line of JSON without what is not known") {
  request_record record;
  CHECK(json::parse(audit_line(record)) ==
        json::parse(
            R"({"time":"1970-01-01T00:00:00.000000Z","status":0,"code":"unanswered","duration_us":0,"candidates":0})"));
  record.request_id = "r";
  record.trace = braid::trace_context{.trace_id = {1, 2}, .span_id = 3};
  record.client = "feed";
  record.user_id = 7;
  record.plan = "p";
  record.plan_digest = "d";
  record.status = braid::http_status::ok;
  record.code = "ok";
  record.took = std::chrono::microseconds(1500);
  record.candidates = 3;
  CHECK(json::parse(audit_line(record)) == json::parse(R"({"time":"1970-01-01T00:00:00.000000Z","request_id":"r",
                        "trace_id":"00000000000000010000000000000002","client":"feed","user_id":7,"plan":"p",
                        "plan_digest":"d","status":200,"code":"ok","duration_us":1500,"candidates":3})"));
}

TEST_CASE("the request that a line has gets the same answer when it is asked again") {
  const std::vector<std::string> requests{
      R"({"user_id":1,"plan":"reels_plan_a"})",
      R"({"user_id":"2","plan":"reels_plan_a","request_id":"a \"b\"","output_keys":["final_score","country"]})",
      R"({"user_id":1,"plan":"reels_plan_a","output_keys":[],"deadline_ms":60000})",
      R"({"user_id":1,"plan":"reels_plan_a","param_overrides":{"media_age_penalty_weight":0.35,"blocklist_regex":null}})",
      R"({"user_id":1,"plan":"concat_plan","explain":{"ids":[3,"-9223372036854775808"]}})",
      R"({"user_id":1,"plan":"concat_plan","explain":true})",
      R"({"user_id":1,"plan":"nope"})",
  };
  const audited_answers first = ask_all(requests);
  REQUIRE(first.lines.size() == requests.size());
  std::vector<std::string> again;
  for (const json& each : first.lines) again.push_back(each.at("request").dump());
  const audited_answers second = ask_all(again);
  for (std::size_t at = 0; at < requests.size(); ++at) {
    CAPTURE(requests[at]);
    CHECK(comparable(second.answers[at]) == comparable(first.answers[at]));
    CHECK(second.lines[at].at("request") == first.lines[at].at("request"));
    CHECK(first.lines[at].value("engine_request_id", "") ==
          first.answers[at].value("engine_request_id", first.lines[at].value("engine_request_id", "")));
    CHECK_FALSE(first.lines[at].contains("redacted"));
  }
  CHECK(first.lines[3].at("request").at("param_overrides") ==
        json::parse(R"({"media_age_penalty_weight":0.35,"blocklist_regex":null})"));
  CHECK_FALSE(first.lines[0].at("request").contains("deadline_ms"));  // the client has named none
}

TEST_CASE("names that are redacted have no value anywhere in a line, which lists those that it would have") {
  const std::vector<std::string> redacted{"user_id", "request_id", "media_age_penalty_weight", "client"};
  const audited_answers asked =
      ask_all({R"({"user_id":7070707070,"plan":"reels_plan_a","request_id":"secret","param_overrides":)"
               R"({"media_age_penalty_weight":0.12345,"blocklist_regex":"x"}})",
               R"({"user_id":7070707070)"},
              redacted);
  REQUIRE(asked.lines.size() == 2);
  for (const json& each : asked.lines)
    for (const char* value : {"7070707070", "secret", "0.12345"}) CHECK(each.dump().find(value) == std::string::npos);
  CHECK(asked.lines[0].at("redacted") == json::parse(R"(["request_id","user_id","media_age_penalty_weight"])"));
  CHECK(asked.lines[0].at("request") ==
        json::parse(R"({"plan":"reels_plan_a","param_overrides":{"blocklist_regex":"x"}})"));
  CHECK(asked.lines[1].at("code") == "json_syntax");
  CHECK_FALSE(asked.lines[1].contains("request"));
}

TEST_CASE("rows that a request carries are counted in its line, and not repeated") {
  const auto request =
      value_of(parse_request(R"({"plan":"p","request_id":"r","candidates":{"id":[1,2,3]}})", declared()));
  request_record record;
  record.asked = audited(request, declared(), {});
  const json line = json::parse(audit_line(record));
  CHECK(line.at("request_candidates") == 3);
  CHECK(line.at("request") == json::parse(R"({"plan":"p","request_id":"r"})"));
}

TEST_CASE("only names that an audit could have are redacted") {
  const auto refused = redaction::make({"user_id", "media_age_penalty_weigth"}, declared());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().size() == 1);
  CHECK(refused.error().front().code == "unknown_name");
  CHECK(refused.error().front().pointer == "/audit/redact/1");
  CHECK(refused.error().front().hint == "did you mean `media_age_penalty_weight`?");
  CHECK_FALSE(redaction().hides("user_id"));
}

TEST_CASE("a line has the context of a request, but for what is redacted") {
  const registries& known = rankd::testing::op_world();
  const std::string text =
      R"({"plan":"p","request_id":"r","context":{"device":"tv","hour":9},"param_overrides":{"weight":2}})";
  const rank_request request = value_of(parse_request(text, known));
  const auto line = [&](std::vector<std::string> names) {
    const redaction hidden = value_of(redaction::make(std::move(names), known));
    const audited_request made = audited(request, known, hidden);
    return std::pair(json::parse(made.json), made.redacted);
  };
  using names = std::vector<std::string>;
  CHECK(line({}) == std::pair(json::parse(text), names{}));
  const auto [without_one, one] = line({"device"});
  CHECK(without_one.at("context") == json::parse(R"({"hour":9})"));
  CHECK(one == names{"device"});
  const auto [without, all] = line({"context"});
  CHECK_FALSE(without.contains("context"));
  CHECK(without.contains("param_overrides"));
  CHECK(all == names{"context"});
  const audited_request again = audited(value_of(parse_request(line({}).first.dump(), known)), known, {});
  CHECK(json::parse(again.json) == json::parse(text));
}

TEST_CASE("a line has the time that the clock gave, so that it can be asked again") {
  const registries known = rankd::testing::registries_of(
      "[[key]]\nkey_id = 1\nname = \"id\"\ntype = \"int\"\nnullable = false\nallow_write = false\n",
      "[[param]]\nparam_id = 1\nname = \"now\"\ntype = \"int\"\nnullable = false\nsource = \"context\"\nclock = "
      "\"milliseconds\"\n",
      "");
  const rank_request request = value_of(parse_request(R"({"plan":"p","request_id":"r"})", known));
  const json line = json::parse(audited(request, known, {}).json);
  CHECK(line.at("context").at("now") == std::get<std::int64_t>(request.params[0]));
  const rank_request again = value_of(parse_request(line.dump(), known));
  CHECK(again.params == request.params);
  CHECK(json::parse(audited(again, known, {}).json) == line);
}
