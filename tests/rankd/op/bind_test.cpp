// tests/rankd/op/bind_test.cpp: what operators complain about when a plan is loaded, with codes and pointers.
#include <rankd/op/operator.hpp>

#include <tests/rankd/op/op_world.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using rankd::testing::complaints;
using rankd::testing::lines;

namespace {

struct wrong_node {
  std::string op;
  std::string params;
  lines expected;
};

const std::string at = " /nodes/2/params/";

}  // namespace

TEST_CASE("every node that is wrong is refused with its code and the pointer of what is wrong") {
  const std::vector<wrong_node> table{
      {"core::vm", R"({"out_key":4242,"expr_id":"e"})", {"unknown_key" + at + "out_key"}},
      {"core::vm", R"({"out_key":5001,"expr_id":"e"})", {"blocked_key" + at + "out_key"}},
      {"core::vm", R"({"out_key":5003,"expr_id":"e"})", {"unwritable_key" + at + "out_key"}},
      {"core::vm", R"({"out_key":1,"expr_id":"e"})", {"unwritable_key" + at + "out_key"}},
      {"core::vm", R"({"out_key":3001,"expr_id":"e"})", {"wrong_key_type" + at + "out_key"}},
      {"core::vm", R"({"out_key":1501,"expr_id":"e"})", {"wrong_key_type" + at + "out_key"}},
      {"core::vm", R"({"out_key":4001,"expr_id":"e"})", {"wrong_key_type" + at + "out_key"}},
      {"core::vm", R"({"out_key":"score","expr_id":"e"})", {"wrong_type" + at + "out_key"}},
      {"core::vm", R"({"out_key":1001,"expr_id":"x"})", {"unknown_expr" + at + "expr_id"}},
      {"core::vm", R"({"out_key":1001,"expr_id":null})", {"wrong_type" + at + "expr_id"}},
      {"core::filter", R"({"pred_id":"e"})", {"unknown_pred" + at + "pred_id"}},
      {"core::concat", R"({"rhs":"nobody"})", {"unknown_node" + at + "rhs"}},
      {"core::sort", R"({"by":4242})", {"unknown_key" + at + "by"}},
      {"core::sort", R"({"by":5001})", {"blocked_key" + at + "by"}},
      {"core::sort", R"({"by":5002})", {"unreadable_key" + at + "by"}},
      {"core::sort", R"({"by":4001})", {"wrong_key_type" + at + "by"}},
      {"core::sort", R"({"by":1001,"order":"up"})", {"bad_value" + at + "order"}},
      {"core::take", R"({"count":0})", {"out_of_range" + at + "count"}},
      {"core::take", R"({"count":1.5})", {"wrong_type" + at + "count"}},
      {"core::take", R"({"count":18446744073709551615})", {"out_of_range" + at + "count"}},
      {"core::viewer", R"({"endpoint":"ep_0009"})", {"unknown_endpoint" + at + "endpoint"}},
      {"core::viewer", R"({"endpoint":"ep_0002"})", {"wrong_endpoint_kind" + at + "endpoint"}},
      {"core::viewer", R"({"endpoint":"redis"})", {"bad_endpoint_id" + at + "endpoint"}},
      {"core::follow", R"({"endpoint":"ep_0002","fanout":3})", {"wrong_endpoint_kind" + at + "endpoint"}},
      {"core::follow", R"({"endpoint":"ep_0001","fanout":0})", {"out_of_range" + at + "fanout"}},
      {"core::follow", R"({"endpoint":"ep_0001","fanout":10000001})", {"out_of_range" + at + "fanout"}},
      {"core::follow", R"({"endpoint":"ep_0001","fanout":4294967297})", {"out_of_range" + at + "fanout"}},
      {"core::recommendation", R"({"endpoint":"ep_0009","fanout":1})", {"unknown_endpoint" + at + "endpoint"}},
      {"core::media", R"({"endpoint":"ep_0001","fanout":10001})", {"out_of_range" + at + "fanout"}},
      {"core::media", R"({"endpoint":"ep_0002","fanout":1})", {"wrong_endpoint_kind" + at + "endpoint"}},
      {"test::fixed_source", R"({"row_count":-1})", {"out_of_range" + at + "row_count"}},
      {"test::sleep", R"({"duration_ms":-1})", {"out_of_range" + at + "duration_ms"}},
      {"test::sleep", R"({"duration_ms":1,"fail_after_sleep":"no"})", {"wrong_type" + at + "fail_after_sleep"}},
      {"test::busy_cpu", R"({"busy_wait_ms":"long"})", {"wrong_type" + at + "busy_wait_ms"}},
  };
  for (const wrong_node& each : table) {
    CAPTURE(each.op);
    CAPTURE(each.params);
    const lines found = complaints(each.op, each.params);
    CHECK((found == each.expected));
    if (found != each.expected && !found.empty()) MESSAGE(found.front());
  }
}

