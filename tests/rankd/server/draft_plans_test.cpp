// tests/rankd/server/draft_plans_test.cpp: sources and drafts of plans over HTTP, by way of a compiler.
#include <rankd/server/studio/draft_plans.hpp>

#include <rankd/server/studio/page.hpp>
#include <tests/rankd/server/studio_world.hpp>

#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;
using nlohmann::json;

namespace {

constexpr std::string_view draft = "/v1/plans/reels_plan_a/draft";
constexpr std::string_view with_draft = "/v1/plans/reels_plan_a/diff/answers?with_draft=1";

auto code_of(const braid::testing::heard_answer& answer) -> std::string {
  return json::parse(answer.body).at("error").at("code");
}

}  // namespace

TEST_CASE("questions go to the compiler as they were asked, and its answers come back") {
  studio_world world;
  CHECK(world.ask_json("GET", "/v1/plans/a/source").at("asked") == json::parse(R"({"do":"source","plan":"a"})"));
  CHECK(world.ask_json("POST", "/v1/plans/a/source", R"({"text":"t \"\n","digest":"d"})").at("asked") ==
        json::parse(R"({"do":"save","plan":"a","text":"t \"\n","digest":"d"})"));
  CHECK(world.ask_json("POST", "/v1/plans/a/completions", R"({"text":"Key.","offset":4})").at("asked") ==
        json::parse(R"({"do":"complete","plan":"a","text":"Key.","offset":4})"));
  CHECK(world.ask_json("POST", "/v1/plans/a/option", R"({"text":"x: 2","from":3,"to":4,"kind":"number","value":"4"})")
            .at("asked") ==
        json::parse(R"({"do":"edit","plan":"a","text":"x: 2","from":3,"to":4,"kind":"number","value":"4"})"));
}

TEST_CASE("a draft that compiles is a plan to compare with, and no request can name it") {
  studio_world world;
  CHECK(code_of(world.ask("POST", with_draft, R"({"user_id":1})")) == "no_draft");
  const json made = world.ask_json("POST", draft, R"({"text":"x"})");
  CHECK(made.at("diagnostics").empty());
  CHECK(made.at("plan").at("nodes").size() > 3);
  const json found = world.ask_json("POST", with_draft, R"({"user_id":1})");
  CHECK(found.at("after").at("digest") == made.at("plan").at("digest"));
  CHECK(found.at("moves").at(0).at("node") == "cutoff");
  CHECK(world.ask_json("GET", "/v1/plans/reels_plan_a/diff?with_draft=1").at("changes").size() == 1);
  CHECK(world.ask_lines("/v1/plans/reels_plan_a/diff/traffic?with_draft=1").back().at("traffic").at("requests") == 6);
  const json served = world.ask_json("POST", "/v1/rank", R"({"user_id":1,"plan":"reels_plan_a"})");
  CHECK(served.at("candidates") == found.at("before").at("answer").at("candidates"));
}

TEST_CASE("a text that does not compile has diagnostics, and the draft of before is gone") {
  studio_world world;
  CHECK_FALSE(world.ask_json("POST", draft, R"({"text":"x"})").at("plan").is_null());
  const json wrong = world.ask_json("POST", draft, R"({"text":"wrong"})");
  CHECK(wrong.at("plan").is_null());
  CHECK(wrong.at("diagnostics").at(0).at("code") == "type_error");
  CHECK(code_of(world.ask("POST", with_draft, R"({"user_id":1})")) == "no_draft");
}

TEST_CASE("what the compiler says of options is a part of the answer") {
  studio_world world;
  CHECK(world.ask_json("POST", draft, R"({"text":"x"})").at("options") == json::parse(R"([{"node":"n"}])"));
  CHECK(world.ask_json("POST", draft, R"({"text":"wrong"})").at("options") == json::array());
}

TEST_CASE("an artifact that was made elsewhere is a draft as if its text had been compiled here") {
  studio_world world;
  const auto body = [](const std::string& artifact) { return json{{"artifact", artifact}}.dump(); };
  const json compiled = world.ask_json("POST", draft, R"({"text":"x"})");
  world.ask_json("POST", draft, R"({"text":"wrong"})");
  const json taken = world.ask_json("POST", draft, body(reels_artifact(1)));
  CHECK(taken.at("plan") == compiled.at("plan"));
  CHECK(taken.at("diagnostics").empty());
  CHECK(world.ask_json("POST", with_draft, R"({"user_id":1})").at("after").at("digest") ==
        compiled.at("plan").at("digest"));
  const json refused = world.ask_json("POST", draft, body("{}"));
  CHECK(refused.at("plan").is_null());
  CHECK(refused.at("diagnostics").at(0).at("code") == "missing_field");
  CHECK(code_of(world.ask("POST", with_draft, R"({"user_id":1})")) == "no_draft");
}

