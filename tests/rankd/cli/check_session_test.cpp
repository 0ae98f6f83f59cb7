// tests/rankd/cli/check_session_test.cpp: messages about projects and artifacts, and their answers.
#include <rankd/cli/check_session.hpp>

#include <rankd/registry/digest.hpp>
#include <rankd/registry/file.hpp>
#include <tests/rankd/cli/project_copy.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using nlohmann::json;
using rankd::testing::project_copy;

namespace {

auto ask(check_session& session, const json& message) -> json { return json::parse(session.answer(message.dump())); }

/// A session with the reference project open.
struct open_project : project_copy {
  open_project() { REQUIRE(ask(session, {{"do", "open"}, {"project", path().string()}}).at("diagnostics").empty()); }

  check_session session;
};

auto reels() -> std::string { return read_text_file("plans/compiled/reels_plan_a.json").value(); }

auto codes_of(const json& diagnostics) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const json& each : diagnostics) out.push_back(each.at("code"));
  return out;
}

auto error_of(const json& answer) -> std::string { return answer.at("error").at(0).at("code"); }

using words = std::vector<std::string>;

}  // namespace

TEST_CASE("a right artifact has no diagnostics, its digest, and on request its only spelling") {
  open_project in;
  json answer = ask(in.session, {{"id", 7}, {"do", "plan"}, {"artifact", reels()}, {"name", "reels_plan_a"}});
  CHECK(answer.at("id") == 7);
  CHECK(answer.at("diagnostics").empty());
  CHECK(answer.at("warnings").empty());
  CHECK(answer.at("caches").empty());
  CHECK(answer.at("digest") == sha256_hex(reels()));
  CHECK_FALSE(answer.contains("artifact"));
  answer = ask(in.session, {{"do", "plan"}, {"artifact", reels()}, {"normalized", true}});
  CHECK(answer.at("id").is_null());
  CHECK(answer.at("artifact") == json::parse(reels()));
  const std::string one = in.session.answer(json{{"do", "plan"}, {"artifact", reels()}, {"normalized", true}}.dump());
  const std::string other =
      in.session.answer(json{{"do", "plan"}, {"artifact", json::parse(reels()).dump(4)}, {"normalized", true}}.dump());
  CHECK(one.substr(one.find("\"artifact\"")) == other.substr(other.find("\"artifact\"")));
}

TEST_CASE("a wrong artifact has all its diagnostics, with pointers, and no places at the end of sentences") {
  open_project in;
  json plan = json::parse(reels());
  plan["nodes"][0]["params"]["endpoint"] = "ep_0999";
  const json answer = ask(in.session, {{"do", "plan"}, {"artifact", plan.dump()}});
  CHECK(codes_of(answer.at("diagnostics")) == words{"unknown_endpoint"});
  CHECK(answer.at("diagnostics")[0].at("pointer") == "/nodes/0/params/endpoint");
  CHECK_FALSE(answer.contains("digest"));
  const json misnamed = ask(in.session, {{"do", "plan"}, {"artifact", reels()}, {"name", "other"}});
  CHECK(codes_of(misnamed.at("diagnostics")) == words{"name_mismatch"});
}

TEST_CASE("an artifact is read from a file, and its bytes need not be text") {
  open_project in;
  const std::string file = in.write("binary.json", "\xff\xfe");
  CHECK(codes_of(ask(in.session, {{"do", "plan"}, {"file", file}}).at("diagnostics")) == words{"invalid_utf8"});
  CHECK(error_of(ask(in.session, {{"do", "plan"}, {"file", file + ".gone"}})) == "unreadable_file");
}

TEST_CASE("the files of models that a plan calls are not read, and a comparison reads them") {
  open_project in;
  const json plan = json::parse(R"({"schema_version":1,"plan_name":"p","outputs":["m"],"nodes":[
    {"node_id":"s","op":"test::fixed_source","inputs":[]},
    {"node_id":"m","op":"core::call_models","inputs":["s"],"params":{"models":["gone"],"out_keys":[1001]}}]})");
  CHECK(ask(in.session, {{"do", "plan"}, {"artifact", plan.dump()}}).at("diagnostics").empty());
  const json side{{"artifact", plan.dump()}};
  const json answer = ask(in.session, {{"do", "diff"}, {"before", side}, {"after", side}});
  CHECK(codes_of(answer.at("before")) == words{"no_models"});
  CHECK_FALSE(answer.contains("comparison"));
}

TEST_CASE("the answer names what the rows in each cache depend on") {
  open_project in;
  const json plan = json::parse(R"({"schema_version":1,"plan_name":"p","outputs":["f"],
    "capabilities_required":["cap.rfc.0011.cache.v1"],"nodes":[
    {"node_id":"v","op":"core::viewer","inputs":[],"params":{"endpoint":"ep_0001"}},
    {"node_id":"f","op":"core::filter","inputs":["v"],"params":{"pred_id":"p"},"cache":{"ttl_ms":1000}}],
    "pred_table":{"p":{"op":"cmp","cmp":">=","a":{"op":"param_ref","param_id":1},"b":{"op":"const_number","value":0}}}})");
  const json answer = ask(in.session, {{"do", "plan"}, {"artifact", plan.dump()}});
  CHECK(answer.at("diagnostics").empty());
  REQUIRE(answer.at("caches").at("f").size() == 2);
  CHECK(answer.at("caches").at("f")[0] == "user");
  CHECK(answer.at("caches").at("f")[1].get<std::string>().starts_with("P."));
}

