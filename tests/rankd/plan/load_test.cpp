// tests/rankd/plan/load_test.cpp: artifacts that are right, and a table of everything that can be wrong with one.
#include <rankd/plan/load.hpp>
#include <rankd/registry/digest.hpp>
#include <tests/rankd/plan/shapes.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using nlohmann::json;
using rankd::testing::complaints;

namespace {

using lines = std::vector<std::string>;

/// Uses every field that an artifact may have.
constexpr std::string_view good = R"({
  "schema_version": 1,
  "plan_name": "demo",
  "built_by": "dslc 1",
  "capabilities_required": ["cap.rfc.0001.math.v1", "cap.rfc.0003.more.v1"],
  "extensions": {"cap.rfc.0001.math.v1": {"b": 1, "a": [2.0]}},
  "source_files": ["demo.plan.ts"],
  "source_spans": {"p": {"file": 0, "line": 3, "column": 4, "end_line": 3, "end_column": 9}},
  "expr_table": {"e": {"op": "key_ref", "key_id": 1}},
  "pred_table": {"p": {"op": "const_bool", "value": true}},
  "nodes": [
    {"node_id": "v", "op": "core::viewer", "inputs": [], "params": {"endpoint": "ep_0001"}},
    {"node_id": "f", "op": "core::follow", "inputs": ["v"], "params": {"endpoint": "ep_0001", "fanout": 10, "trace": "t"},
     "extensions": {"cap.rfc.0001.math.v1": null},
     "source_span": {"file": 0, "line": 1, "column": 2, "end_line": 1, "end_column": 8}},
    {"node_id": "m", "op": "core::vm", "inputs": ["f"], "params": {"out_key": 2001, "expr_id": "e"}},
    {"node_id": "c", "op": "core::concat", "inputs": ["m"], "params": {"rhs": "f", "trace": null}},
    {"node_id": "p", "op": "core::filter", "inputs": ["c"], "params": {"pred_id": "p"}},
    {"node_id": "a", "op": "test::all", "inputs": ["p"],
     "params": {"order": "desc", "weight": 0.5, "strict": true, "label": null, "select": [1, 3001]}},
    {"node_id": "n", "op": "test::all", "inputs": ["a"], "params": null},
    {"node_id": "t", "op": "core::take", "inputs": ["n"], "params": {"count": 5}}
  ],
  "outputs": ["t", "f"]
})";

struct bad_edit {
  std::string_view from;
  std::string_view to;
  lines complaints;  ///< "code pointer node"
};

