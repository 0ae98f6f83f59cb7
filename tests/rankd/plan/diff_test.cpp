// tests/rankd/plan/diff_test.cpp: which nodes of two plans are the same, and what is said to differ.
#include <rankd/plan/diff.hpp>

#include <rankd/plan/load_plan.hpp>
#include <tests/rankd/plan/shapes.hpp>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using nlohmann::json;
using lines = std::vector<std::string>;

namespace {

auto node(std::string id, std::string op, std::vector<std::string> inputs, json params) -> json {
  return {
      {"node_id", std::move(id)}, {"op", std::move(op)}, {"inputs", std::move(inputs)}, {"params", std::move(params)}};
}

const json endpoint = {{"endpoint", "ep_0001"}};

auto follow(std::string id, std::string input, int fanout) -> json {
  return node(std::move(id), "core::follow", {std::move(input)}, {{"endpoint", "ep_0001"}, {"fanout", fanout}});
}

/// viewer → two follows → concat → score → take
auto base() -> json {
  return {{"schema_version", 1},
          {"plan_name", "demo"},
          {"expr_table", {{"e", {{"op", "key_ref"}, {"key_id", 1}}}}},
          {"nodes",
           {node("v", "core::viewer", {}, endpoint), follow("near", "v", 5), follow("far", "v", 9),
            node("both", "core::concat", {"near"}, {{"rhs", "far"}}),
            node("score", "core::vm", {"both"}, {{"out_key", 2001}, {"expr_id", "e"}}),
            node("best", "core::take", {"score"}, {{"count", 3}})}},
          {"outputs", {"best"}}};
}

auto loaded(const json& artifact) -> plan {
  auto parsed = parse_plan(artifact.dump(), "demo.json", rankd::testing::rules());
  REQUIRE_MESSAGE(parsed.has_value(), (parsed ? "" : parsed.error().to_text()));
  return std::move(*parsed);
}

auto changes(const json& before, const json& after) -> std::vector<plan_change> {
  const plan one = loaded(before);
  const plan other = loaded(after);
  return differences({one, rankd::testing::declared()}, {other, rankd::testing::declared()});
}

/// "kind node was field before after", with `-` for what is empty or missing.
auto said(const json& before, const json& after) -> lines {
  lines out;
  const auto or_dash = [](const std::string& text) { return text.empty() ? std::string("-") : text; };
  for (const plan_change& each : changes(before, after))
    out.push_back(std::string(to_string(each.kind)) + " " + or_dash(each.node) + " " + or_dash(each.was) + " " +
                  or_dash(each.field) + " | " + each.before.value_or("-") + " | " + each.after.value_or("-"));
  return out;
}

/// The text with one word for another wherever it stands as a whole string.
auto renamed(const json& artifact, const std::string& from, const std::string& to) -> json {
  std::string text = artifact.dump();
  const std::string old = "\"" + from + "\"";
  for (std::size_t at = 0; (at = text.find(old, at)) != std::string::npos; at += to.size() + 2)
    text.replace(at, old.size(), "\"" + to + "\"");
  return json::parse(text);
}

}  // namespace

TEST_CASE("equal plans differ in nothing, whatever their names, locations and the order of their nodes") {
  json other = base();
  CHECK(said(base(), other) == lines{});
  other["source_files"] = {"other.plan.ts"};
  other["built_by"] = "somebody";
  std::swap(other["nodes"][1], other["nodes"][2]);
  other = renamed(other, "e", "another_tree");
  CHECK(said(base(), other) == lines{});
}

TEST_CASE("a param and a formula that differ are printed before and after, by name") {
  json other = base();
  other["nodes"][1]["params"]["fanout"] = 6;
  other["expr_table"]["e"] = {
      {"op", "mul"}, {"a", {{"op", "key_ref"}, {"key_id", 1}}}, {"b", {{"op", "const_number"}, {"value", 2}}}};
  other["nodes"][5]["params"]["trace"] = "t";
  CHECK(said(base(), other) == lines{"changed near - fanout | 5 | 6", "changed score - expr | Key.id | Key.id * 2",
                                     "changed best - trace | - | t"});
  CHECK(said(other, base()).back() == "changed best - trace | t | -");
}

TEST_CASE("a node that only has another id is renamed, and so are all of a chain") {
  CHECK(said(base(), renamed(base(), "far", "further")) == lines{"renamed further far - | far | further"});
  json other = base();
  for (const char* id : {"v", "near", "far", "both", "score", "best"})
    other = renamed(other, id, std::string("x_") + id);
  const lines all = said(base(), other);
  CHECK(all.size() == 6);
  CHECK(std::ranges::all_of(all, [](const std::string& line) { return line.starts_with("renamed x_"); }));
}