TEST_CASE("the compiler for browsers is there once a client that may edit has asked for a project") {
  studio_world world({}, studio_world::clients::with_tokens);
  const auto script = [&world] { return world.ask("GET", "/ui/compiler.js"); };
  CHECK(code_of(script()) == "no_compiler");
  CHECK(code_of(world.ask("GET", "/v1/plans/a/project", {}, other_client)) == "edit_forbidden");
  CHECK(world.ask("GET", "/v1/plans/a/project", {}).status == 401);
  CHECK(script().status == 404);
  const json first = json::parse(world.ask("GET", "/v1/plans/a/project", {}, editor).body);
  CHECK(first == json::parse(R"({"file":"p","root":"/","standard":"/","files":{"/a":"b"}})"));
  const auto answer = script();
  CHECK(answer.body == "let a;");
  CHECK(answer.field("Content-Type") == "text/javascript; charset=utf-8");
  CHECK(answer.field("Content-Security-Policy") == compiler_policy);
  CHECK(answer.field("X-Content-Type-Options") == "nosniff");
  // It is kept: the next project comes without it.
  CHECK(json::parse(world.ask("GET", "/v1/plans/b/project", {}, editor).body) ==
        json::parse(R"({"asked":{"do":"project","plan":"b","script":false}})"));
  CHECK(script().body == "let a;");
  world.forget_drafts();
  CHECK(script().status == 404);
}

TEST_CASE("a worker that compiles plans may reach nothing") {
  CHECK(compiler_policy.starts_with("default-src 'none'; script-src 'wasm-unsafe-eval';"));
  for (const char* never : {"connect-src", "'self'", "'unsafe", "http:", "https:", "data:", "blob:", "*"})
    CHECK_MESSAGE(compiler_policy.find(never) == std::string_view::npos, never);
}

TEST_CASE("what the engine refuses of an artifact is a diagnostic without a place") {
  studio_world world;
  world.will_compile("{}");
  const json refused = world.ask_json("POST", draft, R"({"text":"x"})");
  CHECK(refused.at("plan").is_null());
  CHECK(refused.at("diagnostics").at(0).at("code") == "missing_field");
  CHECK(refused.at("diagnostics").at(0).at("place").is_null());
}

TEST_CASE("errors of the compiler have a status, and one that ended is started again") {
  studio_world world;
  const auto status = [&](const std::string& plan) { return world.ask("GET", "/v1/plans/" + plan + "/source").status; };
  CHECK(status("none") == 404);
  CHECK(status("stale") == 409);
  CHECK(status("bad") == 422);
  CHECK(status("nonsense") == 502);
  CHECK(status("dead") == 502);
  CHECK(status("a") == 200);
  CHECK(code_of(world.ask("GET", "/v1/plans/dead/source")) == "compiler_failed");
}

TEST_CASE("bodies that are no edits are refused") {
  studio_world world;
  for (const char* wrong : {"", "[]", "{}", R"({"text":1})", R"({"text":"a","more":1})"})
    CHECK_MESSAGE(world.ask("POST", draft, wrong).status == 400, wrong);
  CHECK(world.ask("POST", "/v1/plans/a/source", R"({"text":"a"})").status == 400);
  for (const char* wrong : {R"({"text":"ab"})", R"({"text":"ab","offset":3})", R"({"text":"ab","offset":-1})"})
    CHECK_MESSAGE(world.ask("POST", "/v1/plans/a/completions", wrong).status == 400, wrong);
  for (const char* wrong : {R"({"text":"a","artifact":"b"})", R"({"artifact":1})"})
    CHECK_MESSAGE(world.ask("POST", draft, wrong).status == 400, wrong);
  for (const char* wrong :
       {R"({"text":"ab","from":0,"to":3,"kind":"number","value":"1"})",
        R"({"text":"ab","from":-1,"to":1,"kind":"number","value":"1"})", R"({"text":"ab","from":0,"to":1,"value":"1"})",
        R"({"text":"ab","from":0,"to":1,"kind":"number"})"})
    CHECK_MESSAGE(world.ask("POST", "/v1/plans/a/option", wrong).status == 400, wrong);
}

TEST_CASE("sources are for clients with the right to edit, and for no others") {
  studio_world world({}, studio_world::clients::with_tokens);
  for (const char* path :
       {"/v1/plans/a/source", "/v1/plans/a/draft", "/v1/plans/a/completions", "/v1/plans/a/option"}) {
    CHECK_MESSAGE(code_of(world.ask("POST", path, "{}", other_client)) == "edit_forbidden", path);
    CHECK_MESSAGE(world.ask("POST", path, "{}").status == 401, path);
    CHECK_MESSAGE(world.ask("POST", path, "{}", editor).status == 400, path);
  }
  CHECK(code_of(world.ask("POST", with_draft, R"({"user_id":1})", other_client)) == "edit_forbidden");
  serve_options page;
  page.shows_page = true;
  serve_world without(page);
  auto one = without.caller();
  one.say("GET /v1/plans/ten/source HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(one.hear().value().status == 404);
}
