// tests/rankd/op/columns_test.cpp: the columns that rows may have, by what joins may add to them.
#include <rankd/op/columns.hpp>

#include <rankd/op/operator_list.hpp>
#include <rankd/plan/load_plan.hpp>
#include <tests/rankd/op/op_world.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using rankd::testing::lines;
using rankd::testing::list;
using rankd::testing::op_world;

namespace {

/// What is said of a plan of these nodes, the join `j` among them, whose rows are the answer.
auto said_of(const std::string& nodes) -> lines {
  const auto loaded = parse_plan(
      R"({"schema_version":1,"plan_name":"t","outputs":["j"],"expr_table":{"e":{"op":"key_ref","key_id":1}},)"
      R"("nodes":[)" +
          nodes + "]}",
      "t.json", {all_op_shapes(), op_world()});
  if (!loaded) return {loaded.error().to_text()};
  return rankd::testing::list(check_columns(*loaded, op_world()));
}

auto node(const std::string& id, const std::string& op, const std::string& input, const std::string& params)
    -> std::string {
  return R"({"node_id":")" + id + R"(","op":")" + op + R"(","inputs":[)" + (input.empty() ? "" : "\"" + input + "\"") +
         R"(],"params":{)" + params + "}}";
}

auto join(const std::string& input, const std::string& more, const std::string& id = "j", const std::string& rhs = "s")
    -> std::string {
  return node(id, "core::join", input, R"("rhs":")" + rhs + R"(","how":"left",)" + more);
}

const std::string bare = node("s", "test::fixed_source", "", "") + ",";
const std::string from_store = R"("endpoint":"ep_0001")";

}  // namespace

TEST_CASE("a join may add what its rows have not, and without a join nothing is said") {
  CHECK(said_of(bare + join("s", R"("select":[1001,3001])")).empty());
  CHECK(said_of(bare + join("s", R"("select":[1,1001],"map":[1501,2001])")).empty());
  CHECK(said_of(bare + node("j", "core::join", "s", R"("rhs":"s","how":"anti")")).empty());
  CHECK(said_of(node("j", "core::viewer", "", from_store)).empty());
}

TEST_CASE("every row has an id, users have a country, and media have neither more nor less") {
  const std::string viewer = node("v", "core::viewer", "", from_store) + ",";
  const std::string media = node("m", "core::media", "v", from_store + R"(,"fanout":3)") + ",";
  CHECK((said_of(bare + join("s", R"("select":[1])")) == lines{"column_exists /nodes/1/params/select/0"}));
  CHECK((said_of(bare + viewer + join("v", R"("select":[1001,3001])")) ==
         lines{"column_exists /nodes/2/params/select/1"}));
  CHECK(said_of(bare + viewer + media + join("m", R"("select":[3001])")).empty());
}

TEST_CASE("what a node before it wrote is there, on every way, and what the other side has does not matter") {
  const std::string scored = node("w", "core::vm", "s", R"("out_key":2001,"expr_id":"e")") + ",";
  const std::string both = node("c", "core::concat", "s", R"("rhs":"w")") + ",";
  const std::string taken = node("t", "core::take", "c", R"("count":3)") + ",";
  CHECK((said_of(bare + scored + both + taken + join("t", R"("select":[1001],"map":[2001])")) ==
         lines{"column_exists /nodes/4/params/map/0"}));
  CHECK(said_of(bare + scored + join("s", R"("select":[2001])", "j", "w")).empty());
}

TEST_CASE("a feature is not fetched over a column, fetched, written or joined") {
  const auto fetch = [](const std::string& input, const std::string& keys, const std::string& id) {
    return node(id, "core::fetch_features", input, from_store + R"(,"keys":)" + keys);
  };
  CHECK(said_of(bare + fetch("s", "[1001,3001]", "j")).empty());
  CHECK((said_of(bare + fetch("s", "[1001]", "k") + "," + fetch("k", "[3001,1001]", "j")) ==
         lines{"column_exists /nodes/2/params/keys/1"}));
  CHECK((said_of(bare + fetch("s", "[2001]", "k") + "," + join("k", R"("select":[2001])")) ==
         lines{"column_exists /nodes/2/params/select/0"}));
  const std::string scored = node("w", "core::vm", "s", R"("out_key":2001,"expr_id":"e")") + ",";
  CHECK((said_of(bare + scored + fetch("w", "[2001]", "j")) == lines{"column_exists /nodes/2/params/keys/0"}));
}

TEST_CASE("features are made under keys that nothing before has written, and count as written") {
  const auto make = [](const std::string& input, const std::string& keys, const std::string& id) {
    return node(id, "core::extract_features", input, R"("transform":"is_null","keys":[1,3001],"out_keys":)" + keys);
  };
  CHECK(said_of(bare + make("s", "[1001,2001]", "j")).empty());
  CHECK((said_of(bare + make("s", "[1001,2001]", "k") + "," + make("k", "[5004,2001]", "j")) ==
         lines{"column_exists /nodes/2/params/out_keys/1"}));
  CHECK((said_of(bare + make("s", "[1001,2001]", "k") + "," + join("k", R"("select":[2001])")) ==
         lines{"column_exists /nodes/2/params/select/0"}));
}

