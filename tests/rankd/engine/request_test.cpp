// tests/rankd/engine/request_test.cpp: requests that are right, and a table of everything that can be wrong with one.
#include <rankd/engine/request.hpp>

#include <tests/rankd/op/op_world.hpp>

#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using rankd::testing::lines;
using rankd::testing::op_world;

namespace {

auto complaints(std::string_view text) -> lines {
  const auto read = parse_request(text, op_world());
  return read ? lines() : testing::list(read.error());
}

auto read(std::string_view text) -> rank_request {
  auto request = parse_request(text, op_world());
  if (!request) throw std::runtime_error(request.error().to_text());
  return std::move(*request);
}

struct wrong_request {
  std::string text;
  lines expected;
};

/// Wrong in one field beside a user_id that is right.
auto with(const std::string& field) -> std::string { return R"({"user_id":1,)" + field + "}"; }

auto nested(std::size_t depth) -> std::string {
  return with(R"("explain":)" + std::string(depth, '[') + std::string(depth, ']'));
}

void check(const std::vector<wrong_request>& table) {
  for (const wrong_request& each : table) {
    CAPTURE(each.text.substr(0, 120));
    const lines found = complaints(each.text);
    CHECK((found == each.expected));
    if (found != each.expected && !found.empty()) MESSAGE(found.front());
  }
}

}  // namespace

