// tests/rankd/cli/plan_graph_text_test.cpp: the graph of a plan, as tables, JSON, Graphviz and Mermaid.
#include <rankd/cli/output/plan_graph_text.hpp>

#include <rankd/registry/file.hpp>
#include <tests/rankd/cli/project_copy.hpp>
#include <tests/rankd/cli/run_rankd.hpp>

#include <chrono>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using braid::testing::process_end;
using nlohmann::json;
using rankd::testing::has;
using rankd::testing::project_copy;
using rankd::testing::rankd_in;
using rankd::testing::words;

namespace {

/// What `rankd plans` prints of a plan of the reference project.
auto shown(words arguments) -> std::string {
  const project_copy project;
  arguments.insert(arguments.begin(), "plans");
  const process_end end = rankd_in(project.path(), std::move(arguments));
  CHECK(end.status == 0);
  CHECK(end.err.empty());
  return end.out;
}

/// A plan of one node whose texts would end a quote, a line or a tag.
auto nasty() -> plan_graph {
  plan_graph graph{.name = "n",
                   .digest = "0123456789abcdef",
                   .budget = {},
                   .capabilities = {},
                   .models = {},
                   .outputs = {"a"},
                   .request = {},
                   .nodes = {}};
  graph.nodes.push_back({.id = "a",
                         .op = "core::filter",
                         .doc = "Keeps.",
                         .sources = {},
                         .fields = {{"pred", "Key.country in [\"<b>\"]", param_kind::pred_id}},
                         .reads = {"country"},
                         .writes = {},
                         .columns = {},
                         .trace = "one\ntwo\x1b[2J \\ #",
                         .place = {},
                         .fused_with = {},
                         .is_output = true});
  return graph;
}

}  // namespace

TEST_CASE("the JSON of a plan has its nodes with params, formulas and columns by name") {
  const json plan = json::parse(shown({"reels_plan_a", "--json"}));
  CHECK(plan.at("plan") == "reels_plan_a");
  CHECK(plan.at("digest").get<std::string>().size() == 64);
  CHECK(plan.at("outputs") == json{"take"});
  CHECK(plan.at("budget") == json::object());
  const json& nodes = plan.at("nodes");
  REQUIRE(nodes.size() == 6);
  CHECK(nodes[1].at("params") == json{{"endpoint", "EP.redis_default"}, {"fanout", "10"}});
  CHECK(nodes[1].at("inputs") == json{"viewer"});
  CHECK(nodes[1].at("reads") == json{"id"});
  CHECK(nodes[2].at("node") == "score");
  CHECK(nodes[2].at("op") == "core::vm");
  CHECK(nodes[2].at("doc").get<std::string>().ends_with('.'));
  CHECK(nodes[2].at("params") ==
        json{{"out_key", "Key.final_score"}, {"expr", "Key.id * (P.media_age_penalty_weight ?? 0.2)"}});
  CHECK(nodes[2].at("reads") == json{"id"});
  CHECK(nodes[2].at("writes") == json{"final_score"});
  CHECK(nodes[3].at("params") == json{{"pred", "Key.final_score >= 0.6"}});
  CHECK(nodes[3].at("place").get<std::string>().starts_with("plans/reels_plan_a.plan.ts:11:"));
  CHECK(nodes[5].at("columns") == json{"id", "final_score", "country"});
  CHECK(nodes[5].at("output") == true);
}

TEST_CASE("without a form a plan is shown as tables, with its budget and the meaning of its operators") {
  const project_copy project;
  project.write("rankd.toml",
                read_text_file("rankd.toml").value() + "\n[budget.plan.concat_plan]\nrows = 1000\ndeadline_ms = 50\n");
  const process_end end = rankd_in(project.path(), {"plans", "concat_plan"});
  CHECK(end.status == 0);
  CHECK(has(end.out, "budget        rows 1000, deadline_ms 50\n"));
  CHECK(has(end.out, "follow, rhs: recommendation"));
  CHECK(has(end.out, "Returns the rows of the input, followed by the rows of another node."));
  CHECK(json::parse(rankd_in(project.path(), {"plans", "concat_plan", "--json"}).out).at("budget") ==
        json{{"rows", 1000}, {"deadline_ms", 50}});
}

