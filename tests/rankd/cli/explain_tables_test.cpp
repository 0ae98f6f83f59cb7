// tests/rankd/cli/explain_tables_test.cpp: explanations in columns, for people.
#include <rankd/cli/output/explain_tables.hpp>

#include <tests/rankd/op/op_world.hpp>

#include <chrono>
#include <string>

#include <doctest/doctest.h>

using namespace rankd;
using rankd::testing::op_bench;
using rankd::testing::op_world;
using std::chrono::microseconds;

namespace {

auto report(std::string node, node_state state) -> node_report {
  node_report made;
  made.node_id = std::move(node);
  made.op = "core::take";
  made.state = state;
  return made;
}

}  // namespace

TEST_CASE("nodes have a line each, with a dash for what has not happened") {
  explanation what;
  what.total = microseconds(20);
  what.nodes = {report("a", node_state::done), report("long", node_state::running), report("c", node_state::skipped)};
  what.nodes[0].ready = microseconds(1);
  what.nodes[0].started = microseconds(3);
  what.nodes[0].ended = microseconds(7);
  what.nodes[0].rows_in = 10;
  what.nodes[0].rows_out = 2;
  what.nodes[0].keys_added = {"country", "title"};
  what.nodes[0].fused_with = "c";
  what.nodes[1].ready = microseconds(7);
  what.nodes[1].started = microseconds(8);
  CHECK(nodes_text(what) ==
        "node  operator    state    wait us  run us  rows in  rows out  keys added      fused with\n"
        "----  ----------  -------  -------  ------  -------  --------  --------------  ----------\n"
        "a     core::take  done         2.0     4.0       10         2  country, title  c\n"
        "long  core::take  running      1.0       -        0         0\n"
        "c     core::take  skipped        -       -        0         0\n"
        "total: 20.0 us\n");
}

TEST_CASE("the critical path has the share of each step, the answering last") {
  explanation what;
  what.total = microseconds(20);
  what.answering = microseconds(5);
  what.critical_path = {{.node_id = "a", .waits = true, .wait = microseconds(1), .run = microseconds(9)},
                        {.node_id = "b", .waits = false, .wait = {}, .run = microseconds(5)}};
  CHECK(path_text(what) ==
        "critical path  wait us  run us  share  kind\n"
        "-------------  -------  ------  -----  --------\n"
        "a                  1.0     9.0    50%  I/O\n"
        "b                  0.0     5.0    25%  computes\n"
        "(answer)           0.0     5.0    25%\n");
  CHECK(path_text(explanation{}).find("(answer)") != std::string::npos);
}

TEST_CASE("each id has its sentence, and a line for each node at which it vanished") {
  op_bench bench;
  row_set rows = bench.rows_of({6});
  rows = bench.with<double>(rows, 1001, {0.5});
  rows = bench.with<std::string_view>(rows, 3001, {"C\x1b"});
  explanation what;
  what.ids = {{.id = 1, .positions = {2, 4}, .produced_by = {"s"}, .drops = {}},
              {.id = 2, .positions = {}, .produced_by = {}, .drops = {}},
              {.id = 6, .positions = {}, .produced_by = {"s", "t"}, .drops = {}}};
  what.ids[2].drops.push_back({.node_id = "f",
                               .op = "core::filter",
                               .reason = drop_reason::predicate,
                               .rows = 2,
                               .position = 3,
                               .input = rows,
                               .row = 0,
                               .fields = {op_world().find_key(1001U), op_world().find_key(3001U)}});
  CHECK(fates_text(what) ==
        "id 1: candidate number 2 4; given by s\n"
        "id 2: no node gave it\n"
        "id 6: no candidate; given by s, t\n"
        "  at f (core::filter): the predicate is false, row 3 of those that came in, 2 rows; score 0.5, country "
        "C\\x1b\n");
}

TEST_CASE("an id that a node merges has the inputs from which rows are taken, and left") {
  op_bench bench;
  explanation what;
  what.ids = {{.id = 1,
               .positions = {2},
               .produced_by = {"s", "t"},
               .drops = {},
               .merges = {{.node_id = "m", .from = "s", .rows = 1}}}};
  what.ids[0].drops.push_back({.node_id = "m",
                               .op = "geo::unite",
                               .reason = drop_reason::merged,
                               .rows = 1,
                               .from = "t",
                               .position = 3,
                               .input = bench.rows_of({1}),
                               .row = 0,
                               .fields = {}});
  CHECK(fates_text(what) ==
        "id 1: candidate number 2; given by s, t; m takes it from s\n"
        "  at m (geo::unite): the node uses other rows of its inputs, row 3 of those of t\n");
}

TEST_CASE("each use of a fragment has a line with its version and its nodes") {
  explanation what;
  what.fragments = {{.use = "near", .fragment = "recall", .version = "2.1.0", .nodes = {"near__follow", "near__vm"}}};
  const std::string text = nodes_text(what);
  CHECK(text.find("\nfragment near: recall 2.1.0: near__follow, near__vm\n") != std::string::npos);
}
