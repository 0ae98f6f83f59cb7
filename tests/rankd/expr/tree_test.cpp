// tests/rankd/expr/tree_test.cpp: where nodes stand in the document.
#include <rankd/expr/parse.hpp>
#include <rankd/expr/tree.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace rankd;
using nlohmann::json;

namespace {

const json both_sides = json::parse(R"({"op": "cmp", "cmp": "<",
    "a": {"op": "add", "a": {"op": "key_ref", "key_id": 1}, "b": {"op": "const_number", "value": 2}},
    "b": {"op": "neg", "x": {"op": "param_ref", "param_id": 3}}})");

auto pointers_of(const syntax_tree& tree) -> std::vector<std::string> {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) out.push_back(tree.pointer_of(i));
  return out;
}

}  // namespace

TEST_CASE("siblings stand from left to right, each behind what lies below it, the root last") {
  const auto tree = parse_pred(both_sides, "/pred_table/p1");
  REQUIRE(tree.has_value());
  CHECK(pointers_of(*tree) == std::vector<std::string>{"/pred_table/p1/a/a", "/pred_table/p1/a/b", "/pred_table/p1/a",
                                                       "/pred_table/p1/b/x", "/pred_table/p1/b", "/pred_table/p1"});
  CHECK(tree->root().op == node_op::cmp);
}

TEST_CASE("every child lies before its parent, and knows it") {
  const auto tree = parse_pred(both_sides, "");
  REQUIRE(tree.has_value());
  for (std::uint32_t index = 0; index < tree->nodes.size(); ++index) {
    for (const std::uint32_t child : tree->nodes[index].children) {
      if (child == tree_node::none) continue;
      CHECK(child < index);
      CHECK(tree->nodes[child].parent == index);
    }
  }
  CHECK(tree->root().parent == tree_node::none);
}

TEST_CASE("the pointer of a field is escaped") {
  const auto tree = parse_pred(both_sides, "/p");
  REQUIRE(tree.has_value());
  CHECK(tree->pointer_of(4, "a/b~c") == "/p/b/a~1b~0c");
}