const std::vector<bad_edit> bad_edits{
    // the top level
    {"\"schema_version\": 1", "\"schema_version\": 2", {"unsupported_schema /schema_version"}},
    {"\"schema_version\": 1", "\"schema_version\": 1.0", {"wrong_type /schema_version"}},
    {"\"schema_version\": 1", "\"schema_version\": \"1\"", {"wrong_type /schema_version"}},
    {"\"schema_version\": 1", "\"schema_version\": true", {"wrong_type /schema_version"}},
    {"\"schema_version\": 1", "\"schema_version\": null", {"wrong_type /schema_version"}},
    {"\"schema_version\": 1", "\"schema_version\": 4294967297", {"unsupported_schema /schema_version"}},
    {"\"schema_version\": 1,", "", {"missing_field "}},
    {"\"schema_version\": 1,", "\"schema_version\": 1, \"schema_version\": 1,", {"duplicate_field /schema_version"}},
    {"\"plan_name\": \"demo\"", "\"plan_name\": \"de-mo\"", {"bad_name /plan_name"}},
    {"\"plan_name\": \"demo\"", "\"plan_name\": \"\"", {"bad_name /plan_name"}},
    {"\"plan_name\": \"demo\"", "\"plan_name\": 7", {"wrong_type /plan_name"}},
    {"\"plan_name\": \"demo\",", "", {"missing_field "}},
    {"\"built_by\"", "\"build_by\"", {"unknown_field /build_by"}},
    {"\"dslc 1\"", "{}", {"wrong_type /built_by"}},
    {"\"dslc 1\"", "\"\xFF\"", {"invalid_utf8 "}},
    {"\"dslc 1\"", "1e400", {"number_out_of_range /built_by"}},
    {"\"outputs\"", "\"output\"", {"missing_field ", "unknown_field /output"}},
    {"[\"t\", \"f\"]", "[]", {"no_outputs /outputs"}},
    {"[\"t\", \"f\"]", "\"t\"", {"wrong_type /outputs"}},
    {"[\"t\", \"f\"]", "[\"t\", 3]", {"wrong_type /outputs/1"}},
    {"[\"t\", \"f\"]", "[\"t\", \"tt\"]", {"unknown_node /outputs/1"}},
    {"[\"t\", \"f\"]", "[\"t\", \"f\", \"t\"]", {"duplicate_value /outputs/2"}},
    {"[\"t\", \"f\"]",
     "[\"f\"]",
     {"reaches_no_output /nodes/2 m", "reaches_no_output /nodes/3 c", "reaches_no_output /nodes/4 p",
      "reaches_no_output /nodes/5 a", "reaches_no_output /nodes/6 n", "reaches_no_output /nodes/7 t"}},
    // capabilities, extensions, origin
    {"[\"cap.rfc.0001.math.v1\", \"cap.rfc.0003.more.v1\"]",
     "{}",
     {"wrong_type /capabilities_required", "capability_not_required /extensions/cap.rfc.0001.math.v1",
      "capability_not_required /nodes/1/extensions/cap.rfc.0001.math.v1 f"}},
    {"\"cap.rfc.0003.more.v1\"]", "7]", {"wrong_type /capabilities_required/1"}},
    {"\"cap.rfc.0003.more.v1\"]", "\"cap.rfc.3.more.v1\"]", {"bad_capability_id /capabilities_required/1"}},
    {"\"cap.rfc.0003.more.v1\"]", "\"cap.rfc.0003.more.v2\"]", {"unsupported_capability /capabilities_required/1"}},
    {"\"cap.rfc.0003.more.v1\"]", "\"cap.rfc.0002.old.v1\"]", {"unsupported_capability /capabilities_required/1"}},
    {"\"cap.rfc.0003.more.v1\"]", "\"cap.rfc.0001.math.v1\"]", {"duplicate_value /capabilities_required/1"}},
    {"[\"cap.rfc.0001.math.v1\", \"cap.rfc.0003.more.v1\"]",
     "[\"cap.rfc.0003.more.v1\", \"cap.rfc.0001.math.v1\"]",
     {"not_sorted /capabilities_required/1"}},
    {"{\"cap.rfc.0001.math.v1\": {",
     "{\"cap.rfc.0004.x.v1\": {",
     {"capability_not_required /extensions/cap.rfc.0004.x.v1"}},
    {"{\"cap.rfc.0001.math.v1\": null}", "{\"math\": null}", {"capability_not_required /nodes/1/extensions/math f"}},
    {"{\"cap.rfc.0001.math.v1\": null}", "[]", {"wrong_type /nodes/1/extensions f"}},
    {"[\"demo.plan.ts\"]", "[1]", {"wrong_type /source_files/0"}},
    {"\"source_spans\": {\"p\"", "\"source_spans\": {\"q\"", {"unknown_expr /source_spans/q"}},
    {"\"source_spans\": {\"p\"", "\"source_spans\": {\"p/x\"", {"unknown_expr /source_spans/p~1x"}},
    {"\"source_spans\": {\"p\"", "\"source_spans\": {\"\"", {"unknown_expr /source_spans/"}},
    {"\"file\": 0, \"line\": 3", "\"file\": 1, \"line\": 3", {"out_of_range /source_spans/p/file"}},
    {"\"line\": 3, ", "\"line\": 0, ", {"out_of_range /source_spans/p/line"}},
    {"\"line\": 1, \"column\": 2",
     "\"column\": 2.5",
     {"missing_field /nodes/1/source_span f", "wrong_type /nodes/1/source_span/column f"}},
    {"\"built_by\": \"dslc 1\"", "\"registry_digests\": {\"keys\": \"abc\"}", {"bad_value /registry_digests/keys"}},
    {"\"built_by\": \"dslc 1\"", "\"registry_digests\": {\"key\": \"abc\"}", {"unknown_field /registry_digests/key"}},
    {"\"built_by\": \"dslc 1\"",
     "\"registry_digests\": {\"params\": \"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"}",
     {"registry_changed /registry_digests/params"}},
    // tables
    {"{\"e\": {\"op\": \"key_ref\", \"key_id\": 1}}",
     "[]",
     {"wrong_type /expr_table", "unknown_expr /nodes/2/params/expr_id m"}},
    {"{\"e\": {", "{\"e 1\": {", {"bad_name /expr_table/e 1", "unknown_expr /nodes/2/params/expr_id m"}},
    {"\"key_id\": 1}", "\"key_id\": 4294967301}", {"out_of_range /expr_table/e/key_id"}},
    {"\"key_id\": 1}", "\"key_id\": 9223372036854775808}", {"out_of_range /expr_table/e/key_id"}},
    {"\"key_id\": 1}", "\"key_id\": 1e400}", {"number_out_of_range /expr_table/e/key_id"}},
    {"\"op\": \"key_ref\"", "\"op\": \"key_reff\"", {"unknown_op /expr_table/e/op"}},
    {"\"value\": true", "\"value\": 1", {"wrong_type /pred_table/p/value"}},
    // nodes
    {"\"node_id\": \"m\", ", "", {"missing_field /nodes/2", "unknown_node /nodes/3/inputs/0 c"}},
    {"\"node_id\": \"m\"",
     "\"node_id\": \"m m\"",
     {"bad_name /nodes/2/node_id m m", "unknown_node /nodes/3/inputs/0 c"}},
    {"\"node_id\": \"t\"", "\"node_id\": \"v\"", {"duplicate_node /nodes/7/node_id v", "unknown_node /outputs/0"}},
    {"\"node_id\": \"n\"", "\"node_id\": 3", {"wrong_type /nodes/6/node_id", "unknown_node /nodes/7/inputs/0 t"}},
    {"\"op\": \"core::vm\"", "\"op\": \"core::wm\"", {"unknown_op /nodes/2/op m"}},
    {"\"op\": \"core::vm\"", "\"op\": null", {"wrong_type /nodes/2/op m"}},
    {"\"op\": \"core::vm\"", "\"opp\": \"core::vm\"", {"missing_field /nodes/2 m", "unknown_field /nodes/2/opp m"}},
    {"\"inputs\": [\"f\"], ", "", {"missing_field /nodes/2 m"}},
    {"\"inputs\": [\"f\"]", "\"inputs\": null", {"wrong_type /nodes/2/inputs m"}},
    {"\"inputs\": [\"f\"]", "\"inputs\": [\"f\", \"v\"]", {"wrong_input_count /nodes/2/inputs m"}},
    {"\"inputs\": [\"f\"]", "\"inputs\": []", {"wrong_input_count /nodes/2/inputs m"}},
    {"\"inputs\": []", "\"inputs\": [\"f\"]", {"wrong_input_count /nodes/0/inputs v", "cycle /nodes/0 v"}},
    {"\"inputs\": [\"f\"]", "\"inputs\": [1]", {"wrong_type /nodes/2/inputs/0 m"}},
    {"\"inputs\": [\"f\"]", "\"inputs\": [\"ff\"]", {"unknown_node /nodes/2/inputs/0 m"}},
    {"\"params\": null", "\"params\": []", {"wrong_type /nodes/6/params n"}},
    {"\"params\": null", "\"parms\": null", {"unknown_field /nodes/6/parms n"}},
    // circles
    {"\"inputs\": [\"f\"]", "\"inputs\": [\"m\"]", {"cycle /nodes/2 m"}},
    {"\"inputs\": [\"f\"]", "\"inputs\": [\"c\"]", {"cycle /nodes/2 m"}},
    {"\"rhs\": \"f\"", "\"rhs\": \"t\"", {"cycle /nodes/3 c"}},
    {"\"rhs\": \"f\"", "\"rhs\": \"c\"", {"cycle /nodes/3 c"}},
    // params
    {"\"rhs\": \"f\"", "\"rhs\": \"g\"", {"unknown_node /nodes/3/params/rhs c"}},
    {"\"rhs\": \"f\"", "\"rhs\": null", {"wrong_type /nodes/3/params/rhs c"}},
    {"\"rhs\": \"f\", ", "", {"missing_field /nodes/3/params c"}},
    {"\"fanout\": 10", "\"fanout\": 0", {"out_of_range /nodes/1/params/fanout f"}},
    {"\"fanout\": 10", "\"fanout\": 10000001", {"out_of_range /nodes/1/params/fanout f"}},
    {"\"fanout\": 10", "\"fanout\": 1.5", {"wrong_type /nodes/1/params/fanout f"}},
    {"\"fanout\": 10", "\"fanout\": 10.0", {"wrong_type /nodes/1/params/fanout f"}},
    {"\"fanout\": 10", "\"fanout\": null", {"wrong_type /nodes/1/params/fanout f"}},
    {"\"fanout\": 10", "\"fanout\": \"10\"", {"wrong_type /nodes/1/params/fanout f"}},
    {"\"fanout\": 10", "\"fanuot\": 10", {"missing_field /nodes/1/params f", "unknown_field /nodes/1/params/fanuot f"}},
    {"\"fanout\": 10", "\"fanout\": 10, \"fanout\": 11", {"duplicate_field /nodes/1/params/fanout"}},
    {"\"trace\": \"t\"", "\"trace\": 1", {"wrong_type /nodes/1/params/trace f"}},
    {"\"count\": 5", "\"count\": 9223372036854775808", {"out_of_range /nodes/7/params/count t"}},
    {"\"count\": 5", "\"count\": -1", {"out_of_range /nodes/7/params/count t"}},
    {"\"count\": 5", "\"count\": 18446744073709551616", {"number_out_of_range /nodes/7/params/count"}},
    {"\"out_key\": 2001", "\"out_key\": 4294967301", {"out_of_range /nodes/2/params/out_key m"}},
    {"\"out_key\": 2001", "\"out_key\": 0", {"out_of_range /nodes/2/params/out_key m"}},
    {"\"expr_id\": \"e\"", "\"expr_id\": \"p\"", {"unknown_expr /nodes/2/params/expr_id m"}},
    {"\"expr_id\": \"e\"", "\"expr_id\": {}", {"wrong_type /nodes/2/params/expr_id m"}},
    {"\"pred_id\": \"p\"", "\"pred_id\": \"e\"", {"unknown_pred /nodes/4/params/pred_id p"}},
    {"\"endpoint\": \"ep_0001\"}", "\"endpoint\": \"redis\"}", {"bad_endpoint_id /nodes/0/params/endpoint v"}},
    {"\"desc\"", "\"down\"", {"bad_value /nodes/5/params/order a"}},
    {"\"weight\": 0.5", "\"weight\": 1.5", {"out_of_range /nodes/5/params/weight a"}},
    {"\"weight\": 0.5", "\"weight\": \"x\"", {"wrong_type /nodes/5/params/weight a"}},
    {"\"strict\": true", "\"strict\": 1", {"wrong_type /nodes/5/params/strict a"}},
    {"\"strict\": true", "\"strict\": null", {"wrong_type /nodes/5/params/strict a"}},
    {"\"label\": null", "\"label\": []", {"wrong_type /nodes/5/params/label a"}},
    {"[1, 3001]",
     "[1, 4294967297, 1, \"x\"]",
     {"out_of_range /nodes/5/params/select/1 a", "duplicate_value /nodes/5/params/select/2 a",
      "wrong_type /nodes/5/params/select/3 a"}},
    {"[1, 3001]", "1", {"wrong_type /nodes/5/params/select a"}},
};

