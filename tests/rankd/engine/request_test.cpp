// tests/rankd/engine/request_test.cpp: requests that are right. The table of wrong ones is
// tests/rankd/tables/bad_requests.ndjson.
#include <rankd/engine/requests/request.hpp>

#include <rankd/engine/detail/plain_request.hpp>
#include <rankd/plan/json.hpp>

#include <tests/rankd/op/op_world.hpp>

#include <braid/base/random.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using rankd::testing::lines;
using rankd::testing::op_world;

namespace {

auto diagnostics(std::string_view text) -> lines {
  const auto read = parse_request(text, op_world());
  return read ? lines() : testing::list(read.error());
}

auto read(std::string_view text) -> rank_request {
  auto request = parse_request(text, op_world());
  if (!request) throw std::runtime_error(request.error().to_text());
  return std::move(*request);
}

/// Wrong in one field beside a user_id that is right.
auto with(const std::string& field) -> std::string { return R"({"user_id":1,)" + field + "}"; }

}  // namespace

TEST_CASE("a user_id is an integer from 1 to 2^63-1 or its digits") {
  CHECK(read(R"({"user_id":1})").user_id == row_id(1));
  CHECK(read(R"({"user_id":"42"})").user_id == row_id(42));
  CHECK(read(R"({"user_id":"007"})").user_id == row_id(7));
  CHECK(read(R"({"user_id":9223372036854775807})").user_id == row_id(std::numeric_limits<std::int64_t>::max()));
  CHECK(read(R"({"user_id":"9223372036854775807"})").user_id == row_id(std::numeric_limits<std::int64_t>::max()));
}

TEST_CASE("where ids are strings, users, candidates and questions have such") {
  const registries shop = registries::load("rankd/cli/shop/registry", "dev").value();
  const auto request =
      parse_request(R"({"user_id":"007","candidates":{"id":["b","a","b"]},"explain":{"ids":["a","7"]}})", shop);
  REQUIRE(request.has_value());
  CHECK(request->user_id == row_id("007"));
  const string_values ids = request->candidates->rows.text_ids().value();
  CHECK(std::string(ids[0]).append(ids[1]).append(ids[2]) == "bab");
  CHECK(request->candidates->rows.find(registries::id_key)->strings() != nullptr);
  CHECK((request->explain_ids == std::vector<row_id>{"a", "7"}));
  CHECK(parse_request(R"({"user_id":")" + std::string(max_id_bytes, 'x') + "\"}", shop).has_value());

  const auto refused = [&shop](const std::string& text) { return parse_request(text, shop).error().front(); };
  const std::string rule = " a string of 1 to 128 bytes without NUL, not ";
  CHECK(refused(R"({"user_id":7})").message == "a user_id of this project must be" + rule + "an integer: `7`");
  CHECK(refused(R"({"user_id":""})").message == "a user_id of this project must be" + rule + "an empty string");
  CHECK(refused(R"({"candidates":[{"id":17}]})").message == "an id is" + rule + "an integer: `17`");
  CHECK(refused(R"({"candidates":[{"id":"a\u0000"}]})").message == "an id is" + rule + "a string with NUL");
  CHECK(refused(R"({"candidates":{"id":[")" + std::string(max_id_bytes + 1, 'x') + "\"]}}").message ==
        "an id is" + rule + "a string of 129 bytes");
  CHECK((
      testing::list(parse_request(R"({"user_id":{},"candidates":{"id":["a",1.5,null,""]},"explain":{"ids":[1]}})", shop)
                        .error()) == lines{"bad_user_id /user_id", "bad_id /candidates/id/1", "bad_id /candidates/id/2",
                                           "bad_id /candidates/id/3", "bad_id /explain/ids/0"}));
  CHECK(refused("{\"user_id\":\"\xff\"}").code == "invalid_utf8");
}

