// tests/rankd/engine/plan_caches_test.cpp: what the rows of a node depend on, and nodes that cannot have a cache.
#include <rankd/engine/plans/plan_caches.hpp>

#include <rankd/engine/plans/bound_plan.hpp>
#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/op/op_world.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

namespace {

const std::string required = R"("capabilities_required":["cap.rfc.0011.cache.v1"],)";
const std::string cache = R"(,"cache":{"ttl_ms":5}})";

auto cached(std::string node) -> std::string {
  node.pop_back();
  return node + cache;
}

auto bound(const std::string& nodes, const std::string& more = "") -> braid::checked<bound_plan> {
  const std::string artifact = artifact_of(nodes, R"("t")", required + more);
  return bind_plan(value_of(parse_plan(artifact, "t.json", {all_op_shapes(), op_world()})), op_world());
}

}  // namespace

TEST_CASE("the rows of a node depend on the user and the params that its part reads, and on no others") {
  const std::string list = node("l", "core::list", "", R"({"endpoint":"ep_0001","key":"near:{P.surface}","count":9})");
  const std::string viewer = node("v", "core::viewer", "", R"({"endpoint":"ep_0001"})");
  const std::string vm = node("t", "core::vm", "c", R"({"out_key":1001,"expr_id":"e"})");
  const std::string weight = R"("expr_table":{"e":{"op":"param_ref","param_id":1}},)";
  const std::string both = node("c", "core::concat", "v", R"({"rhs":"l"})");

  const bound_plan of_list = value_of(bound(cached(list) + "," + viewer + "," + both + "," + vm, weight));
  REQUIRE(of_list.caches->all.size() == 1);
  const bound_cache& alone = of_list.caches->all.front();
  CHECK_FALSE(alone.reads_user);
  REQUIRE(alone.params.size() == 1);
  CHECK(op_world().params()[alone.params[0]].name == "surface");
  CHECK(of_list.caches->of_node[alone.node] == &alone);

  const bound_plan of_all = value_of(bound(list + "," + viewer + "," + both + "," + cached(vm), weight));
  const bound_cache& all = of_all.caches->all.front();
  CHECK(all.reads_user);
  REQUIRE(all.params.size() == 2);
  CHECK(op_world().params()[all.params[0]].name == "weight");
  CHECK(all.digest != alone.digest);
  CHECK(value_of(bound(list + "," + viewer + "," + both + "," + vm, weight)).caches == nullptr);
}

TEST_CASE("a diagnostic says which node or param keeps rows from being kept") {
  const auto message = [](const std::string& nodes) {
    const auto refused = bound(nodes);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().front().code == "uncacheable");
    return refused.error().front().message;
  };
  CHECK(message(node("c", "core::candidates", "") + "," + cached(node("t", "core::take", "c", R"({"count":1})"))) ==
        "the rows are computed from the request's candidates, which `c` reads");
  CHECK(message(cached(source("s", 1)) + "," + cached(node("t", "core::take", "s", R"({"count":1})"))) ==
        "the rows are computed from the rows of `s`, which has its own cache");
}

TEST_CASE("rows that the time of a request goes into are not kept") {
  const registries declared = registries_of(
      "[[key]]\nkey_id = 1\nname = \"id\"\ntype = \"int\"\nnullable = false\nallow_write = false\n"
      "[[key]]\nkey_id = 1001\nname = \"score\"\ntype = \"float\"\nnullable = true\n",
      "[[param]]\nparam_id = 5\nname = \"moment\"\ntype = \"int\"\nnullable = true\nsource = \"context\"\n"
      "clock = \"milliseconds\"\n",
      "");
  const std::string nodes = source("s", 1) + "," + node("t", "core::vm", "s", R"({"out_key":1001,"expr_id":"e"})");
  const std::string table = R"("expr_table":{"e":{"op":"param_ref","param_id":5}},)";
  plan kept = value_of(parse_plan(artifact_of(nodes, R"("t")", table), "t.json", {all_op_shapes(), declared}));
  kept.nodes[0].cache = node_cache{.ttl = std::chrono::milliseconds(5), .pointer = "/nodes/0/cache"};
  CHECK(check_caches(kept, declared).empty());
  kept.nodes[1].cache = std::exchange(kept.nodes[0].cache, std::nullopt);
  const braid::diagnostics found = check_caches(kept, declared);
  REQUIRE(found.size() == 1);
  CHECK(found.front().code == "uncacheable");
  CHECK(found.front().message == "the rows depend on the time of the request, which param `moment` contains");
}
