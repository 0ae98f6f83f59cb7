// tests/rankd/plan/capture_test.cpp: what a node captures, as the artifact says it.
#include <rankd/plan/capture.hpp>

#include <rankd/plan/load_plan.hpp>
#include <rankd/registry/registries.hpp>
#include <tests/rankd/plan/shapes.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;

namespace {

auto captured(const std::string& what) -> braid::checked<plan> {
  static const registries declared = registries::load("registry", "dev").value();
  return parse_plan(R"({"schema_version":1,"plan_name":"t","capabilities_required":["cap.rfc.0010.capture.v1"],)"
                    R"("outputs":["a"],"nodes":[{"node_id":"a","op":"core::viewer","inputs":[],)"
                    R"("params":{"endpoint":"ep_0001"})" +
                        what + "}]}",
                    "t.json", {.ops = op_shapes(testing::shapes), .declared = declared});
}

}  // namespace

TEST_CASE("a capture without fields is of all requests, all columns and the rows that the node gives") {
  const auto made = captured(R"(,"capture":{})");
  REQUIRE(made);
  const auto& capture = made->nodes.front().capture;
  REQUIRE(capture);
  CHECK(capture->sample == 1);
  CHECK_FALSE(capture->what.key_ids);
  CHECK(capture->what.max_rows == default_captured_rows);
  CHECK(capture->what.side == capture_side::out);
  CHECK_FALSE(captured("")->nodes.front().capture);
}

TEST_CASE("a capture says how many rows, which columns and which side") {
  const auto made = captured(R"(,"capture":{"sample":0.5,"key_ids":[7,3],"max_rows":9,"side":"both"})");
  REQUIRE(made);
  const auto& capture = made->nodes.front().capture;
  CHECK(capture->sample == 0.5);
  CHECK(capture->what.key_ids == std::vector<std::uint32_t>{7, 3});
  CHECK(capture->what.max_rows == 9);
  CHECK(capture->what.side == capture_side::both);
  CHECK(capture->pointer == "/nodes/0/capture");
}