TEST_CASE("a plain request is read as it would be with a tree of values") {
  const auto same = [](const std::string& members) {
    CAPTURE(members);
    const std::string plain = "{" + members + "}";
    CHECK(detail::read_plain_request(plain).has_value());
    const rank_request quick = read(plain);
    const rank_request slow = read("{" + members + R"(,"explain":false})");
    CHECK(quick.user_id == slow.user_id);
    CHECK(quick.plan == slow.plan);
    CHECK((quick.params == slow.params));
    CHECK(quick.deadline == slow.deadline);
    CHECK(quick.output_keys == slow.output_keys);
    CHECK(quick.engine_request_id.size() == slow.engine_request_id.size());
    CHECK(quick.request_id.size() == slow.request_id.size());
    if (members.find("request_id") != std::string::npos) CHECK(quick.request_id == slow.request_id);
  };
  same(R"("user_id":7)");
  same(" \r\n\t\"user_id\" :\t999999999999999999 ");
  same(R"("plan":"home_feed","request_id":"a b/{}[],:~!","user_id":1)");
  same(R"("request_id":"","user_id":3,"plan":"")");
  CHECK(read(R"({"user_id":1})").request_id == "req_" + read(R"({"user_id":1})").engine_request_id.substr(4));
}

TEST_CASE("what is not plain is left to the general reader") {
  for (const std::string text : {"",
                                 "{}",
                                 "[]",
                                 "{\"user_id\":0}",
                                 "{\"user_id\":01}",
                                 "{\"user_id\":-1}",
                                 "{\"user_id\":1.0}",
                                 "{\"user_id\":1e3}",
                                 "{\"user_id\":\"1\"}",
                                 "{\"user_id\":1000000000000000000}",
                                 "{\"user_id\":1,}",
                                 "{,\"user_id\":1}",
                                 "{\"user_id\":1}}",
                                 "{\"user_id\":1} x",
                                 "{\"user_id\":1",
                                 "{\"user_id\" 1}",
                                 "{\"user_id\":1 \"plan\":\"p\"}",
                                 "{\"user_id\":1,\"user_id\":1}",
                                 "{\"user_id\":1,\"plan\":\"a\",\"plan\":\"a\"}",
                                 "{\"user_id\":1,\"plan\":null}",
                                 "{\"user_id\":1,\"plan\":\"\\u0061\"}",
                                 "{\"user_id\":1,\"plan\":\"\xc3\xa4\"}",
                                 "{\"user_id\":1,\"plan\":\"a\nb\"}",
                                 "{\"user_id\":1,\"plan\":\"a}",
                                 "{\"user_id\":1,\"deadline_ms\":5}",
                                 "{\"plan\":\"a\"}",
                                 "{\"user_id\":}",
                                 "\xef\xbb\xbf{\"user_id\":1}"}) {
    CAPTURE(text);
    CHECK_FALSE(detail::read_plain_request(text).has_value());
  }
  CHECK_FALSE(detail::read_plain_request(std::string("{\"user_id\":1}\0", 14)).has_value());
  CHECK_FALSE(detail::read_plain_request("{\"user_id\":1}" + std::string(5000, ' ')).has_value());
}

TEST_CASE("whatever is taken for a plain request is one") {
  constexpr std::string_view bytes = "{}[]\",:0123456789user_idplanrequest \n\\-.e\x01\x7f\xc3";
  const std::string right = R"({"user_id":120,"request_id":"r1","plan":"feed"})";
  braid::random_source random(7);
  int plain = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string text = right;
    for (std::uint64_t edits = 1 + random.below(3); edits > 0; --edits) {
      const std::size_t at = random.below(text.size());
      const char byte = bytes[random.below(bytes.size())];
      switch (random.below(3)) {
        case 0: text[at] = byte; break;
        case 1: text.insert(at, 1, byte); break;
        default: text.erase(at, 1 + random.below(12)); break;
      }
      if (text.empty()) text = right;
    }
    const auto found = detail::read_plain_request(text);
    if (!found) continue;
    ++plain;
    CAPTURE(text);
    const auto tree = parse_json(text, "request");
    REQUIRE(tree.has_value());
    REQUIRE(tree->is_object());
    CHECK(tree->size() == 1U + (found->request_id ? 1 : 0) + (found->plan ? 1 : 0));
    CHECK(tree->at("user_id") == found->user_id);
    CHECK(found->user_id > 0);
    if (found->request_id) CHECK(tree->at("request_id") == *found->request_id);
    if (found->plan) CHECK(tree->at("plan") == *found->plan);
  }
  CHECK(plain > 1'000);
}

TEST_CASE("a param that is nearly right is suggested") {
  const auto refused = parse_request(with(R"("param_overrides":{"wieght":1})"), op_world());
  CHECK(refused.error().front().hint == "did you mean `weight`?");
}

TEST_CASE("diagnostics say that they are about the request") {
  const auto refused = parse_request(R"({"user_id":0})", op_world());
  CHECK(refused.error().front().source == "request");
}