TEST_CASE("the table of docs/rankd.md is what is printed") {
  CHECK(shown({"reels_plan_a"}) == read_text_file("tests/rankd/cli/shown/graph.txt").value());
}

TEST_CASE("Graphviz and Mermaid get a node each, an edge each, and a dashed one for a param") {
  const std::string dot = shown({"concat_plan", "--dot"});
  CHECK(dot.starts_with("digraph \"concat_plan\" {\n"));
  CHECK(has(dot, R"(  n0 [label="viewer\lcore::viewer: )"));
  CHECK(has(dot, "  n1 -> n3;\n"));
  CHECK(has(dot, "  n2 -> n3 [label=\"rhs\", style=dashed];\n"));
  CHECK(has(dot, "count: 8\\l\", peripheries=2];\n"));
  CHECK(dot.ends_with("}\n"));
  const std::string mermaid = shown({"concat_plan", "--mermaid"});
  CHECK(has(mermaid, "\nflowchart TD\n  n0[\"viewer<br/>core::viewer: "));
  CHECK(has(mermaid, "  n1 --> n3\n"));
  CHECK(has(mermaid, "  n2 -. rhs .-> n3\n"));
  CHECK(has(mermaid, "count: 8\"]]\n"));
}

TEST_CASE("texts of a plan cannot leave their quotes") {
  const std::string dot = graph_dot(nasty());
  CHECK(has(dot, R"(pred: Key.country in [\"<b>\"]\l)"));
  CHECK(has(dot, R"(trace: one\\ntwo\\x1b[2J \\ #\l)"));
  const std::string mermaid = graph_mermaid(nasty());
  CHECK(has(mermaid, "in [#34;#60;b#62;#34;]<br/>"));
  CHECK(has(mermaid, "trace: one#92;ntwo#92;x1b[2J #92; #35;"));
  CHECK(has(graph_tables(nasty()), R"(Key.country in ["<b>"])"));
}

TEST_CASE("a budget is listed in the order of rankd.toml") {
  using namespace std::chrono_literals;
  const plan_budget all{.rows = 1, .bytes = 2, .max_deadline = 3ms, .default_deadline = 4ms, .in_flight = 5};
  std::string text;
  for (const budget_line& line : list_lines(all)) text += line.name + "=" + std::to_string(line.value) + " ";
  CHECK(text == "rows=1 bytes=2 deadline_ms=3 default_deadline_ms=4 in_flight=5 ");
  CHECK(list_lines({}).empty());
}

TEST_CASE("a plan that is not there, or that is wrong, is told in the form that was asked for") {
  const project_copy project;
  const process_end typo = rankd_in(project.path(), {"plans", "reels_plan", "--dot"});
  CHECK(typo.status == 1);
  CHECK(typo.out.empty());
  CHECK(has(typo.err, "no plan is called `reels_plan`"));
  CHECK(has(typo.err, "did you mean `reels_plan_a`"));
  const process_end programs = rankd_in(project.path(), {"plans", "nothing", "--json"});
  CHECK(programs.status == 1);
  CHECK(json::parse(programs.out).at("error").at("code") == "unknown_plan");
  for (const words& line : {words{"plans", "--dot"},
                            {"plans", "a", "--dot", "--mermaid"},
                            {"plans", "a", "--json", "--dot"},
                            {"plans", ""},
                            {"plans", "a", "b"}}) {
    const process_end wrong = rankd_in(project.path(), line);
    CHECK(wrong.status == 2);
    CHECK(wrong.out.empty());
  }
}