TEST_CASE("nodes that use what they may are bound") {
  const std::vector<std::pair<std::string, std::string>> table{
      {"core::vm", R"({"out_key":1001,"expr_id":"e"})"},
      {"core::vm", R"({"out_key":5002,"expr_id":"e","trace":"written, never read"})"},
      {"core::sort", R"({"by":1})"},
      {"core::sort", R"({"by":5003,"order":"desc"})"},
      {"core::sort", R"({"by":3001,"order":null})"},
      {"core::take", R"({"count":9223372036854775807})"},
      {"core::viewer", R"({"endpoint":"ep_0003","trace":null})"},
      {"core::follow", R"({"endpoint":"ep_0001","fanout":10000000})"},
      {"core::media", R"({"endpoint":"ep_0001","fanout":10000})"},
      {"test::fixed_source", R"({"row_count":0})"},
      {"test::sleep", R"({"duration_ms":0,"fail_after_sleep":null})"},
  };
  for (const auto& [op, params] : table) {
    CAPTURE(op);
    CAPTURE(params);
    CHECK((complaints(op, params) == lines()));
  }
}

TEST_CASE("an endpoint that is nearly right is suggested") {
  const auto bound = testing::bind_op("core::viewer", R"({"endpoint":"ep_0004"})");
  REQUIRE_FALSE(bound);
  CHECK(bound.error().front().hint.find("did you mean `ep_000") != std::string::npos);
}

TEST_CASE("what reads countries wants a column of strings for them, and says so beside its other complaints") {
  constexpr std::string_view id_only = R"(
[[key]]
key_id = 1
name = "id"
type = "int"
nullable = false
allow_write = false
)";
  const std::string number =
      std::string(id_only) + "[[key]]\nkey_id = 3001\nname = \"country\"\ntype = \"float\"\nnullable = true\n";
  const auto complaints_of = [](std::string_view keys, const std::string& op) {
    const registries declared = testing::registries_of(keys, "", testing::world_endpoints);
    plan_node node;
    node.op = op;
    node.params = {{"endpoint", param_kind::endpoint_ref, scalar(std::string("ep_0002")), {}, "/e"},
                   {"fanout", param_kind::int64, scalar(std::int64_t{1}), {}, "/f"}};
    node.pointer = "/nodes/0";
    return testing::list(find_op(op)->bind(node, {declared, {}, {}}).error());
  };
  for (const char* op : {"core::viewer", "core::follow", "core::recommendation"}) {
    CAPTURE(op);
    CHECK((complaints_of(id_only, op) == lines{"wrong_endpoint_kind /e", "unknown_key /nodes/0"}));
    CHECK((complaints_of(number, op) == lines{"wrong_endpoint_kind /e", "wrong_key_type /nodes/0"}));
  }
  CHECK((complaints_of(id_only, "core::media") == lines{"wrong_endpoint_kind /e"}));
}