TEST_CASE("a request of nothing but wrong names gets as many diagnostics as a person can use") {
  std::string overrides;
  std::string keys;
  for (int i = 0; i < 5000; ++i) {
    overrides += (i == 0 ? "\"x" : ",\"x") + std::to_string(i) + "\":1";
    keys += i == 0 ? "\"none\"" : ",\"none\"";
  }
  CHECK(diagnostics(with(R"("param_overrides":{)" + overrides + R"(},"output_keys":[)" + keys + "]")).size() == 100);
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
  const std::vector<scalar> params{2.0,      scalar{}, std::int64_t{-3}, true,   scalar{},         scalar{},
                                   scalar{}, scalar{}, std::int64_t{20}, "feed", std::int64_t{20}, std::int64_t{20},
                                   scalar{}, "phone",  scalar{}};
  CHECK((request.params == params));
  CHECK((request.output_keys == std::vector<std::uint32_t>{1, 1001, 3001}));
  CHECK(request.deadline == std::chrono::milliseconds(50));
  CHECK(request.explain == explain_mode::on);
}

TEST_CASE("a context gives params their values, and an override may give one that allows it") {
  const auto value = [](const rank_request& request, std::string_view name) {
    return request.params[op_world().index_of(*op_world().find_param(name))];
  };
  const rank_request given = read(R"({"context":{"hour":9,"device":null},"param_overrides":{"weight":2}})");
  CHECK(value(given, "hour") == scalar(std::int64_t{9}));
  CHECK(is_null(value(given, "device")));
  CHECK(given.in_context.size() == 2);
  CHECK(given.overridden.size() == 1);
  const rank_request overridden = read(R"({"param_overrides":{"device":"tv"}})");
  CHECK(value(overridden, "device") == scalar("tv"));
  CHECK(overridden.in_context.empty());
  CHECK(read(R"({"context":{}})").in_context.empty());
  const auto refused = parse_request(R"({"context":{"huor":9},"param_overrides":{"hour":9}})", op_world());
  CHECK(refused.error().front().hint == "did you mean `hour`?");
  CHECK(testing::list(refused.error()) ==
        lines{"unknown_param /context/huor", "unwritable_param /param_overrides/hour"});
}

TEST_CASE("an explanation may be asked for with ids") {
  const rank_request request = read(with(R"("explain":{"ids":[3,-1,"17",9223372036854775807]})"));
  CHECK(request.explain == explain_mode::on);
  CHECK((request.explain_ids == std::vector<row_id>{3, -1, 17, INT64_MAX}));
  CHECK(read(with(R"("explain":{})")).explain == explain_mode::on);
  CHECK(read(with(R"("explain":{"ids":[]})")).explain_ids.empty());
}

TEST_CASE("what is wrong with the ids of an explanation is told with its place") {
  CHECK((diagnostics(with(R"("explain":{"ids":[1,1.5,"x",9223372036854775808,null,1],"why":2})")) ==
         lines{"bad_id /explain/ids/1", "bad_id /explain/ids/2", "bad_id /explain/ids/3", "bad_id /explain/ids/4",
               "duplicate_value /explain/ids/5", "unknown_field /explain/why"}));
  CHECK((diagnostics(with(R"("explain":{"ids":1})")) == lines{"wrong_type /explain/ids"}));
  CHECK((diagnostics(with(R"("explain":[1])")) == lines{"wrong_type /explain"}));
  CHECK((diagnostics(with(R"("explain":"true")")) == lines{"wrong_type /explain"}));
  std::string many = "0";
  for (std::size_t id = 1; id < max_explained_ids; ++id) many += "," + std::to_string(id);
  CHECK(read(with(R"("explain":{"ids":[)" + many + "]}")).explain_ids.size() == max_explained_ids);
  CHECK((diagnostics(with(R"("explain":{"ids":[)" + many + ",-1]}")) == lines{"too_many_ids /explain/ids"}));
}

