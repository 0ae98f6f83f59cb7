// tests/rankd/op/vectors_test.cpp: the files of a project's endpoints, each opened once.
#include <rankd/op/vectors.hpp>

#include <rankd/op/operator_list.hpp>
#include <rankd/plan/load_plan.hpp>
#include <tests/rankd/op/op_world.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

TEST_CASE("a file is opened once, and has the digest that its beginning says") {
  const endpoint_entry& items = *op_world().find_endpoint("ep_0004");
  vector_folder folder("tests/rankd/tables");
  const auto digest = folder.digest(items);
  REQUIRE(digest);
  const auto file = folder.find(items);
  REQUIRE(file);
  CHECK((*file)->digest() == *digest);
  CHECK(folder.find(items).value() == *file);
  CHECK(folder.digest(items) == *digest);
}

TEST_CASE("a file that is not there is said to be so, with its path") {
  const endpoint_entry& items = *op_world().find_endpoint("ep_0004");
  vector_folder folder("tests/rankd");
  const auto file = folder.find(items);
  REQUIRE_FALSE(file);
  CHECK(file.error().front().code == "vectors_missing");
  CHECK(file.error().front().source == "tests/rankd/vectors/items.rvec");
  CHECK_FALSE(folder.digest(items));
}

TEST_CASE("a plan names the files of vectors that its operators look through, and no store") {
  const auto named_by = [](const std::string& nodes) {
    const auto stated = parse_plan(R"({"schema_version":1,"plan_name":"p","outputs":["a"],)"
                                   R"("capabilities_required":["cap.rfc.0009.vectors.v1"],"nodes":[)" +
                                       nodes + "]}",
                                   "p.json", {all_op_shapes(), op_world()});
    return stated ? list_vectors(*stated) : std::vector{stated.error().to_text()};
  };
  const std::string viewer = R"({"node_id":"v","op":"core::viewer","inputs":[],"params":{"endpoint":"ep_0001"}})";
  CHECK((named_by(viewer + R"(,{"node_id":"a","op":"core::nearest","inputs":["v"],)"
                           R"("params":{"endpoint":"ep_0004","query":4001,"count":3}})") ==
         std::vector<std::string>{"ep_0004"}));
  CHECK(named_by(viewer + R"(,{"node_id":"a","op":"core::take","inputs":["v"],"params":{"count":3}})").empty());
}
