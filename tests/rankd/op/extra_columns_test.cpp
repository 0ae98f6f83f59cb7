// tests/rankd/op/extra_columns_test.cpp: countries that a node may read, and those that only answers show.
#include <rankd/op/extra_columns.hpp>

#include <rankd/op/operator_list.hpp>
#include <rankd/plan/load_plan.hpp>
#include <tests/rankd/op/op_world.hpp>

#include <string>

#include <doctest/doctest.h>

using namespace rankd;
using rankd::testing::op_world;

namespace {

auto node(const std::string& id, const std::string& op, const std::string& input, const std::string& params,
          const std::string& more = "") -> std::string {
  return R"({"node_id":")" + id + R"(","op":")" + op + R"(","inputs":[)" + (input.empty() ? "" : "\"" + input + "\"") +
         R"(],"params":{)" + params + "}" + more + "}";
}

const std::string from_store = R"("endpoint":"ep_0001")";
const std::string two = node("v", "core::viewer", "", from_store) + "," +
                        node("f", "core::follow", "v", from_store + R"(,"fanout":3)") + ",";

/// A letter for each node: `r` where its country may be read or it adds none, `s` where only an answer may show it,
/// `u` where nothing uses it.
auto uses_of(const std::string& nodes, const std::string& output) -> std::string {
  const auto loaded = parse_plan(R"({"schema_version":1,"plan_name":"t","outputs":[")" + output +
                                     R"("],"pred_table":{"p":{"op":"not_null","x":{"op":"key_ref","key_id":3001}}},)"
                                     R"("capabilities_required":["cap.rfc.0004.fallback.v1"],"nodes":[)" +
                                     nodes + "]}",
                                 "t.json", {all_op_shapes(), op_world()});
  if (!loaded) return loaded.error().to_text();
  std::string out;
  for (const extra_use each : uses_of_extra_columns(*loaded, op_world()))
    out += each == extra_use::read ? 'r' : each == extra_use::shown ? 's' : 'u';
  return out;
}

}  // namespace

TEST_CASE("countries that no node names are wanted by answers alone") {
  CHECK(uses_of(two + node("t", "core::take", "f", R"("count":2)"), "t") == "usr");
  CHECK(
      uses_of(two + node("t", "core::take", "v", R"("count":2)") + "," + node("c", "core::concat", "f", R"("rhs":"t")"),
              "c") == "ssrr");
  CHECK(uses_of(node("s", "test::fixed_source", "", R"("row_count":1)"), "s") == "r");
  CHECK(find_op("core::recommendation")->extra_column == "country");
  CHECK(find_op("core::media")->extra_column.empty());
}

TEST_CASE("a node that names the country uses that of the rows that come to it") {
  CHECK(uses_of(two + node("k", "core::filter", "f", R"("pred_id":"p")"), "k") == "urr");
  CHECK(uses_of(two + node("k", "core::filter", "v", R"("pred_id":"p")") + "," +
                    node("c", "core::concat", "f", R"("rhs":"k")"),
                "c") == "rsrr");
  CHECK(uses_of(two + node("k", "core::dedupe", "f", R"("by":3001)"), "k") == "urr");
  CHECK(uses_of(two + node("l", "core::list", "f", from_store + R"(,"key":"l:{country}","count":3)"), "l") == "urr");
}

TEST_CASE("a model may read any column") {
  CHECK(uses_of(two + node("m", "core::call_models", "f", R"("models":["m"],"out_keys":[2001])"), "m") == "urr");
}

TEST_CASE("rows that stand in for others come to the nodes that take those") {
  const std::string fallback = R"(,"fallback":{"on":["store_*"],"use":{"node":"f"}})";
  CHECK(uses_of(two + node("g", "core::recommendation", "v", from_store + R"(,"fanout":3)", fallback) + "," +
                    node("k", "core::filter", "g", R"("pred_id":"p")"),
                "k") == "urrr");
  CHECK(uses_of(two + node("g", "core::recommendation", "v", from_store + R"(,"fanout":3)", fallback), "g") == "uss");
  const std::string input = R"(,"fallback":{"on":["store_*"],"use":"input"})";
  CHECK(uses_of(two + node("g", "core::follow", "f", from_store + R"(,"fanout":3)", input), "g") == "uss");
}