TEST_CASE("nodes without a matched neighbour are found by their content") {
  json one = base();
  one["outputs"] = {"best", "score"};
  json other = base();
  for (const char* id : {"v", "near", "far", "both", "score", "best"})
    other = renamed(other, id, std::string("x_") + id);
  other["outputs"] = {"x_score", "x_best"};
  const lines all = said(one, other);
  CHECK(all.size() == 7);
  CHECK(all.back() == "changed - - outputs | best, score | x_score, x_best");
}

TEST_CASE("a node with another id and another param is found by its neighbours") {
  json other = renamed(base(), "best", "top");
  other["nodes"][5]["params"]["count"] = 4;
  CHECK(said(base(), other) == lines{"renamed top best - | best | top", "changed top best count | 3 | 4"});
}

TEST_CASE("of several that could be the same, the one with equal params is") {
  json other = base();
  other["nodes"][1] = follow("a", "v", 9);
  other["nodes"][2] = follow("b", "v", 6);
  other["nodes"][3] = node("both", "core::concat", {"b"}, {{"rhs", "a"}});
  CHECK(said(base(), other) ==
        lines{"renamed a far - | far | a", "renamed b near - | near | b", "changed b near fanout | 5 | 6"});
}

TEST_CASE("a node that takes other rows is moved, be it by an input or by a param") {
  json other = base();
  other["nodes"][2]["inputs"] = {"near"};
  CHECK(said(base(), other) == lines{"moved far - inputs | v | near"});
  json swapped = base();
  swapped["nodes"][3] = node("both", "core::concat", {"far"}, {{"rhs", "near"}});
  CHECK(said(base(), swapped) == lines{"moved both - inputs | near | far", "moved both - rhs | far | near"});
}

TEST_CASE("a node in between is added, and the one after it takes other rows") {
  json other = base();
  other["pred_table"] = {{"p", {{"op", "const_bool"}, {"value", true}}}};
  other["nodes"].push_back(node("cut", "core::filter", {"score"}, {{"pred_id", "p"}}));
  other["nodes"][5]["inputs"] = {"cut"};
  CHECK(said(base(), other) ==
        lines{"moved best - inputs | score | cut", "added cut - - | - | core::filter, inputs: score, pred: true"});
  CHECK(said(other, base()) ==
        lines{"removed cut - - | core::filter, inputs: score, pred: true | -", "moved best - inputs | cut | score"});
}

TEST_CASE("the same id with another operator is another node") {
  json other = base();
  other["pred_table"] = {{"p", {{"op", "const_bool"}, {"value", true}}}};
  other["nodes"][5] = node("best", "core::filter", {"score"}, {{"pred_id", "p"}});
  CHECK(said(base(), other) == lines{"removed best - - | core::take, inputs: score, count: 3 | -",
                                     "added best - - | - | core::filter, inputs: score, pred: true",
                                     "changed - - outputs | best | best"});
}

TEST_CASE("outputs and extensions belong to the plan") {
  json other = base();
  other["outputs"] = {"best", "score"};
  other["capabilities_required"] = {"cap.rfc.0001.math.v1"};
  other["extensions"] = {{"cap.rfc.0001.math.v1", {{"a", 1}}}};
  other["nodes"][5]["extensions"] = {{"cap.rfc.0001.math.v1", nullptr}};
  CHECK(said(base(), other) == lines{"changed best - cap.rfc.0001.math.v1 | - | null",
                                     "changed - - outputs | best | best, score",
                                     R"(changed - - cap.rfc.0001.math.v1 | - | {"a":1})"});
}

TEST_CASE("whatever is renamed and shuffled, a large plan is the same, and one edit is one change") {
  constexpr int count = 300;
  std::mt19937 random(7);  // NOLINT: the same plan every time
  json one = base();
  json& nodes = one["nodes"];
  nodes = json::array({node("n0", "core::viewer", {}, endpoint)});
  for (int at = 1; at < count; ++at) {
    const std::string source = "n" + std::to_string(random() % static_cast<unsigned>(at));
    nodes.push_back(follow("n" + std::to_string(at), source, static_cast<int>(random() % 5) + 1));
  }
  one["outputs"] = json::array();
  for (int at = 0; at < count; ++at) one["outputs"].push_back("n" + std::to_string(at));
  one.erase("expr_table");
  json other = one;
  for (json& each : other["nodes"]) {
    each["node_id"] = "m" + each["node_id"].get<std::string>();
    for (json& input : each["inputs"]) input = "m" + input.get<std::string>();
  }
  for (json& output : other["outputs"]) output = "m" + output.get<std::string>();
  std::ranges::shuffle(other["nodes"].get_ref<json::array_t&>(), random);
  const auto all = changes(one, other);
  const auto is_rename = [](const plan_change& each) { return each.kind == change_kind::renamed; };
  CHECK(std::ranges::count_if(all, is_rename) == count);

  json edited = one;
  edited["nodes"][7]["params"]["fanout"] = 77;
  CHECK(changes(one, edited).size() == 1);
}