TEST_CASE("text that is no request at all is refused") {
  using namespace std::string_literals;
  check({
      {"", {"json_syntax "}},
      {" \n", {"json_syntax "}},
      {"{", {"json_syntax "}},
      {R"({"user_id":1)", {"json_syntax "}},
      {R"({"user_id":1}})", {"json_syntax "}},
      {R"({"user_id":1} {"user_id":2})", {"json_syntax "}},
      {R"({'user_id':1})", {"json_syntax "}},
      {R"({"user_id":1,})", {"json_syntax "}},
      {R"({"user_id":01})", {"json_syntax "}},
      {R"({"user_id":NaN})", {"json_syntax "}},
      {R"({"user_id":1} // why)", {"json_syntax "}},
      {"{\"user_id\":1}\0"s, {"json_syntax "}},
      {"{\"user_id\":1,\"request_id\":\"\xff\"}", {"invalid_utf8 "}},
      {"{\"user_id\":1,\"request_id\":\"\xed\xa0\x80\"}", {"invalid_utf8 "}},
      {"\xff\xfe{\"user_id\":1}", {"invalid_utf8 "}},
      {R"({"user_id":1,"request_id":"\ud800"})", {"json_syntax "}},
      {"null", {"wrong_type "}},
      {"7", {"wrong_type "}},
      {R"("user 1")", {"wrong_type "}},
      {"[]", {"wrong_type "}},
      {R"([{"user_id":1}])", {"wrong_type "}},
      {nested(2000), {"json_too_deep "}},
      {nested(300'000), {"json_too_deep "}},
      {std::string(300'000, '['), {"json_too_deep "}},
      {R"({"user_id":1,"user_id":2})", {"duplicate_field /user_id"}},
      {with(R"("param_overrides":{"weight":1,"weight":1})"), {"duplicate_field /param_overrides/weight"}},
  });
}

TEST_CASE("a user_id is an integer from 1 to 2^63-1 or its digits; everything else is refused") {
  const std::string bad = "bad_user_id /user_id";
  check({
      {"{}", {"missing_field "}},
      {R"({"user_id":0})", {bad}},
      {R"({"user_id":-1})", {bad}},
      {R"({"user_id":9223372036854775808})", {bad}},
      {R"({"user_id":18446744073709551615})", {bad}},
      {R"({"user_id":18446744073709551616})", {"number_out_of_range /user_id"}},
      {R"({"user_id":-9223372036854775808})", {bad}},
      {R"({"user_id":1e400})", {"number_out_of_range /user_id"}},
      {R"({"user_id":1.0})", {bad}},
      {R"({"user_id":1.5})", {bad}},
      {R"({"user_id":1e0})", {bad}},
      {R"({"user_id":null})", {bad}},
      {R"({"user_id":true})", {bad}},
      {R"({"user_id":[1]})", {bad}},
      {R"({"user_id":{}})", {bad}},
      {R"({"user_id":""})", {bad}},
      {R"({"user_id":"abc"})", {bad}},
      {R"({"user_id":"0"})", {bad}},
      {R"({"user_id":"-1"})", {bad}},
      {R"({"user_id":"+1"})", {bad}},
      {R"({"user_id":" 1"})", {bad}},
      {R"({"user_id":"1 "})", {bad}},
      {R"({"user_id":"1.0"})", {bad}},
      {R"({"user_id":"1e3"})", {bad}},
      {R"({"user_id":"0x10"})", {bad}},
      {R"({"user_id":"1\u0000"})", {bad}},
      {R"({"user_id":"\uff11"})", {bad}},
      {R"({"user_id":"9223372036854775808"})", {bad}},
  });
  CHECK(read(R"({"user_id":1})").user_id == 1);
  CHECK(read(R"({"user_id":"42"})").user_id == 42);
  CHECK(read(R"({"user_id":"007"})").user_id == 7);
  CHECK(read(R"({"user_id":9223372036854775807})").user_id == std::numeric_limits<std::int64_t>::max());
  CHECK(read(R"({"user_id":"9223372036854775807"})").user_id == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("fields of the wrong type or out of their range, and unknown ones, are refused") {
  check({
      {with(R"("request_id":7)"), {"wrong_type /request_id"}},
      {with(R"("request_id":null)"), {"wrong_type /request_id"}},
      {with(R"("request_id":["r"])"), {"wrong_type /request_id"}},
      {with(R"("plan":1)"), {"wrong_type /plan"}},
      {with(R"("plan":null)"), {"wrong_type /plan"}},
      {with(R"("deadline_ms":0)"), {"out_of_range /deadline_ms"}},
      {with(R"("deadline_ms":-5)"), {"out_of_range /deadline_ms"}},
      {with(R"("deadline_ms":86400001)"), {"out_of_range /deadline_ms"}},
      {with(R"("deadline_ms":18446744073709551615)"), {"out_of_range /deadline_ms"}},
      {with(R"("deadline_ms":1.5)"), {"wrong_type /deadline_ms"}},
      {with(R"("deadline_ms":"50")"), {"wrong_type /deadline_ms"}},
      {with(R"("deadline_ms":1e400)"), {"number_out_of_range /deadline_ms"}},
      {with(R"("explain":1)"), {"wrong_type /explain"}},
      {with(R"("explain":"yes")"), {"wrong_type /explain"}},
      {nested(900), {"wrong_type /explain"}},
      {with(R"("userid":1)"), {"unknown_field /userid"}},
      {with(R"("":1)"), {"unknown_field /"}},
      {with(R"("a/b~c":1)"), {"unknown_field /a~1b~0c"}},
      {with(R"("engine_request_id":"e")"), {"unknown_field /engine_request_id"}},
  });
}

TEST_CASE("overrides are declared, active, writable, of the right type and finite") {
  const auto overrides = [](const std::string& inside) { return with(R"("param_overrides":{)" + inside + "}"); };
  const std::string at = " /param_overrides/";
  check({
      {with(R"("param_overrides":[])"), {"wrong_type /param_overrides"}},
      {with(R"("param_overrides":null)"), {"wrong_type /param_overrides"}},
      {overrides(R"("wieght":1)"), {"unknown_param" + at + "wieght"}},
      {overrides(R"("a/b":1)"), {"unknown_param" + at + "a~1b"}},
      {overrides(R"("old_param":1)"), {"blocked_param" + at + "old_param"}},
      {overrides(R"("fixed_param":1)"), {"unwritable_param" + at + "fixed_param"}},
      {overrides(R"("weight":null)"), {"null_param" + at + "weight"}},
      {overrides(R"("weight":"1")"), {"wrong_type" + at + "weight"}},
      {overrides(R"("weight":true)"), {"wrong_type" + at + "weight"}},
      {overrides(R"("weight":[1])"), {"wrong_type" + at + "weight"}},
      {overrides(R"("weight":1e400)"), {"number_out_of_range" + at + "weight"}},
      {overrides(R"("weight":-1e400)"), {"number_out_of_range" + at + "weight"}},
      {overrides(R"("weight":9007199254740993)"), {"out_of_range" + at + "weight"}},
      {overrides(R"("limit":1.0)"), {"wrong_type" + at + "limit"}},
      {overrides(R"("limit":9223372036854775808)"), {"out_of_range" + at + "limit"}},
      {overrides(R"("switch":0)"), {"wrong_type" + at + "switch"}},
      {overrides(R"("pattern":1)"), {"wrong_type" + at + "pattern"}},
  });
  const auto refused = parse_request(overrides(R"("wieght":1)"), op_world());
  CHECK(refused.error().front().hint == "did you mean `weight`?");
}

TEST_CASE("output keys are names of keys that may be read, each once") {
  const std::string at = " /output_keys/";
  check({
      {with(R"("output_keys":"score")"), {"wrong_type /output_keys"}},
      {with(R"("output_keys":null)"), {"wrong_type /output_keys"}},
      {with(R"("output_keys":["scor"])"), {"unknown_key" + at + "0"}},
      {with(R"("output_keys":["score",""])"), {"unknown_key" + at + "1"}},
      {with(R"("output_keys":[1001])"), {"wrong_type" + at + "0"}},
      {with(R"("output_keys":[null])"), {"wrong_type" + at + "0"}},
      {with(R"("output_keys":["old"])"), {"blocked_key" + at + "0"}},
      {with(R"("output_keys":["secret"])"), {"unreadable_key" + at + "0"}},
      {with(R"("output_keys":["score","country","score"])"), {"duplicate_value" + at + "2"}},
  });
}

TEST_CASE("everything that is wrong is said at once, in the order of the fields' names in the interface") {
  CHECK((complaints(R"({"request_id":1,"user_id":0,"plan":2,"param_overrides":{"x":1,"weight":""},)"
                    R"("output_keys":["y"],"deadline_ms":0,"explain":3,"more":4})") ==
         lines{"wrong_type /request_id", "bad_user_id /user_id", "wrong_type /plan",
               "wrong_type /param_overrides/weight", "unknown_param /param_overrides/x", "unknown_key /output_keys/0",
               "out_of_range /deadline_ms", "wrong_type /explain", "unknown_field /more"}));
  const auto refused = parse_request(R"({"user_id":0})", op_world());
  CHECK(refused.error().front().source == "request");
}

TEST_CASE("a request of nothing but wrong names gets as many complaints as a person can use") {
  std::string overrides;
  std::string keys;
  for (int i = 0; i < 5000; ++i) {
    overrides += (i == 0 ? "\"x" : ",\"x") + std::to_string(i) + "\":1";
    keys += i == 0 ? "\"none\"" : ",\"none\"";
  }
  CHECK(complaints(with(R"("param_overrides":{)" + overrides + R"(},"output_keys":[)" + keys + "]")).size() == 100);
  const std::string long_name(100'000, 'n');
  const auto refused = parse_request(with(R"("output_keys":[")" + long_name + R"("])"), op_world());
  CHECK(refused.error().front().message.size() < 1000);
}

TEST_CASE("a full request is read, with every name resolved") {
  const rank_request request =
      read(R"({"request_id":"r 1","user_id":7,"plan":"feed","param_overrides":{"weight":2,"limit":-3,"switch":true,)"
           R"("pattern":null},"output_keys":["country","id","score"],"deadline_ms":50,"explain":true})");
  CHECK(request.request_id == "r 1");
  CHECK(request.plan == "feed");
  const std::vector<scalar> params{2.0, scalar{}, std::int64_t{-3}, true, scalar{}, scalar{}};
  CHECK((request.params == params));
  CHECK((request.output_keys == std::vector<std::uint32_t>{1, 1001, 3001}));
  CHECK(request.deadline == std::chrono::milliseconds(50));
  CHECK(request.explain == explain_mode::on);
}

TEST_CASE("what a request leaves open has its default") {
  const rank_request request = read(R"({"user_id":7,"explain":false,"param_overrides":{}})");
  CHECK(request.plan.empty());
  const std::vector<scalar> params{0.5, scalar{}, scalar{}, scalar{}, scalar{}, scalar{}};
  CHECK((request.params == params));
  CHECK_FALSE(request.output_keys);
  CHECK_FALSE(request.deadline);
  CHECK(request.explain == explain_mode::off);
  CHECK((read(with(R"("output_keys":[])")).output_keys == std::vector<std::uint32_t>{}));
}

TEST_CASE("ids are made up from the bytes of the request, the same each time") {
  const rank_request once = read(R"({"user_id":7})");
  const rank_request again = read(R"({"user_id":7})");
  const rank_request other = read(R"({"user_id": 7})");
  CHECK(once.request_id == again.request_id);
  CHECK(once.engine_request_id == again.engine_request_id);
  CHECK(once.request_id != other.request_id);
  CHECK(once.engine_request_id != other.engine_request_id);
  CHECK(once.request_id.starts_with("req_"));
  CHECK(once.engine_request_id.starts_with("eng_"));
  CHECK(once.request_id.size() == 20);
  CHECK(read(with(R"("request_id":"")")).request_id.empty());
}

TEST_CASE("the id of a request that is refused is the one that it brings, or the one that would be made up") {
  CHECK(request_id_of(R"({"request_id":"mine","user_id":0})") == "mine");
  CHECK(request_id_of(R"({"user_id":7})") == read(R"({"user_id":7})").request_id);
  for (const char* text : {R"({"request_id":7,"user_id":1})", "[1]", "{", ""}) {
    CAPTURE(text);
    CHECK(request_id_of(text).starts_with("req_"));
    CHECK(request_id_of(text) == request_id_of(text));
  }
  CHECK(request_id_of(std::string(300'000, '[')).size() == 20);
}
