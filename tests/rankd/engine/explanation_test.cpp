// tests/rankd/engine/explanation_test.cpp: explanations as JSON, byte for byte.
#include <rankd/engine/explain/explanation.hpp>

#include <tests/rankd/op/op_world.hpp>

#include <chrono>
#include <string>

#include <doctest/doctest.h>

using namespace rankd;
using rankd::testing::op_bench;
using rankd::testing::op_world;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

TEST_CASE("the empty explanation has its lists") {
  CHECK(to_json(explanation{}) == R"({"plan_digest":"","total_us":0,"critical_path":[],"answering_us":0,"nodes":[]})");
}

TEST_CASE("nodes have their times in microseconds, as far as they have happened") {
  explanation what;
  what.plan_digest = "d";
  what.total = nanoseconds(12'500);
  what.answering = nanoseconds(250);
  what.critical_path = {{.node_id = "a", .waits = true, .wait = microseconds(3), .run = microseconds(9)},
                        {.node_id = "b", .waits = false, .wait = {}, .run = nanoseconds(250)}};
  node_report done{.node_id = "a",
                   .op = "core::viewer",
                   .state = node_state::done,
                   .fused_with = "",
                   .ready = microseconds(1),
                   .started = microseconds(3),
                   .ended = nanoseconds(7'250),
                   .waits = true,
                   .rows_in = 0,
                   .rows_out = 1,
                   .keys_added = {"country", "title"}};
  node_report running = done;
  running.state = node_state::running;
  running.waits = false;
  running.fused_with = "a";
  running.ended.reset();
  running.keys_added.clear();
  node_report queued = running;
  queued.started.reset();
  node_report skipped = queued;
  skipped.state = node_state::skipped;
  skipped.ready.reset();
  what.nodes = {done, running, queued, skipped};
  CHECK(
      to_json(what) ==
      R"({"plan_digest":"d","total_us":12.5,"critical_path":[{"node":"a","wait_us":3,"io_us":9},)"
      R"({"node":"b","wait_us":0,"run_us":0.25}],"answering_us":0.25,"nodes":[)"
      R"({"node":"a","op":"core::viewer","state":"done","ready_us":1,"queue_us":2,"io_us":4.25,"rows_in":0,"rows_out":1,"keys_added":["country","title"]},)"
      R"({"node":"a","op":"core::viewer","state":"running","fused_with":"a","ready_us":1,"queue_us":2,"rows_in":0,"rows_out":1,"keys_added":[]},)"
      R"({"node":"a","op":"core::viewer","state":"running","fused_with":"a","ready_us":1,"rows_in":0,"rows_out":1,"keys_added":[]},)"
      R"({"node":"a","op":"core::viewer","state":"skipped","fused_with":"a","rows_in":0,"rows_out":1,"keys_added":[]}]})");
}

TEST_CASE("an id has where it stands, who gave it, and where it vanished with which values") {
  op_bench bench;
  row_set rows = bench.rows_of({5, 6});
  rows = bench.with<double>(rows, 1001, {0.5, std::nullopt});
  rows = bench.with<std::string_view>(rows, 3001, {"U\"S", "CA"});
  explanation what;
  const std::vector<const key_entry*> fields{op_world().find_key(1001U), op_world().find_key(3001U)};
  what.ids = {{.id = -7, .positions = {2, 4}, .produced_by = {"a", "b"}, .drops = {}},
              {.id = 6, .positions = {}, .produced_by = {}, .drops = {}}};
  what.ids[1].drops = {{.node_id = "f",
                        .op = "core::filter",
                        .reason = drop_reason::predicate,
                        .rows = 1,
                        .position = 2,
                        .input = rows,
                        .row = 1,
                        .fields = fields},
                       {.node_id = "t",
                        .op = "core::take",
                        .reason = drop_reason::count,
                        .rows = 3,
                        .position = 0,
                        .input = rows,
                        .row = 0,
                        .fields = fields}};
  CHECK(to_json(what).ends_with(
      R"("nodes":[],"ids":[{"id":-7,"positions":[2,4],"produced_by":["a","b"],"dropped":[]},)"
      R"({"id":6,"positions":[],"produced_by":[],"dropped":[)"
      R"({"node":"f","op":"core::filter","reason":"predicate","rows":1,"position":2,"fields":{"country":"CA"}},)"
      R"({"node":"t","op":"core::take","reason":"count","rows":3,"fields":{"score":0.5,"country":"U\"S"}}]}]})"));
}

TEST_CASE("every state and every reason has a word of its own") {
  for (const auto& [state, word] :
       {std::pair{node_state::done, "done"}, std::pair{node_state::failed, "failed"},
        std::pair{node_state::timed_out, "timed_out"}, std::pair{node_state::stopped, "stopped"},
        std::pair{node_state::running, "running"}, std::pair{node_state::skipped, "skipped"},
        std::pair{node_state::bypassed, "bypassed"}})
    CHECK(to_string(state) == word);
  for (const auto& [reason, word] :
       {std::pair{drop_reason::predicate, "predicate"}, std::pair{drop_reason::count, "count"},
        std::pair{drop_reason::duplicate, "duplicate"}, std::pair{drop_reason::match, "match"},
        std::pair{drop_reason::diversity, "diversity"}, std::pair{drop_reason::replaced, "replaced"},
        std::pair{drop_reason::not_done, "not_done"}, std::pair{drop_reason::other, "other"}})
    CHECK(to_string(reason) == word);
}

TEST_CASE("the nodes of a plan are grouped by the fragments that they come from") {
  explanation what;
  what.fragments = {{.use = "near", .fragment = "recall", .version = "2.1.0", .nodes = {"near__follow", "near__vm"}}};
  CHECK(to_json(what) ==
        R"({"plan_digest":"","total_us":0,"critical_path":[],"answering_us":0,"nodes":[],"fragments":[)"
        R"({"use":"near","fragment":"recall","version":"2.1.0","nodes":["near__follow","near__vm"]}]})");
}
