// tests/rankd/server/request_batch_test.cpp: bodies of batches, cut into requests or refused.
#include <rankd/server/endpoints/request_batch.hpp>

#include <rankd/plan/json.hpp>
#include <tests/rankd/op/op_world.hpp>

#include <braid/base/random.hpp>

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using nlohmann::json;
using rankd::testing::lines;

namespace {

using texts = std::vector<std::string>;

auto cut(std::string_view body) -> texts {
  const auto found = split_batch(body, 100);
  return found ? texts(found->begin(), found->end()) : texts{"refused"};
}

auto refused(std::string_view body, std::size_t max = 100) -> lines {
  const auto found = split_batch(body, max);
  return found ? lines{"cut"} : rankd::testing::list(found.error());
}

}  // namespace

TEST_CASE("a batch is cut into the texts of its requests, whatever these hold") {
  CHECK(cut(R"({"requests":[]})").empty());
  CHECK(cut("\n{ \"requests\" :\t[ ] }\r\n").empty());
  CHECK((cut(R"({"requests":[{"user_id":1}, {"plan":"a"} ]})") == texts{R"({"user_id":1})", R"({"plan":"a"})"}));
  const std::string hard = R"({"request_id":"]},{\"\\","candidates":[{"id":1},[",["]]})";
  CHECK((cut(R"({"requests":[)" + hard + "," + hard + "]}") == texts{hard, hard}));
  CHECK((cut(R"({"requests":[1,null,"a,b",[2,3]]})") == texts{"1", "null", R"("a,b")", "[2,3]"}));
}

TEST_CASE("a request that is no JSON fails alone, as long as its end shows") {
  CHECK((cut(R"({"requests":[{"user_id":},{"plan":"a"}]})") == texts{R"({"user_id":})", R"({"plan":"a"})"}));
  CHECK((cut(R"({"requests":[{"a":[}},nonsense]})") == texts{R"({"a":[}})", "nonsense"}));
  CHECK((cut(R"({"requests":[{"a":[},nonsense]})") == texts{"refused"}));
  CHECK((cut(R"({"requests":[{} {},{}]})") == texts{"{} {}", "{}"}));
}

TEST_CASE("what is no batch is refused with its place") {
  CHECK((refused("") == lines{"json_syntax "}));
  CHECK((refused(R"({"requests":[{"a":1})") == lines{"json_syntax "}));
  CHECK((refused(R"({"requests":[1,]})") == lines{"json_syntax "}));
  CHECK((refused(R"({"requests":[,1]})") == lines{"json_syntax "}));
  CHECK((refused(R"({"requests":[1}})") == lines{"json_syntax "}));
  CHECK((refused(R"({"requests":["a]})") == lines{"json_syntax "}));
  CHECK((refused(R"({"requests":[]} x)") == lines{"json_syntax "}));
  CHECK((refused("[]") == lines{"wrong_type "}));
  CHECK((refused("{}") == lines{"missing_field "}));
  CHECK((refused(R"({"requests":{}})") == lines{"wrong_type /requests"}));
  CHECK((refused(R"({"requests":[],"more":1})") == lines{"unknown_field /more"}));
  CHECK((refused(R"({"request":[]})") == lines{"missing_field ", "unknown_field /request"}));
  CHECK((refused(R"({"requests":[],"requests":[]})") == lines{"duplicate_field /requests"}));
  CHECK((refused(R"({"\u0072equests":[]})") == lines{"unknown_field "}));
}

TEST_CASE("an array that a brace closes is no batch, however few requests may be in it") {
  for (const std::string_view body : {R"({"requests":[1,2}})", R"({"requests":[1,{"a":2}}})", R"({"requests":[[1]})"})
    CHECK_MESSAGE(refused(body, 1).front().starts_with("json_syntax"), body);
}

TEST_CASE("a batch has at most so many requests, and no more of it is read") {
  CHECK((refused(R"({"requests":[1,2,3]})", 3) == lines{"cut"}));
  CHECK((refused(R"({"requests":[1,2,3]})", 2) == lines{"batch_too_large /requests"}));
  CHECK((refused(R"({"requests":[1,2,3 nonsense)", 1) == lines{"batch_too_large /requests"}));
}

TEST_CASE("whatever is cut into right texts is JSON of these values, and JSON of that shape is cut") {
  constexpr std::string_view pieces[] = {"{\"requests\":", "[",  "]", "{", "}", ",", ":", "\"", "\\", " ", "1",
                                         "\"a\"",          "[]}"};
  braid::random_source random(7);
  int cuts = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string body = random.below(4) == 0 ? "" : R"({"requests":[)";
    for (std::uint64_t left = random.below(7); left > 0; --left) body += pieces[random.below(std::size(pieces))];
    if (random.below(4) != 0) body += "]}";
    const json whole = json::parse(body, nullptr, false);
    const bool is_batch = whole.is_object() && whole.size() == 1 && whole.contains("requests") &&
                          whole.at("requests").is_array() && parse_json(body, "t");
    const auto found = split_batch(body, 100);
    if (!found) {
      CHECK_FALSE(is_batch);
      continue;
    }
    ++cuts;
    json values = json::array();
    bool right = true;
    for (const std::string_view text : *found) {
      const json value = json::parse(text, nullptr, false);
      right = right && !value.is_discarded();
      values.push_back(value);
    }
    CHECK(right == is_batch);
    if (right && is_batch) CHECK(values == whole.at("requests"));
  }
  CHECK(cuts > 1000);
}
