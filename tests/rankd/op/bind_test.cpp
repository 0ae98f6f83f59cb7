// tests/rankd/op/bind_test.cpp: nodes that operators take, and diagnostics that depend on the registries. The table of
// wrong nodes is that of wrong plans, tests/rankd/tables/bad_plans.ndjson.
#include <rankd/op/operator.hpp>

#include <rankd/registry/file.hpp>
#include <tests/rankd/op/op_world.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using rankd::testing::diagnostics;
using rankd::testing::lines;

TEST_CASE("nodes that use what they may are bound") {
  const std::vector<std::pair<std::string, std::string>> table{
      {"core::vm", R"({"out_key":1001,"expr_id":"e"})"},
      {"core::vm", R"({"out_key":5002,"expr_id":"e","trace":"written, never read"})"},
      {"core::dedupe", "{}"},
      {"core::dedupe", R"({"by":null,"strategy":null,"score_key":null})"},
      {"core::dedupe", R"({"by":3001,"strategy":"max_by","score_key":1})"},
      {"core::join", R"({"rhs":"right","how":"semi","by":null,"select":null,"on_missing":null})"},
      {"core::join", R"({"rhs":"right","how":"inner","select":[]})"},
      {"core::join",
       R"({"rhs":"right","how":"left","by":3001,"select":[1,5003],"map":[1501,2001],"on_missing":"default"})"},
      {"core::fetch_features", R"({"endpoint":"ep_0003","keys":[5002]})"},
      {"core::fetch_features", R"({"endpoint":"ep_0001","keys":[2001,1502,3001,1501],"hash":"_a1","by":1501})"},
      {"core::fetch_features", R"({"endpoint":"ep_0001","keys":[1001],"hash":null,"by":null})"},
      {"core::extract_features",
       R"({"transform":"bucket","keys":[1,1001],"out_keys":[5002,2001],"boundaries":[-1e300]})"},
      {"core::extract_features", R"({"transform":"clip","keys":[1501],"out_keys":[1001],"min":2,"max":2.0})"},
      {"core::extract_features", R"({"transform":"clip","keys":[1501],"out_keys":[1001],"min":null,"max":9e99})"},
      {"core::extract_features",
       R"({"transform":"is_null","keys":[1502,3001,5003],"out_keys":[1001,2001,5002],"values":null,"min":null})"},
      {"core::extract_features", R"({"transform":"log1p","keys":[1501],"out_keys":[1001]})"},
      {"core::extract_features", R"({"transform":"one_hot","keys":[3001],"out_keys":[1001,2001],"values":["a","A"]})"},
      {"core::extract_features",
       R"({"transform":"one_hot","keys":[1001],"out_keys":[2001],"values":[-9223372036854775808]})"},
      {"core::call_models", R"({"models":["line"],"out_keys":[1001]})"},
      {"core::call_models", R"({"models":["line","forest"],"out_keys":[5002,2001]})"},
      {"core::diversify", R"({"strategy":"window","by":3001,"at_most":2,"window":3,"overflow":null})"},
      {"core::diversify", R"({"strategy":"window","by":1502,"at_most":10000000,"window":null,"overflow":"drop"})"},
      {"core::diversify", R"({"strategy":"quota","by":3001,"values":["a"],"every_nth":1,"first":null})"},
      {"core::diversify", R"({"strategy":"quota","by":1,"values":[-1,0],"every_nth":10000000,"first":1})"},
      {"core::aggregate", R"({"of":"count","per":3001,"out_key":5002})"},
      {"core::aggregate", R"({"of":"mean","key":1501,"per":null,"out_key":2001})"},
      {"core::rank_fusion", R"({"by":1502,"k":0.5,"out_key":2001})"},
      {"core::rank_fusion", R"({"by":1,"k":null,"out_key":1001})"},
      {"core::sample", R"({"count":10000000,"seed":"{P.pattern}:{id}"})"},
      {"core::concat", R"({"rhs":"right","out_key":null,"sources":null})"},
      {"core::concat", R"({"rhs":"right","out_key":3002,"sources":["","ads"]})"},
      {"core::join", R"({"rhs":"right","how":"broadcast","select":[1001],"on_missing":null,"by":null})"},
      {"core::join", R"({"rhs":"right","how":"broadcast","select":[1],"map":[1501],"on_missing":"error"})"},
      {"core::sort", R"({"by":1})"},
      {"core::sort", R"({"by":5003,"order":"desc"})"},
      {"core::sort", R"({"by":3001,"order":null})"},
      {"core::take", R"({"count":9223372036854775807})"},
      {"core::paginate", R"({"size":1})"},
      {"core::paginate", R"({"size":10000})"},
      {"core::viewer", R"({"endpoint":"ep_0003","trace":null})"},
      {"core::follow", R"({"endpoint":"ep_0001","fanout":10000000})"},
      {"core::media", R"({"endpoint":"ep_0001","fanout":10000})"},
      {"test::fixed_source", R"({"row_count":0})"},
      {"test::sleep", R"({"duration_ms":0,"fail_after_sleep":null})"},
  };
  for (const auto& [op, params] : table) {
    CAPTURE(op);
    CAPTURE(params);
    CHECK((diagnostics(op, params) == lines()));
  }
}

TEST_CASE("a left join whose nulls would come under a key that allows none is refused") {
  const auto is_refused = [](const std::string& rest) {
    const auto found = [&](const std::string& how) {
      return diagnostics("core::join", R"({"rhs":"right","how":")" + how + "\"," + rest + "}");
    };
    CHECK((found("left") == found("broadcast")));
    return found("left").size() == 1 && found("left").front().starts_with("null_in_key ");
  };
  CHECK(is_refused(R"("select":[1001,2001])"));
  CHECK(is_refused(R"("select":[1001],"map":[2001],"on_missing":"null")"));
  for (const char* rule : {"default", "error"})
    CHECK_FALSE(is_refused(R"("select":[2001],"on_missing":")" + std::string(rule) + "\""));
  CHECK_FALSE(is_refused(R"("select":[1001],"on_missing":"null")"));
}

TEST_CASE("an endpoint that is nearly right is suggested") {
  const auto bound = testing::bind_op("core::viewer", R"({"endpoint":"ep_0009"})");
  REQUIRE_FALSE(bound);
  CHECK(bound.error().front().hint.find("did you mean `ep_000") != std::string::npos);
}

TEST_CASE("what reads countries wants a column of strings for them, and says so beside its other diagnostics") {
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
  const auto diagnostics_of = [](std::string_view keys, const std::string& op) {
    const std::string endpoints = read_text_file("tests/rankd/tables/registry/endpoints.dev.toml").value();
    const registries declared = testing::registries_of(keys, "", endpoints);
    plan_node node;
    node.op = op;
    node.params = {{"endpoint", param_kind::endpoint_ref, scalar(std::string("ep_0002")), {}, "/e"},
                   {"fanout", param_kind::int64, scalar(std::int64_t{1}), {}, "/f"}};
    node.pointer = "/nodes/0";
    return testing::list(find_op(op)->bind(node, {declared, {}, {}}).error());
  };
  for (const char* op : {"core::viewer", "core::follow", "core::recommendation"}) {
    CAPTURE(op);
    CHECK((diagnostics_of(id_only, op) == lines{"wrong_endpoint_kind /e", "unknown_key /nodes/0"}));
    CHECK((diagnostics_of(number, op) == lines{"wrong_endpoint_kind /e", "wrong_key_type /nodes/0"}));
  }
  CHECK((diagnostics_of(id_only, "core::media") == lines{"wrong_endpoint_kind /e"}));
}
