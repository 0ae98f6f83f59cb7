// tests/rankd/engine/bound_params_test.cpp: options of nodes that params of requests give.
#include <rankd/engine/engine.hpp>
#include <rankd/engine/plans/plan_needs.hpp>

#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/op/some_budgets.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

namespace {

using ids = std::vector<std::int64_t>;

const std::string requires_bound = R"("capabilities_required":["cap.rfc.0003.bound_params.v1"],)";

/// `{"count": …}` of the param `page_size` of the repository, 20 by default.
auto page(const std::string& option, int min, int max) -> std::string {
  return "{\"" + option + R"(":{"param_id":4,"min":)" + std::to_string(min) + R"(,"max":)" + std::to_string(max) + "}}";
}

auto pages() -> std::string {
  return artifact_of(source("a", 50) + "," + node("t", "core::take", "a", page("count", 1, 40)), R"("t")",
                     requires_bound);
}

auto request_of(const std::string& overrides, const std::string& more = "") -> std::string {
  return R"({"user_id":1,"request_id":"r","param_overrides":{)" + overrides + "}" + more + "}";
}

/// What is wrong with a request for a plan of the registries of operators.
auto found_in(const std::string& artifact, const std::string& request) -> lines {
  const plan loaded = value_of(parse_plan(artifact, "t.json", {all_op_shapes(), op_world()}));
  return rankd::testing::list(
      check_needs(value_of(parse_request(request, op_world())), find_needs(loaded, op_world()), op_world()));
}

/// The scores of the candidates.
auto scores_of(const ranking& answer, std::uint32_t key) -> std::vector<double> {
  std::vector<double> out;
  const auto values = answer.rows.table().find(key);
  for (std::size_t at = 0; at < answer.rows.size(); ++at) out.push_back((*values->floats())[answer.rows.row(at)]);
  return out;
}

}  // namespace

TEST_CASE("an option has the default of its param, or what a request gives in its place") {
  engine_world world;
  const bound_plan& plan = world.bind(pages());
  CHECK(world.rank(plan, request_of("")).rows.size() == 20);
  CHECK(world.rank(plan, request_of(R"("page_size":3)")).rows.size() == 3);
  CHECK(world.rank(plan, request_of(R"("page_size":40)")).rows.size() == 40);
}

TEST_CASE("a sort and a take whose count a request gives work as one") {
  engine_world world;
  const bound_plan& plan =
      world.bind(artifact_of(source("a", 50) + "," + node("s", "core::sort", "a", R"({"by":1,"order":"desc"})") + "," +
                                 node("t", "core::take", "s", page("count", 1, 50000)),
                             R"("t")", requires_bound));
  CHECK(plan.nodes[2].fused_with == 1U);
  CHECK((ids_of(world.rank(plan, request_of(R"("page_size":3)"))) == ids{50, 49, 48}));
  CHECK(world.rank(plan, request_of("")).rows.size() == 20);

  const auto cost = [&](const std::string& overrides) {
    const rank_request request = value_of(parse_request(request_of(overrides), reference_project::get().declared));
    return plan.nodes[2].op->cost_ns(100'000, request.params);
  };
  CHECK(cost(R"("page_size":1)") < cost(""));
  CHECK(cost("") < cost(R"("page_size":50000)"));
}

TEST_CASE("a fanout of a request decides how much is read, and the budget counts that") {
  engine_world world;
  const std::string artifact = artifact_of(
      node("v", "core::viewer", "", R"({"endpoint":"ep_0001"})") + "," +
          node("f", "core::follow", "v", R"({"endpoint":"ep_0001","fanout":{"param_id":4,"min":1,"max":100}})"),
      R"("f")", requires_bound);
  const bound_plan& plan = world.bind(artifact, of_rows(3));
  const ranking two = world.rank(plan, request_of(R"("page_size":2)"));
  CHECK(error_of(two) == "fine");
  CHECK(two.rows.size() == 2);
  CHECK(error_of(world.rank(plan, request_of(R"("page_size":3)"))) == "row_budget_exceeded f");
}

TEST_CASE("both ends of clip come from a request") {
  engine_world world(op_world(), std::vector<store*>(op_world().endpoints().size(), nullptr));
  const bound_plan& plan = world.bind(artifact_of(
      source("a", 4) + "," +
          node("x", "core::extract_features", "a",
               R"({"transform":"clip","keys":[1],"out_keys":[1001],"min":{"param_id":1,"min":-9,"max":2},"max":3})"),
      R"("x")", requires_bound));
  CHECK((scores_of(world.rank(plan, request_of(R"("weight":1.5)")), 1001) == std::vector<double>{1.5, 2, 3, 3}));
  CHECK((scores_of(world.rank(plan, request_of("")), 1001) == std::vector<double>{1, 2, 3, 3}));
}

TEST_CASE("a value outside of the limits is refused before anything runs, with the place in the request") {
  const std::string plan =
      artifact_of(source("a", 50) + "," + node("t", "core::take", "a", R"({"count":{"param_id":10,"min":2,"max":30}})"),
                  R"("t")", requires_bound);
  const std::string place = "param_out_of_range /param_overrides/page_size";
  CHECK(found_in(plan, request_of("")).empty());
  CHECK(found_in(plan, request_of(R"("page_size":2)")).empty());
  CHECK(found_in(plan, request_of(R"("page_size":30)")).empty());
  CHECK((found_in(plan, request_of(R"("page_size":1)")) == lines{place}));
  CHECK((found_in(plan, request_of(R"("page_size":31)")) == lines{place}));
  CHECK((found_in(plan, request_of(R"("page_size":null)")) == lines{place}));
}

TEST_CASE("where several options have one param, each limit holds, and it is reported once") {
  const std::string plan = artifact_of(
      source("a", 50) + "," + node("t", "core::take", "a", R"({"count":{"param_id":10,"min":2,"max":30}})") + "," +
          node("u", "core::take", "t", R"({"count":{"param_id":10,"min":1,"max":25}})"),
      R"("u")", requires_bound);
  CHECK(found_in(plan, request_of(R"("page_size":25)")).empty());
  for (const char* value : {"1", "26", "31"})
    CHECK((found_in(plan, request_of(R"("page_size":)" + std::string(value))) ==
           lines{"param_out_of_range /param_overrides/page_size"}));
}

TEST_CASE("an explanation says where the value of an option comes from") {
  engine_world world;
  const bound_plan& plan = world.bind(pages());
  const auto said = [&](const std::string& overrides) {
    const std::string text = to_json(world.rank(plan, request_of(overrides, R"(,"explain":true)")));
    const std::size_t at = text.find("\"options\"");
    return at == std::string::npos ? "nothing" : text.substr(at, text.find(']', at) + 1 - at);
  };
  CHECK(said("") == R"("options":[{"option":"count","param":"page_size","value":20,"from":"default"}])");
  CHECK(said(R"("page_size":3)") ==
        R"("options":[{"option":"count","param":"page_size","value":3,"from":"override"}])");
}