TEST_CASE("a join sees what joins before it added; diagnostics come in the order of the nodes, not of the data") {
  const std::string second = join("k", R"("select":[1001,1501])") + ",";
  const std::string first = join("s", R"("select":[1501,1])", "k");
  CHECK((said_of(bare + second + first) ==
         lines{"column_exists /nodes/1/params/select/1", "column_exists /nodes/2/params/select/1"}));
}

TEST_CASE("the columns of a node are those that it names, makes, and has from its sources") {
  const auto loaded = parse_plan(
      R"({"schema_version":1,"plan_name":"t","outputs":["j"],"expr_table":{"e":{"op":"key_ref","key_id":1001}},)"
      R"("pred_table":{"p":{"op":"regex","key_id":3002,"pattern":{"kind":"literal","value":"a"}}},"nodes":[)" +
          node("v", "core::viewer", "", from_store) + "," +
          node("s", "core::vm", "v", R"("expr_id":"e","out_key":2001)") + "," +
          node("f", "core::filter", "s", R"("pred_id":"p")") + "," + node("d", "core::dedupe", "v", "") + "," +
          join("d", R"("select":[2001],"map":[1001])", "j", "f") + "]}",
      "t.json", {all_op_shapes(), op_world()});
  REQUIRE(loaded.has_value());
  const auto columns = find_columns(*loaded, op_world());
  using keys = std::vector<std::uint32_t>;
  CHECK(columns[0].reads == keys{});
  CHECK(columns[0].writes == keys{1, 3001});
  CHECK(columns[1].reads == keys{1001});
  CHECK(columns[1].writes == keys{2001});
  CHECK(columns[1].has == keys{1, 2001, 3001});
  CHECK(columns[2].reads == keys{3002});
  CHECK(columns[2].writes == keys{});
  CHECK(columns[3].reads == keys{1});
  CHECK(columns[4].reads == keys{1, 2001});
  CHECK(columns[4].writes == keys{1001});
  CHECK(columns[4].has == keys{1, 1001, 3001});
}

TEST_CASE("a broadcast compares no key, and what a concat says of its rows is a column of both sides") {
  const auto loaded = parse_plan(
      R"({"schema_version":1,"plan_name":"t","outputs":["g"],"nodes":[)" + node("v", "core::viewer", "", from_store) +
          "," + node("c", "core::concat", "v", R"("rhs":"v","out_key":3002,"sources":["a","b"])") + "," +
          R"({"node_id":"b","op":"core::join","inputs":["c"],)"
          R"("params":{"rhs":"v","how":"broadcast","select":[]}},)" +
          node("g", "core::aggregate", "b", R"("of":"max","key":1,"per":3002,"out_key":1001)") + "]}",
      "t.json", {all_op_shapes(), op_world()});
  REQUIRE(loaded.has_value());
  const auto columns = find_columns(*loaded, op_world());
  using keys = std::vector<std::uint32_t>;
  CHECK(columns[1].reads == keys{});
  CHECK(columns[1].writes == keys{3002});
  CHECK(columns[2].reads == keys{});
  CHECK(columns[2].has == keys{1, 3001, 3002});
  CHECK(columns[3].reads == keys{1, 3002});
  CHECK(columns[3].has == keys{1, 1001, 3001, 3002});
}

TEST_CASE("a key that a node reads and that no node before it writes is reported, and no other") {
  const auto found = [](const std::string& nodes, const std::string& output) {
    const auto loaded = parse_plan(
        R"({"schema_version":1,"plan_name":"t","outputs":[")" + output +
            R"("],)"
            R"("expr_table":{"e":{"op":"key_ref","key_id":1}},)"
            R"("pred_table":{"p":{"op":"cmp","cmp":">=","a":{"op":"key_ref","key_id":1001},"b":{"op":"const_number","value":0}}},)"
            R"("nodes":[)" +
            nodes + "]}",
        "t.json", {all_op_shapes(), op_world()});
    REQUIRE(loaded.has_value());
    return missing_columns(*loaded, op_world());
  };
  const std::string source = node("v", "core::viewer", "", from_store);
  const std::string writes = R"("expr_id":"e","out_key":1001)";
  const auto silent = found(source + "," + node("f", "core::filter", "v", R"("pred_id":"p")"), "f");
  CHECK(list(silent) == lines{"column_missing /nodes/1"});
  CHECK(silent.front().message ==
        "reads key 1001 (score), but no earlier node writes this key, so its value is null in every row");
  CHECK(found(source + "," + node("w", "core::vm", "v", writes) + "," +
                  node("f", "core::filter", "w", R"("pred_id":"p")"),
              "f")
            .empty());
  // What another branch, or a later node, writes is not there.
  CHECK(list(found(source + "," + node("w", "core::vm", "f", writes) + "," +
                       node("f", "core::filter", "v", R"("pred_id":"p")"),
                   "w")) == lines{"column_missing /nodes/2"});
  // One of the sources is enough.
  CHECK(found(source + "," + node("w", "core::vm", "v", writes) + "," + node("c", "core::concat", "v", R"("rhs":"w")") +
                  "," + node("f", "core::filter", "c", R"("pred_id":"p")"),
              "f")
            .empty());
  CHECK(list(found(source + "," + node("s", "core::sort", "v", R"("by":2001)"), "s")) ==
        lines{"column_missing /nodes/1"});
}
