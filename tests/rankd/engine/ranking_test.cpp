// tests/rankd/engine/ranking_test.cpp: answers, errors and diagnostics as JSON, byte for byte.
#include <rankd/engine/ranking.hpp>

#include <tests/rankd/op/op_world.hpp>

#include <array>
#include <memory>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using rankd::testing::op_bench;
using rankd::testing::op_world;

namespace {

/// Two of three rows in another order, with a column of each type.
auto sample(op_bench& bench) -> ranking {
  row_set rows = bench.rows_of({-5, 6, 9'007'199'254'740'993});
  rows = bench.with<double>(rows, 1001, {0.1, std::nullopt, 2.0});
  rows = bench.with<std::int64_t>(rows, 1501, {std::nullopt, 2, 9'007'199'254'740'993});
  rows = bench.with<std::string_view>(rows, 3001, {"U\"S", "CA", std::nullopt});
  rows = bench.with<bool>(rows, 5003, {true, false, true});
  static constexpr std::array<std::uint32_t, 2> order{2, 0};
  ranking answer;
  answer.request_id = "r\n";
  answer.engine_request_id = "e";
  answer.plan = "p";
  answer.rows = row_set(rows.table(), order);
  for (const std::uint32_t key : {1001U, 1501U, 3001U, 5003U}) answer.fields.push_back(op_world().find_key(key));
  return answer;
}

auto make_diagnostic(const std::string& code, const std::string& hint = "") -> braid::diagnostic {
  return {.code = code, .pointer = "/p", .message = "wrong", .hint = hint, .node = "", .source = ""};
}

}  // namespace

TEST_CASE("candidates stand in the current order, their non-null fields in the order of the keys") {
  op_bench bench;
  CHECK(to_json(sample(bench)) ==
        R"({"request_id":"r\n","engine_request_id":"e","plan":"p","candidates":[)"
        R"({"id":9007199254740993,"fields":{"score":2,"count":9007199254740993,"fixed":true}},)"
        R"({"id":-5,"fields":{"score":0.1,"country":"U\"S","fixed":true}}]})");
}

TEST_CASE("an answer is written behind what is there already") {
  op_bench bench;
  std::string out = "before ";
  append_json(out, sample(bench));
  CHECK(out == "before " + to_json(sample(bench)));
}

TEST_CASE("columns that are not asked for or not there are left out; no candidates are an empty array") {
  op_bench bench;
  ranking answer = sample(bench);
  answer.fields = {op_world().find_key(2001U), op_world().find_key(3001U)};
  CHECK(to_json(answer).find(
            R"("candidates":[{"id":9007199254740993,"fields":{}},{"id":-5,"fields":{"country":"U\"S"}}])") !=
        std::string::npos);
  answer.rows = {};
  CHECK(to_json(answer).ends_with(R"("candidates":[]})"));
}

TEST_CASE("malformed ids are told only where there are some") {
  ranking answer;
  CHECK(to_json(answer).find("malformed_ids") == std::string::npos);
  answer.malformed_ids = 3;
  CHECK(to_json(answer).ends_with(R"(,"malformed_ids":3})"));
  answer.malformed_values = 4;
  CHECK(to_json(answer).ends_with(R"(,"malformed_ids":3,"malformed_values":4})"));
}

TEST_CASE("an explanation stands behind everything else, of an answer and of an error") {
  ranking answer;
  answer.malformed_ids = 3;
  answer.explained = std::make_shared<const explanation>();
  CHECK(to_json(answer).ends_with(R"(,"malformed_ids":3,"explain":)" + to_json(explanation{}) + "}"));
  answer.error = rank_error{"bad", "m", "", ""};
  CHECK(to_json(answer) == R"({"error":{"code":"bad","message":"m"},"explain":)" + to_json(explanation{}) + "}");
}

TEST_CASE("an error is all that its response holds") {
  ranking answer;
  answer.request_id = "r";
  answer.plan = "p";
  answer.error = rank_error{"node_timeout", "node `a`\xff", "a", ""};
  CHECK(to_json(answer) ==
        R"({"error":{"code":"node_timeout","message":"node `a`\u00ff","node":"a","request_id":"r"}})");
  answer.error = rank_error{"bad", "m", "", "/user_id"};
  CHECK(to_json(answer) == R"({"error":{"code":"bad","message":"m","pointer":"/user_id","request_id":"r"}})");
}

TEST_CASE("one diagnostic is the error, with its hint; more of them are listed whole") {
  braid::diagnostics problems(make_diagnostic("first", "do so"));
  CHECK(to_json(problems, "r") ==
        R"({"error":{"code":"first","message":"wrong; do so","pointer":"/p","request_id":"r"}})");
  CHECK(to_json(problems, "") == R"({"error":{"code":"first","message":"wrong; do so","pointer":"/p"}})");
  problems.add(make_diagnostic("second"));
  CHECK(to_json(problems, "r") ==
        R"({"error":{"code":"first","message":"wrong; do so","pointer":"/p","request_id":"r"},"diagnostics":[)"
        R"({"code":"first","pointer":"/p","message":"wrong","hint":"do so"},)"
        R"({"code":"second","pointer":"/p","message":"wrong"}]})");
}

TEST_CASE("diagnostics keep their pointer even where it is the whole document") {
  CHECK(diagnostics_json({}) == "[]");
  CHECK(diagnostics_json(braid::diagnostics(
            {.code = "c", .pointer = "", .message = "m", .hint = "", .node = "n", .source = "f.json"})) ==
        R"([{"code":"c","pointer":"","node":"n","message":"m","source":"f.json"}])");
}