TEST_CASE("what a request leaves open has its default") {
  const rank_request request = read(R"({"user_id":7,"explain":false,"param_overrides":{}})");
  CHECK(request.plan.empty());
  const std::vector<scalar> params{0.5,      scalar{}, scalar{},         scalar{}, scalar{},         scalar{},
                                   scalar{}, scalar{}, std::int64_t{20}, "feed",   std::int64_t{20}, std::int64_t{20},
                                   scalar{}, "phone",  scalar{}};
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
  CHECK(find_request_id(R"({"request_id":"mine","user_id":0})") == "mine");
  CHECK(find_request_id(R"({"user_id":7})") == read(R"({"user_id":7})").request_id);
  for (const char* text : {R"({"request_id":7,"user_id":1})", "[1]", "{", ""}) {
    CAPTURE(text);
    CHECK(find_request_id(text).starts_with("req_"));
    CHECK(find_request_id(text) == find_request_id(text));
  }
  CHECK(find_request_id(std::string(300'000, '[')).size() == 20);
}

TEST_CASE("a text that is no right JSON still has the id that it brings, where that is beyond doubt") {
  for (const char* text :
       {R"({"user_id":1,"request_id":"mine","user_id":2})", R"({"request_id":"mine","user_id":1e400})",
        R"({"request_id":"mine","user_id":})", "{\"request_id\":\"mine\",\"plan\":\"\xff\"}",
        R"({"a":{"request_id":"other"},"request_id":"mine","b":[{"request_id":"other"}],"b":1})",
        R"({"request_id":"mine"} and more)"}) {
    CAPTURE(text);
    CHECK(find_request_id(text) == "mine");
  }
  for (const char* text :
       {R"({"request_id":"mine","request_id":"mine"})", R"({"request_id":"mine","request_id":1})",
        R"({"request_id":"mi"ne"})", R"({"request_id":"mine")", R"({"request_id":["mine"],"x":1,"x":1})",
        R"({"request_id":{"request_id":"mine"},"x":1,"x":1})", R"([{"request_id":"mine"}])", R"("request_id")",
        R"({"user_id":1e400,"request_id":"mine"})"}) {
    CAPTURE(text);
    CHECK(find_request_id(text).starts_with("req_"));
  }
}

TEST_CASE("an id from elsewhere stands in for one that the text has not") {
  const auto id_of = [](std::string_view text) {
    return parse_request(text, op_world(), {.line = 0, .request_id = "given"}).value().request_id;
  };
  CHECK(id_of(R"({"user_id":1})") == "given");
  CHECK(id_of(R"({"user_id":1,"request_id":"own"})") == "own");
  CHECK(find_request_id("{", {.line = 0, .request_id = "given"}) == "given");
  CHECK(find_request_id(R"({"request_id":"own","user_id":)", {.line = 0, .request_id = "given"}) == "own");
  CHECK(read(R"({"user_id":1})").engine_request_id.starts_with("eng_"));
}

TEST_CASE("a param with a clock is the time at which a request is read, unless the request gives another") {
  using namespace std::chrono;
  const std::string clock = "nullable = false\nsource = \"context\"\n";
  const registries known = testing::registries_of(
      "[[key]]\nkey_id = 1\nname = \"id\"\ntype = \"int\"\nnullable = false\nallow_write = false\n",
      "[[param]]\nparam_id = 1\nname = \"now\"\ntype = \"int\"\nclock = \"seconds\"\n" + clock +
          "[[param]]\nparam_id = 2\nname = \"now_ms\"\ntype = \"int\"\nclock = \"milliseconds\"\n" + clock,
      "");
  const auto time_in = [&](std::string_view text, std::size_t param) {
    return std::get<std::int64_t>(parse_request(text, known).value().params[param]);
  };
  const auto now = [] { return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count(); };
  for (const char* text : {R"({"plan":"p"})", R"({"plan":"p","context":{}})"}) {
    const std::int64_t before = now();
    const std::int64_t seconds_read = time_in(text, 0);
    const std::int64_t read_ms = time_in(text, 1);
    const std::int64_t after = now();
    CHECK((before <= read_ms && read_ms <= after));
    CHECK((before / 1000 <= seconds_read && seconds_read <= after / 1000));
  }
  CHECK(time_in(R"({"plan":"p","context":{"now":77,"now_ms":-5}})", 0) == 77);
  CHECK(time_in(R"({"plan":"p","context":{"now":77,"now_ms":-5}})", 1) == -5);
  const auto then = parse_request(R"({"plan":"p"})", known, {.line = 0, .request_id = {}, .time = milliseconds(7999)});
  CHECK(then.value().time == milliseconds(7999));
  CHECK(std::get<std::int64_t>(then.value().params[0]) == 7);
  CHECK(std::get<std::int64_t>(then.value().params[1]) == 7999);
}