auto replaced(std::string_view from, std::string_view to) -> std::string {
  std::string text(good);
  const std::size_t at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  return text.replace(at, from.size(), to);
}

/// A chain v → n1 → … of `count` nodes.
auto chain(std::size_t count) -> json {
  json nodes = json::array(
      {{{"node_id", "n0"}, {"op", "core::viewer"}, {"inputs", json::array()}, {"params", {{"endpoint", "ep_0001"}}}}});
  for (std::size_t i = 1; i < count; ++i)
    nodes.push_back({{"node_id", "n" + std::to_string(i)},
                     {"op", "test::all"},
                     {"inputs", json::array({"n" + std::to_string(i - 1)})}});
  return {{"schema_version", 1},
          {"plan_name", "chain"},
          {"nodes", std::move(nodes)},
          {"outputs", json::array({"n" + std::to_string(count - 1)})}};
}

auto ids_of(const plan& loaded, const std::vector<node_index>& indices) -> lines {
  lines out;
  for (const node_index i : indices) out.push_back(loaded.nodes[i].node_id);
  return out;
}

}  // namespace

TEST_CASE("a right artifact becomes a plan without names to look up") {
  const auto read = parse_plan(good, "demo.json", testing::rules());
  REQUIRE_MESSAGE(read, (read ? "" : read.error().to_text()));
  CHECK(read->plan_name == "demo");
  CHECK(read->built_by == "dslc 1");
  CHECK(read->digest == sha256_hex(good));
  CHECK(ids_of(*read, read->outputs) == lines{"t", "f"});
  CHECK(ids_of(*read, read->order) == lines{"v", "f", "m", "c", "p", "a", "n", "t"});
  CHECK(read->extensions.size() == 1);
  CHECK(read->extensions[0].payload == R"({"a":[2],"b":1})");
  REQUIRE(read->tree_spans.size() == 1);
  CHECK(read->tree_spans[0].pointer == "/pred_table/p");
  CHECK(read->tree_spans[0].span.end_column == 9);

  const plan_node& follow = read->nodes[1];
  CHECK(follow.pointer == "/nodes/1");
  CHECK(follow.op == "core::follow");
  CHECK(follow.trace == "t");
  CHECK(follow.extensions[0].payload == "null");
  CHECK(follow.span->line == 1);
  CHECK(follow.inputs == std::vector<node_index>{0});
  CHECK(follow.find_param("fanout")->value == scalar(std::int64_t{10}));
  CHECK(follow.find_param("fanout")->pointer == "/nodes/1/params/fanout");
  CHECK(follow.find_param("endpoint")->value == scalar(std::string("ep_0001")));
  CHECK(follow.find_param("trace") == nullptr);
}

