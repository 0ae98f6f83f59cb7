// tests/rankd/engine/plan_graph_test.cpp: what the graph of a plan says of nodes, edges and requests.
#include <rankd/engine/plans/plan_graph.hpp>

#include <rankd/registry/file.hpp>
#include <tests/rankd/engine/engine_world.hpp>

#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using nlohmann::json;
using rankd::testing::engine_world;
using rankd::testing::node;
using rankd::testing::reference_project;

namespace {

auto make_json(const bound_plan& plan) -> json {
  return json::parse(graph_json(make_graph(plan, reference_project::get().declared)));
}

/// A filter that reads a param, and a take whose count another one gives.
auto asking() -> std::string {
  return rankd::testing::artifact_of(
      node("a", "core::viewer", "", R"({"endpoint":"ep_0001"})") + "," +
          node("b", "core::filter", "a", R"({"pred_id":"p"})") + "," +
          node("c", "core::take", "b", R"({"count":{"param_id":4,"min":1,"max":500}})"),
      R"("c")",
      R"("pred_table":{"p":{"op":"in","lhs":{"op":"param_ref","param_id":6},"list":["feed"]}},)"
      R"("capabilities_required":["cap.rfc.0003.bound_params.v1","cap.rfc.0005.branch.v1"],)");
}

}  // namespace

TEST_CASE("an edge that a param makes is a reference, and no input") {
  engine_world world;
  const json plan = make_json(world.reference_plan("concat_plan"));
  const json& concat = plan.at("nodes").at(3);
  CHECK(concat.at("inputs") == json({"follow"}));
  CHECK(concat.at("refs") == json({{"rhs", "recommendation"}}));
  CHECK(!plan.at("nodes").at(1).contains("refs"));
}

TEST_CASE("the graph says what a request to the plan carries") {
  engine_world world;
  const json request = make_json(world.bind(asking())).at("request");
  CHECK(request.at("user_id") == true);
  CHECK(!request.contains("candidates"));
  REQUIRE(request.at("params").size() == 2);
  const json& size = request.at("params").at(0);
  CHECK(size.at("param") == "page_size");
  CHECK(size.at("type") == "int");
  CHECK(size.at("source") == "param_overrides");
  CHECK(size.at("required") == false);
  CHECK(size.at("default") == 20);
  CHECK(size.at("min") == 1);
  CHECK(size.at("max") == 500);
  const json& surface = request.at("params").at(1);
  CHECK(surface.at("param") == "surface");
  CHECK(surface.at("type") == "string");
  CHECK(surface.at("default") == "feed");
  CHECK(!surface.contains("min"));
}

TEST_CASE("the budget of a plan and its own name are in the graph") {
  engine_world world;
  const plan_budget rows{.rows = 100};
  const plan_graph graph = make_graph(world.reference_plan("reels_plan_a", rows), reference_project::get().declared);
  CHECK(graph.name == "reels_plan_a");
  CHECK(json::parse(graph_json(graph)).at("budget") == json({{"rows", 100}}));
  CHECK(graph_json(graph).ends_with("}\n"));
}

TEST_CASE("the graph and explanations say which nodes come from which version of a fragment") {
  engine_world world;
  const std::string artifact = rankd::testing::artifact_of(
      node("v", "core::viewer", "", R"({"endpoint":"ep_0001"})") + "," +
          node("near__t", "core::take", "v", R"({"count":3})"),
      R"("near__t")",
      R"("capabilities_required":["cap.rfc.0002.fragments.v1"],"extensions":{"cap.rfc.0002.fragments.v1":{"uses":[)"
      R"({"id":"near","fragment":"recall","version":"2.1.0","args":{},"nodes":["near__t"],"result":"near__t",)"
      R"("sha256":"00000000000000000000000000000000000000000000000000000000000000ab"}]}},)");
  const bound_plan& plan = world.bind(artifact);
  const json graph = make_json(plan);
  REQUIRE(graph.at("fragments").size() == 1);
  CHECK(graph.at("fragments").at(0).at("fragment") == "recall");
  CHECK(graph.at("fragments").at(0).at("version") == "2.1.0");
  CHECK(graph.at("fragments").at(0).at("nodes") == json({"near__t"}));
  CHECK(!make_json(world.bind(asking())).contains("fragments"));
  const ranking answer = world.rank(plan, R"({"user_id":1,"explain":true})");
  REQUIRE(answer.explained != nullptr);
  REQUIRE(answer.explained->fragments.size() == 1);
  CHECK(answer.explained->fragments[0].version == "2.1.0");
  CHECK((answer.explained->fragments[0].nodes == std::vector<std::string>{"near__t"}));
}
