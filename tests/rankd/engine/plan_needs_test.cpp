// tests/rankd/engine/plan_needs_test.cpp: what plans demand of requests, and requests that carry their own rows.
#include <rankd/engine/plans/plan_needs.hpp>

#include <rankd/engine/engine.hpp>
#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/op/some_budgets.hpp>

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace rankd::testing;

namespace {

using nlohmann::json;

const std::string by_score = node("c", "core::candidates", "", R"({"keys":[2001,3001]})") + "," +
                             node("s", "core::sort", "c", R"({"by":2001,"order":"desc"})");

auto declared() -> const registries& { return reference_project::get().declared; }

/// What is wrong with a request for a plan of these nodes, the last of which is called `s`.
auto found_in(const std::string& nodes, const std::string& request) -> lines {
  const plan loaded = value_of(parse_plan(artifact_of(nodes, R"("s")"), "t.json", {all_op_shapes(), declared()}));
  const auto problems =
      check_needs(value_of(parse_request(request, declared())), find_needs(loaded, declared()), declared());
  return rankd::testing::list(problems);
}

auto answer(const std::string& request) -> json {
  engine_world world;
  const std::string text = to_json(world.rank(world.bind(artifact_of(by_score, R"("s")")), request));
  return json::parse(text);
}

}  // namespace

TEST_CASE("rows and columns of a request are ranked, and both spellings have the same answer") {
  const json of_rows =
      answer(R"({"request_id":"r","candidates":[{"id":7,"final_score":1,"country":"US"},{"id":"-3","final_score":2.5},)"
             R"({"id":7,"country":"CA","final_score":0}]})");
  const json of_columns =
      answer(R"({"request_id":"r","candidates":{"country":["US",null,"CA"],"final_score":[1,2.5,0],"id":[7,"-3",7]}})");
  CHECK(of_rows.at("candidates") == of_columns.at("candidates"));
  CHECK(of_rows.at("candidates") ==
        json::parse(R"([{"id":-3,"fields":{"final_score":2.5}},{"id":7,"fields":{"final_score":1,"country":"US"}},)"
                    R"({"id":7,"fields":{"final_score":0,"country":"CA"}}])"));
}

TEST_CASE("no candidates are an answer of none") {
  CHECK(answer(R"({"candidates":[]})").at("candidates").empty());
  CHECK(answer(R"({"candidates":{"id":[]}})").at("candidates").empty());
}

TEST_CASE("ten thousand candidates are ranked") {
  json ids = json::array();
  json scores = json::array();
  for (std::size_t at = 0; at < max_candidates; ++at) {
    ids.push_back(at);
    scores.push_back(at);
  }
  const json all = answer(json{{"candidates", {{"id", ids}, {"final_score", scores}}}}.dump());
  CHECK(all.at("candidates").size() == max_candidates);
  CHECK(all.at("candidates").front().at("id") == max_candidates - 1);
}

TEST_CASE("a plan says which columns it takes and which of them must be there") {
  const std::string more = R"(,"user_id":1})";
  CHECK(found_in(by_score, R"({"candidates":[{"id":1,"final_score":1}]})").empty());
  CHECK(found_in(by_score, R"({"candidates":[{"id":1,"final_score":1}])" + more).empty());
  CHECK(found_in(by_score, R"({"candidates":[]})").empty());
  CHECK((found_in(by_score, "{}") == lines{"missing_field "}));
  CHECK((found_in(by_score, R"({"candidates":[{"id":1}]})") == lines{"missing_field /candidates/0"}));
  CHECK((found_in(by_score, R"({"candidates":{"id":[1]}})") == lines{"missing_field /candidates"}));
  CHECK((found_in(by_score, R"({"candidates":[{"id":1,"final_score":1},{"id":2,"final_score":1,"title":"t"}]})") ==
         lines{"unknown_column /candidates/1/title"}));
  CHECK((found_in(by_score, R"({"candidates":{"id":[1],"final_score":[1],"title":["t"]}})") ==
         lines{"unknown_column /candidates/title"}));
}