TEST_CASE("references are positions, and a node_ref is an edge") {
  const auto read = parse_plan(good, "demo.json", testing::rules());
  REQUIRE(read);
  const plan_node& concat = read->nodes[3];
  CHECK_FALSE(concat.trace);
  CHECK(concat.find_param("rhs")->index() == 1);
  CHECK(concat.inputs == std::vector<node_index>{2});
  CHECK(concat.sources == std::vector<node_index>{2, 1});
  CHECK(read->nodes[2].find_param("expr_id")->index() == 0);
  CHECK(read->nodes[2].find_param("out_key")->index() == 2001);
  CHECK(read->nodes[4].find_param("pred_id")->kind == param_kind::pred_id);
}

TEST_CASE("every kind of param is read, and absent ones are not there") {
  const auto read = parse_plan(good, "demo.json", testing::rules());
  REQUIRE(read);
  const plan_node& all = read->nodes[5];
  CHECK(all.find_param("order")->value == scalar(std::string("desc")));
  CHECK(all.find_param("weight")->value == scalar(0.5));
  CHECK(all.find_param("strict")->value == scalar(true));
  CHECK(all.find_param("label") == nullptr);
  CHECK(all.find_param("select")->key_ids == std::vector<std::uint32_t>{1, 3001});
  CHECK(all.find_param("other") == nullptr);
  CHECK(read->nodes[6].params.empty());
}