TEST_CASE("the artifact of tests is held to the rules of tests") {
  open_project in;
  const auto tests = [](const std::string& key) {
    return R"({"schema_version":1,"tests_of":"p","tests":[{"name":"a","request":{"user_id":1},"expect":[
      {"kind":"every","pred":{"op":"cmp","cmp":">=","a":{"op":"key_ref","key_id":)" +
           key + R"(},"b":{"op":"const_number","value":0}}}]}]})";
  };
  CHECK(ask(in.session, {{"do", "tests"}, {"artifact", tests("1001")}}).at("diagnostics").empty());
  const json wrong = ask(in.session, {{"do", "tests"}, {"artifact", tests("4242")}});
  CHECK(codes_of(wrong.at("diagnostics")) == words{"unknown_key"});
  CHECK(wrong.at("diagnostics")[0].at("pointer") == "/tests/0/expect/0/pred/a/key_id");
}

TEST_CASE("two artifacts are compared, as an object and as lines") {
  open_project in;
  json plan = json::parse(reels());
  plan["pred_table"]["p_cutoff"]["b"]["value"] = 0.5;
  const json before{{"file", (in.path() / "plans/compiled/reels_plan_a.json").string()}};
  json answer = ask(in.session, {{"do", "diff"}, {"before", before}, {"after", {{"artifact", plan.dump()}}}});
  CHECK(answer.at("comparison").at("equal") == false);
  CHECK(answer.at("lines").get<std::string>().starts_with("changed  "));
  answer = ask(in.session, {{"do", "diff"}, {"before", before}, {"after", before}});
  CHECK(answer.at("comparison").at("equal") == true);
  CHECK(answer.at("lines") == "");
}

TEST_CASE("a project that is wrong is answered with what is wrong, and no project is open then") {
  open_project in;
  const project_copy wrong;
  wrong.write("registry/keys.toml", "[[key]]\nkey_id = 0\n");
  const json answer = ask(in.session, {{"id", "a"}, {"do", "open"}, {"project", wrong.path().string()}});
  CHECK(answer.at("id") == "a");
  REQUIRE_FALSE(answer.at("diagnostics").empty());
  CHECK(answer.at("diagnostics")[0].at("source").get<std::string>().ends_with("registry/keys.toml"));
  CHECK(error_of(ask(in.session, {{"do", "plan"}, {"artifact", reels()}})) == "no_project");
  CHECK(ask(in.session, {{"do", "open"}, {"project", in.path().string()}}).at("diagnostics").empty());
  CHECK(ask(in.session, {{"do", "plan"}, {"artifact", reels()}}).at("diagnostics").empty());
}

TEST_CASE("a wrong message is answered by an error, with its id if it has one, and changes nothing") {
  open_project in;
  const std::string project = in.path().string();
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"", "json_syntax"},
      {"{", "json_syntax"},
      {"[]", "wrong_type"},
      {R"({"id":1})", "missing_field"},
      {R"({"do":"shut"})", "bad_value"},
      {R"({"do":"plan"})", "missing_field"},
      {R"({"do":"plan","artifact":"{}","file":"x"})", "missing_field"},
      {R"({"do":"plan","artifact":1})", "wrong_type"},
      {R"({"do":"plan","artifact":"{}","colour":1})", "unknown_field"},
      {R"({"do":"diff","before":{"artifact":"{}"}})", "missing_field"},
      {R"({"do":"diff","before":{},"after":{}})", "missing_field"},
      {R"({"id":{},"do":"plan","artifact":"{}"})", "wrong_type"},
      {R"({"id":")" + std::string(check_session::max_id + 1, 'x') + R"(","do":"plan","artifact":"{}"})", "wrong_type"},
      {R"({"do":"open"})", "missing_field"},
      {R"({"do":"open","project":")" + project + R"(","more":1})", "unknown_field"}};
  for (const auto& [message, code] : wrong) {
    CAPTURE(message);
    const std::string text = in.session.answer(message);
    CHECK(text.find('\n') == std::string::npos);
    const json answer = json::parse(text);
    CHECK(error_of(answer) == code);
    CHECK(answer.at("id") == (message == R"({"id":1})" ? json(1) : json(nullptr)));
  }
  CHECK(ask(in.session, {{"do", "plan"}, {"artifact", reels()}}).at("diagnostics").empty());
  CHECK(error_of(json::parse(check_session::answer_too_long(10))) == "message_too_long");
}

TEST_CASE("a list of diagnostics is bounded") {
  open_project in;
  json plan = json::parse(reels());
  plan["source_files"] = json::array();
  for (std::size_t at = 0; at < 2 * braid::diagnostics::max_items; ++at) plan["source_files"].push_back(at);
  const json answer = ask(in.session, {{"do", "plan"}, {"artifact", plan.dump()}});
  CHECK(answer.at("diagnostics").size() == braid::diagnostics::max_items);
}
