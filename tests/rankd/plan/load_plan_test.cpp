// tests/rankd/plan/load_plan_test.cpp: artifacts that are right, params of every kind, and what a diagnostic says
// besides its code. The table of wrong artifacts is tests/rankd/tables/bad_plans.ndjson.
#include <rankd/plan/load_plan.hpp>
#include <rankd/registry/digest.hpp>
#include <tests/rankd/plan/shapes.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using nlohmann::json;
using rankd::testing::diagnostics;

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
  lines diagnostics;  ///< "code pointer node"
};

const std::vector<bad_edit> bad_edits{
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

TEST_CASE("the tool that built an artifact is a text, or an object of texts") {
  const auto built = [](const std::string& by) {
    std::string text(good);
    return parse_plan(text.replace(text.find("\"dslc 1\""), 8, by), "demo.json", testing::rules());
  };
  const std::string object =
      R"({"backend":"quickjs","bundle_digest":"7e71eecd4a768874","tool":"dslc","tool_version":"0.1.0"})";
  REQUIRE(built(object));
  CHECK(built(object)->built_by == object);
  for (const char* wrong : {"{}", "[]", "1", R"({"tool":1})", R"({"tool":"a","by":null})"}) CHECK_FALSE(built(wrong));
}

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

TEST_CASE("params of kinds that no operator takes yet are checked, too") {
  for (const bad_edit& edit : bad_edits) {
    const lines found = diagnostics(replaced(edit.from, edit.to));
    std::string spelled;
    for (const std::string& line : found) spelled += "\n  " + line;
    CHECK_MESSAGE(found == edit.diagnostics, edit.from << " → " << edit.to << " gave" << spelled);
  }
}

TEST_CASE("two hundred levels of an expression are read") {
  std::string expr = R"({"op":"key_ref","key_id":1})";
  for (int i = 1; i < 200; ++i) expr = R"({"op":"neg","x":)" + expr + "}";
  CHECK(diagnostics(replaced(R"({"op": "key_ref", "key_id": 1})", expr)).empty());
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

TEST_CASE("a cycle is spelled out along the data") {
  const auto read = parse_plan(replaced("\"rhs\": \"f\"", "\"rhs\": \"a\""), "x.json", testing::rules());
  REQUIRE_FALSE(read);
  CHECK(read.error().front().message == "the nodes form a cycle: `c` → `p` → `a` → `c`");
}

TEST_CASE("a thousand nodes in a row are read") { CHECK(diagnostics(chain(1000).dump()).empty()); }

TEST_CASE("a long cycle is found without recursion and shortened in the message") {
  json document = chain(10'000);
  document["nodes"][0] = {{"node_id", "n0"}, {"op", "test::all"}, {"inputs", {"n9999"}}};
  const auto read = parse_plan(document.dump(), "x.json", testing::rules());
  REQUIRE_FALSE(read);
  CHECK(testing::list(read.error()) == lines{"cycle /nodes/0 n0"});
  CHECK(read.error().front().message.ends_with("`n7` → … (10000 nodes) → `n0`"));
}

TEST_CASE("of very many diagnostics the first are given, whatever they are about") {
  json document = json::parse(good);
  json required = json::array();
  json extensions = json::object();
  json expressions = json::object();
  for (int i = 0; i < 50'000; ++i) {
    required.push_back("cap.rfc.0009.many.v1");
    extensions["cap.rfc." + std::to_string(i)] = nullptr;
    expressions["e" + std::to_string(i)] = 0;
  }
  const auto counted = [&](const char* field, const json& value) {
    json changed = document;
    changed[field] = value;
    return diagnostics(changed.dump()).size();
  };
  CHECK(counted("capabilities_required", required) == braid::diagnostics::max_items);
  CHECK(counted("extensions", extensions) == braid::diagnostics::max_items);
  CHECK(counted("expr_table", expressions) == braid::diagnostics::max_items);
  CHECK(counted("outputs", required) == braid::diagnostics::max_items);
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
  CHECK(read->registry_digests.size() == 4);
}

TEST_CASE("a file is called as its plan, and its name is the source of diagnostics") {
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