TEST_CASE("each fault is named by its code, place and node, and nothing else is said") {
  for (const bad_edit& edit : bad_edits) {
    const lines found = complaints(replaced(edit.from, edit.to));
    std::string spelled;
    for (const std::string& line : found) spelled += "\n  " + line;
    CHECK_MESSAGE(found == edit.complaints, edit.from << " → " << edit.to << " gave" << spelled);
  }
}

TEST_CASE("what is no object is refused") {
  for (const char* text : {"[]", "3", "null", "\"x\""}) CHECK(complaints(text) == lines{"wrong_type "});
}

TEST_CASE("depth is refused before it can hurt") {
  CHECK(complaints(replaced("\"dslc 1\"", std::string(300'000, '[') + std::string(300'000, ']'))) ==
        lines{"json_too_deep "});
  std::string expr = R"({"op":"key_ref","key_id":1})";
  for (int i = 1; i < 200; ++i) expr = R"({"op":"neg","x":)" + expr + "}";
  const std::string_view leaf = R"({"op": "key_ref", "key_id": 1})";
  CHECK(complaints(replaced(leaf, expr)).empty());
  const lines deeper = complaints(replaced(leaf, R"({"op":"neg","x":)" + expr + "}"));
  REQUIRE(deeper.size() == 1);
  CHECK(deeper[0].starts_with("expr_too_deep /expr_table/e"));
}

TEST_CASE("complaints about several places come at once") {
  std::string text = replaced("\"fanout\": 10", "\"fanout\": 0");
  text.replace(text.find("\"count\": 5"), 10, "\"cuont\": 5");
  text.replace(text.find("\"demo\""), 6, "\"d e\"");
  CHECK(complaints(text) == lines{"bad_name /plan_name", "out_of_range /nodes/1/params/fanout f",
                                  "missing_field /nodes/7/params t", "unknown_field /nodes/7/params/cuont t"});
}

TEST_CASE("hints name what was probably meant") {
  const auto hint = [](std::string_view from, std::string_view to) {
    const auto read = parse_plan(replaced(from, to), "x.json", testing::rules());
    REQUIRE_FALSE(read);
    return read.error().begin()[static_cast<std::ptrdiff_t>(read.error().size()) - 1].hint;
  };
  CHECK(hint("core::vm", "core::wm") == "did you mean `core::vm`?");
  CHECK(hint("\"fanout\"", "\"fanuot\"") == "did you mean `fanout`?");
  CHECK(hint("\"built_by\"", "\"build_by\"") == "did you mean `built_by`?");
  CHECK(hint("cap.rfc.0003.more.v1\"]", "cap.rfc.0003.more.v2\"]") == "did you mean `cap.rfc.0003.more.v1`?");
}

TEST_CASE("a circle is spelled out along the data") {
  const auto read = parse_plan(replaced("\"rhs\": \"f\"", "\"rhs\": \"a\""), "x.json", testing::rules());
  REQUIRE_FALSE(read);
  CHECK(read.error().front().message == "the nodes form a circle: `c` → `p` → `a` → `c`");
}

TEST_CASE("every one of several circles is named") {
  std::string text = replaced("\"rhs\": \"f\"", "\"rhs\": \"c\"");
  text.replace(text.find("\"inputs\": [\"n\"]"), 15, "\"inputs\": [\"t\"]");
  CHECK(complaints(text) == lines{"cycle /nodes/3 c", "cycle /nodes/7 t"});
}

TEST_CASE("a plan of a thousand nodes in a row is the deepest") {
  CHECK(complaints(chain(1000).dump()).empty());
  CHECK(complaints(chain(1001).dump()) == lines{"plan_too_deep /nodes/1000 n1000"});
}

TEST_CASE("a long circle is found without recursion and shortened in the message") {
  json document = chain(10'000);
  document["nodes"][0] = {{"node_id", "n0"}, {"op", "test::all"}, {"inputs", {"n9999"}}};
  const auto read = parse_plan(document.dump(), "x.json", testing::rules());
  REQUIRE_FALSE(read);
  CHECK(testing::list(read.error()) == lines{"cycle /nodes/0 n0"});
  CHECK(read.error().front().message.ends_with("`n7` → … (10000 nodes) → `n0`"));
}

TEST_CASE("more nodes or edges than allowed are refused at once") {
  CHECK(complaints(chain(10'001).dump()) == lines{"too_many_nodes /nodes"});
  json document = chain(2);
  json& inputs = document["nodes"][1]["inputs"];
  inputs = json::array();
  for (int i = 0; i < 100'001; ++i) inputs.push_back("n0");
  CHECK(complaints(document.dump()) == lines{"wrong_input_count /nodes/1/inputs n1", "too_many_edges /nodes"});
}

TEST_CASE("of several nodes that could be next the first of the artifact is next") {
  json document = chain(2);
  document["nodes"] =
      json::array({{{"node_id", "late"}, {"op", "core::concat"}, {"inputs", {"b"}}, {"params", {{"rhs", "a"}}}}});
  for (const char* id : {"b", "a"})
    document["nodes"].push_back(
        {{"node_id", id}, {"op", "core::viewer"}, {"inputs", json::array()}, {"params", {{"endpoint", "ep_0001"}}}});
  document["outputs"] = {"late"};
  const auto read = parse_plan(document.dump(), "x.json", testing::rules());
  REQUIRE(read);
  CHECK(ids_of(*read, read->order) == lines{"b", "a", "late"});
}

TEST_CASE("digests of the registries that the plan was built with are accepted") {
  json document = json::parse(good);
  for (const auto& digest : testing::declared().digests()) document["registry_digests"][digest.name] = digest.sha256;
  const auto read = parse_plan(document.dump(), "x.json", testing::rules());
  REQUIRE(read);
  CHECK(read->registry_digests.size() == 5);
}

TEST_CASE("a file is called as its plan, and its name is the source of complaints") {
  const braid::testing::scratch_folder folder;
  CHECK(load_plan(folder.write("demo.json", good), testing::rules()).has_value());
  const auto file = folder.write("other.json", good);
  const auto refused = load_plan(file, testing::rules());
  REQUIRE_FALSE(refused);
  CHECK(testing::list(refused.error()) == lines{"name_mismatch /plan_name"});
  CHECK(refused.error().front().source == file.string());
}

TEST_CASE("the reference plans of the repository have the shape that is measured") {
  const registries declared = registries::load("registry", "test").value();
  const auto load = [&declared](const std::string& name) {
    return load_plan("plans/compiled/" + name + ".json", {.ops = testing::ops, .declared = declared});
  };
  const auto reels = load("reels_plan_a");
  REQUIRE(reels);
  lines ops;
  for (const node_index i : reels->order) ops.push_back(reels->nodes[i].op);
  CHECK(ops == lines{"core::viewer", "core::follow", "core::vm", "core::filter", "core::vm", "core::take"});
  CHECK(reels->nodes[1].find_param("fanout")->value == scalar(std::int64_t{10}));
  CHECK(reels->nodes[5].find_param("count")->value == scalar(std::int64_t{5}));

  const auto concat = load("concat_plan");
  REQUIRE(concat);
  ops.clear();
  for (const node_index i : concat->order) ops.push_back(concat->nodes[i].op);
  CHECK(ops == lines{"core::viewer", "core::follow", "core::recommendation", "core::concat", "core::take"});
  CHECK(concat->nodes[3].sources == std::vector<node_index>{1, 2});
}
