// tests/rankd/server/bad_weather_test.cpp: bodies that are wrong in every way; each gets its answer, and the server
// goes on.
#include <rankd/server/rank_server.hpp>

#include <tests/rankd/server/serve_world.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::testing::heard_answer;
using nlohmann::json;
using rankd::testing::serve_world;

namespace {

struct bad_body {
  std::string body;
  std::string expected;  ///< "status code pointer", or "200"
};

auto with_user(const std::string& user) -> std::string {
  return R"({"request_id":"me","plan":"ten","user_id":)" + user + "}";
}
auto with(const std::string& member) -> std::string {
  return R"({"request_id":"me","plan":"ten","user_id":1,)" + member + "}";
}
auto overriding(const std::string& value) -> std::string {
  return with(R"("param_overrides":{"media_age_penalty_weight":)" + value + "}");
}
auto nested(std::size_t depth) -> std::string { return std::string(depth, '[') + std::string(depth, ']'); }

auto spelled(const heard_answer& answer) -> std::string {
  if (answer.status == 200) return "200";
  const json body = json::parse(answer.body);
  const json& error = body.at("error");
  CHECK(!error.at("message").get<std::string>().empty());
  return std::to_string(answer.status) + " " + error.at("code").get<std::string>() + " " + error.value("pointer", "-");
}

auto ids() -> std::vector<bad_body> {
  const std::string bad = "400 bad_user_id /user_id";
  return {{with_user("1"), "200"},
          {with_user("0"), bad},
          {with_user("-1"), bad},
          {with_user("-0"), bad},
          {with_user("9223372036854775807"), "200"},
          {with_user("9223372036854775808"), bad},
          {with_user("18446744073709551615"), bad},
          {with_user("18446744073709551616"), "400 bad_user_id /user_id"},
          {with_user(R"("1")"), "200"},
          {with_user(R"("007")"), "200"},
          {with_user(R"("9223372036854775807")"), "200"},
          {with_user(R"("9223372036854775808")"), bad},
          {with_user(R"("0")"), bad},
          {with_user(R"("-1")"), bad},
          {with_user(R"("+1")"), bad},
          {with_user(R"(" 1")"), bad},
          {with_user(R"("1 ")"), bad},
          {with_user(R"("1.0")"), bad},
          {with_user(R"("0x10")"), bad},
          {with_user(R"("")"), bad},
          {with_user(R"("\u0661")"), bad},
          {with_user("1.0"), bad},
          {with_user("1e3"), bad},
          {with_user("1e400"), "400 number_out_of_range /user_id"},
          {with_user("007"), "400 json_syntax -"},
          {with_user("+1"), "400 json_syntax -"},
          {with_user("NaN"), bad},
          {with_user("true"), bad},
          {with_user("null"), bad},
          {with_user("[1]"), bad},
          {with_user("{}"), bad}};
}

auto fields() -> std::vector<bad_body> {
  const std::string weight = "/param_overrides/media_age_penalty_weight";
  return {{with(R"("what":1)"), "400 unknown_field /what"},
          {with(R"("a/b~":1)"), "400 unknown_field /a~1b~0"},
          {R"({"user_id":1})", "400 missing_field /plan"},
          {with(R"("candidates":[{"id":1.5}])"), "400 bad_id /candidates/0/id"},
          {with(R"("candidates":[{"id":1}])"), "400 unknown_field /candidates"},
          {R"({"request_id":7,"plan":"ten","user_id":1})", "400 wrong_type /request_id"},
          {R"({"request_id":null,"plan":"ten","user_id":1})", "400 wrong_type /request_id"},
          {R"({"plan":7,"user_id":1})", "400 wrong_type /plan"},
          {R"({"plan":"","user_id":1})", "400 missing_field /plan"},
          {with(R"("deadline_ms":0)"), "400 out_of_range /deadline_ms"},
          {with(R"("deadline_ms":-1)"), "400 out_of_range /deadline_ms"},
          {with(R"("deadline_ms":1.5)"), "400 wrong_type /deadline_ms"},
          {with(R"("deadline_ms":"5")"), "400 wrong_type /deadline_ms"},
          {with(R"("deadline_ms":86400001)"), "400 out_of_range /deadline_ms"},
          {with(R"("explain":1)"), "400 wrong_type /explain"},
          {with(R"("explain":"true")"), "400 wrong_type /explain"},
          {with(R"("output_keys":"id")"), "400 wrong_type /output_keys"},
          {with(R"("output_keys":[1])"), "400 wrong_type /output_keys/0"},
          {with(R"("output_keys":["nope"])"), "400 unknown_key /output_keys/0"},
          {with(R"("output_keys":["country","country"])"), "400 duplicate_value /output_keys/1"},
          {with(R"("param_overrides":[])"), "400 wrong_type /param_overrides"},
          {with(R"("param_overrides":{"nope":1})"), "400 unknown_param /param_overrides/nope"},
          {overriding("0.5"), "200"},
          {overriding("1"), "200"},
          {overriding(R"("1")"), "400 wrong_type " + weight},
          {overriding("true"), "400 wrong_type " + weight},
          {overriding("[]"), "400 wrong_type " + weight},
          {overriding("{}"), "400 wrong_type " + weight},
          {overriding("null"), "400 null_param " + weight},
          {overriding("1e400"), "400 number_out_of_range " + weight},
          {overriding("-1e400"), "400 number_out_of_range " + weight},
          {overriding("Infinity"), "400 json_syntax -"}};
}

auto texts() -> std::vector<bad_body> {
  return {{"", "400 json_syntax -"},
          {" ", "400 json_syntax -"},
          {"{", "400 json_syntax -"},
          {R"({"request_id":"me","user_id":1)", "400 json_syntax -"},
          {R"({"request_id":"me","user_id":1,)", "400 json_syntax -"},
          {R"({"request_id":"me","user_id":1}})", "400 json_syntax -"},
          {R"({"request_id":"me","user_id":1} {})", "400 json_syntax -"},
          {std::string("{\"user_id\":1}\0", 14), "400 json_syntax -"},
          {"null", "400 wrong_type -"},
          {"[]", "400 wrong_type -"},
          {"\"text\"", "400 wrong_type -"},
          {"1", "400 wrong_type -"},
          {with_user("1,\"user_id\":2"), "400 duplicate_field /user_id"},
          {with(R"("param_overrides":{"a":1,"a":2})"), "400 duplicate_field /param_overrides/a"},
          {with("\"\xff\":1"), "400 invalid_utf8 -"},
          {with("\"x\":\"\xc0\x80\""), "400 invalid_utf8 -"},
          {with("\"x\":\"\xed\xa0\x80\""), "400 invalid_utf8 -"},
          {with(R"("x":"\ud800")"), "400 json_syntax -"},
          {with("\"x\":\"\x01\""), "400 json_syntax -"},
          {"\xEF\xBB\xBF{\"user_id\":1}", "400 json_syntax -"},
          {with("\"explain\":" + nested(2000)), "400 json_too_deep -"},
          {with("\"explain\":" + nested(300'000)), "400 json_too_deep -"},
          {std::string(300'000, '['), "400 json_too_deep -"},
          {with("\"x\":\"" + std::string(900'000, 'x') + "\""), "400 unknown_field /x"},
          {std::string(1024 * 1024, ' '), "400 json_syntax -"},
          {std::string(1024 * 1024 + 1, ' '), "413 body_too_large -"},
          {std::string(2 * 1024 * 1024, ' '), "413 body_too_large -"}};
}

}  // namespace

TEST_CASE(
    "every wrong body gets its status, code and place, its own id where it can be read, and nobody else suffers") {
  serve_world world;
  std::vector<bad_body> all = ids();
  for (const auto& more : {fields(), texts()}) all.insert(all.end(), more.begin(), more.end());
  CHECK(all.size() >= 80);
  for (const bad_body& each : all) {
    const heard_answer answer = world.rank(each.body);
    const std::string shown = each.body.substr(0, 100);
    CHECK_MESSAGE(spelled(answer) == each.expected, shown << "\n" << answer.body.substr(0, 300));
    const json body = json::parse(answer.body);
    if (each.body.starts_with(R"({"request_id":"me",)"))
      CHECK_MESSAGE(body.at("request_id") == "me", shown);
    else if (answer.status == 400)
      CHECK_MESSAGE(body.contains("request_id"), shown);
    const heard_answer next = world.rank(with_user("1"));
    CHECK(next.status == 200);
    CHECK(json::parse(next.body).at("candidates").size() == 10);
  }
}

TEST_CASE("a body that comes in pieces, cut anywhere, is read as one") {
  serve_world world;
  const std::string text = braid::testing::request_text("POST", "/v1/rank", {}, with(R"("output_keys":["country"])"));
  for (std::size_t cut = 1; cut < text.size(); cut += 7) {
    auto one = world.caller();
    one.say(text.substr(0, cut));
    one.say(text.substr(cut));
    CHECK(one.hear().value().status == 200);
  }
}