TEST_CASE("several nodes may take different columns of the same candidates") {
  const std::string two = node("a", "core::candidates", "", R"({"keys":[2001]})") + "," +
                          node("b", "core::candidates", "", R"({"keys":[3002]})") + "," +
                          node("s", "core::concat", "a", R"({"rhs":"b"})");
  CHECK(found_in(two, R"({"candidates":[{"id":1,"final_score":1,"title":"t"}]})").empty());
  CHECK((found_in(two, R"({"candidates":[{"id":1,"final_score":1,"country":"US"}]})") ==
         lines{"unknown_column /candidates/0/country"}));
}

TEST_CASE("a user_id is demanded where a node reads it, and candidates are refused where none does") {
  const std::string viewer = node("s", "core::viewer", "", R"({"endpoint":"ep_0001"})");
  CHECK((found_in(viewer, "{}") == lines{"missing_field "}));
  CHECK(found_in(viewer, R"({"user_id":1})").empty());
  CHECK((found_in(viewer, R"({"user_id":1,"candidates":[]})") == lines{"unknown_field /candidates"}));
  CHECK(found_in(source("s", 3), "{}").empty());
  CHECK(found_in(source("s", 3), R"({"user_id":1})").empty());
}

TEST_CASE("a required param of the context is demanded where a node of the plan reads it") {
  const auto missing = [](const std::string& nodes, const std::string& tables, const std::string& request) {
    const registries& known = op_world();
    const std::string artifact = R"({"schema_version":1,"plan_name":"t","nodes":[)" + source("a", 3) + nodes +
                                 R"(],"outputs":["s"])" + tables + "}";
    const plan loaded = value_of(parse_plan(artifact, "t.json", {all_op_shapes(), known}));
    return rankd::testing::list(check_needs(value_of(parse_request(request, known)), find_needs(loaded, known), known));
  };
  const std::string hour = R"({"op":"param_ref","param_id":20})";
  const std::string vm = "," + node("s", "core::vm", "a", R"({"out_key":1001,"expr_id":"e"})");
  const std::string formula = R"(,"expr_table":{"e":{"op":"add","a":)" + hour + R"(,"b":)" + hour + "}}";
  const std::string filter = "," + node("s", "core::filter", "a", R"({"pred_id":"p"})");
  const std::string truth = R"(,"pred_table":{"p":{"op":"is_null","x":)" + hour + "}}";
  const std::string list = "," + node("s", "core::list", "a", R"({"endpoint":"ep_0001","key":"a:{P.hour}","count":1})");
  for (const auto& [nodes, tables] :
       {std::pair(vm, formula), std::pair(filter, truth), std::pair(list, std::string())}) {
    CHECK((missing(nodes, tables, "{}") == lines{"missing_field /context"}));
    CHECK((missing(nodes, tables, R"({"context":{"device":"tv"}})") == lines{"missing_field /context"}));
    CHECK(missing(nodes, tables, R"({"context":{"hour":9}})").empty());
  }
  const std::string take = "," + node("s", "core::take", "a", R"({"count":1})");
  CHECK(missing(take, "", "{}").empty());
  const std::string device = R"(,"pred_table":{"p":{"op":"is_null","x":{"op":"param_ref","param_id":4}}})";
  CHECK(missing(filter, device, "{}").empty());
}

TEST_CASE("candidates count for the budget of the plan, and an explanation knows their node") {
  engine_world world;
  const std::string request = R"({"candidates":{"id":[1,2],"final_score":[1,2]},"explain":{"ids":[2]}})";
  const std::string artifact = artifact_of(by_score, R"("s")");
  CHECK(error_of(world.rank(world.bind(artifact, rankd::testing::of_rows(1)), request)) == "row_budget_exceeded c");
  const ranking fine = world.rank(world.bind(artifact, rankd::testing::of_rows(2)), request);
  CHECK(error_of(fine) == "fine");
  const json explained = json::parse(to_json(fine)).at("explain");
  CHECK(explained.at("nodes")[0].at("op") == "core::candidates");
  CHECK(explained.at("nodes")[0].at("rows_out") == 2);
  CHECK(explained.at("ids")[0].at("positions") == json::array({1}));
}
