// tests/rankd/plan/plan_test.cpp: looking into a loaded plan.
#include <rankd/plan/plan.hpp>

#include <doctest/doctest.h>

TEST_CASE("a param is found by its name, and null means that the node does not give it") {
  rankd::plan_node node;
  node.params.push_back(
      {.name = "count", .kind = rankd::param_kind::int64, .value = std::int64_t{5}, .key_ids = {}, .pointer = "/x"});
  REQUIRE(node.find_param("count") != nullptr);
  CHECK(node.find_param("count")->pointer == "/x");
  CHECK(node.find_param("coun") == nullptr);
}

TEST_CASE("a reference is an index") {
  const rankd::plan_param param{
      .name = "rhs", .kind = rankd::param_kind::node_ref, .value = std::int64_t{7}, .key_ids = {}, .pointer = {}};
  CHECK(param.index() == 7U);
}
