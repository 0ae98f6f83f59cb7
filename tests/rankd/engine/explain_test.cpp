// tests/rankd/engine/explain_test.cpp: explanations of whole requests: times that add up, and ids that are followed.
#include <rankd/engine/detail/explain.hpp>
#include <rankd/engine/engine.hpp>

#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/engine/made_plans.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::watchdog;

namespace {

using names = std::vector<std::string>;
constexpr std::string_view explained = R"({"user_id":1,"request_id":"r","explain":true})";

/// The steps of the critical path and the answering, together.
auto sum_of(const explanation& what) -> braid::duration {
  braid::duration sum = what.answering;
  for (const path_step& step : what.critical_path) sum += step.wait + step.run;
  return sum;
}

/// What must hold for every explanation; what is wrong, or nothing.
auto fault_of(const ranking& answer) -> std::string {
  if (answer.explained == nullptr) return "no explanation";
  const explanation& what = *answer.explained;
  if (sum_of(what) != what.total) return "the times do not add up";
  if (what.total != answer.total) return "another total";
  if (what.answering.count() < 0) return "the path is longer than the request";
  for (const path_step& step : what.critical_path)
    if (step.wait.count() < 0 || step.run.count() < 0) return "a step of less than no time";
  for (const node_report& node : what.nodes) {
    if (node.started && (!node.ready || *node.started < *node.ready)) return node.node_id + " began before it could";
    if (node.ended && (!node.started || *node.ended < *node.started)) return node.node_id + " ended before it began";
    if (node.ended && *node.ended > what.total) return node.node_id + " ended behind the answer";
    if (node.state == node_state::done && !node.ended) return node.node_id + " is done and has not ended";
  }
  return {};
}

auto path_of(const ranking& answer) -> names {
  names out;
  for (const path_step& step : answer.explained->critical_path) out.push_back(step.node_id);
  return out;
}

/// "id state" of each node.
auto list_states(const ranking& answer) -> names {
  names out;
  for (const node_report& node : answer.explained->nodes)
    out.push_back(node.node_id + " " + std::string(to_string(node.state)));
  return out;
}

/// "node reason rows position" of each drop.
auto drops_of(const id_fate& fate) -> names {
  names out;
  for (const id_drop& drop : fate.drops)
    out.push_back(drop.node_id + " " + std::string(to_string(drop.reason)) + " " + std::to_string(drop.rows) + " " +
                  std::to_string(drop.position));
  return out;
}

const std::vector<engine_options> all_ways{
    {}, {.max_inline_ns = 0}, {.max_inline_ns = 0, .part_ns = 1}, {.order = run_order::one_by_one}};

/// Ids 1 to 9; those above 3 pass the filter, the first four of them are taken.
auto narrow_plan() -> std::string {
  return artifact_of(source("s", 9) + "," + node("f", "core::filter", "s", R"({"pred_id":"p"})") + "," +
                         node("t", "core::take", "f", R"({"count":4})"),
                     R"("t")",
                     R"("pred_table":{"p":{"op":"cmp","cmp":">","a":{"op":"key_ref","key_id":1},)"
                     R"("b":{"op":"const_number","value":3}}},)");
}

}  // namespace

TEST_CASE("the times of the critical path and of the answering add up to the total, in every way to run") {
  for (const engine_options& how : all_ways) {
    engine_world world(2, how);
    for (const char* plan : {"reels_plan_a", "concat_plan"})
      for (int times = 0; times < 5; ++times) CHECK(fault_of(world.rank(world.reference_plan(plan), explained)) == "");
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      CAPTURE(seed);
      CHECK(fault_of(world.rank(world.bind(plan_maker(seed).make()), explained)) == "");
    }
  }
}

TEST_CASE("candidates are the same bytes with and without an explanation, in every way to run") {
  for (const engine_options& how : all_ways) {
    engine_world world(2, how);
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const bound_plan& plan = world.bind(plan_maker(seed).make());
      // The ids of the engine come from the bytes of the request, which differ.
      const auto make_json = [&](std::string_view request) {
        ranking answer = world.rank(plan, request);
        answer.engine_request_id = "e";
        answer.explained = nullptr;
        return to_json(answer);
      };
      const std::string plain = make_json(R"({"user_id":1,"request_id":"r"})");
      CHECK(make_json(explained) == plain);
      CHECK(make_json(R"({"user_id":1,"request_id":"r","explain":{"ids":[1,2,3]}})") == plain);
    }
  }
}

TEST_CASE("nobody who does not ask gets an explanation") {
  engine_world world;
  CHECK(world.rank(world.reference_plan("reels_plan_a"), R"({"user_id":1})").explained == nullptr);
  CHECK(world.rank(world.reference_plan("reels_plan_a"), R"({"user_id":1,"explain":false})").explained == nullptr);
}

TEST_CASE("the critical path goes through the branch that took longer, and through all nodes one by one") {
  const std::string artifact =
      artifact_of(source("s", 1) + "," + sleep("quick", "s", 1) + "," + sleep("slow", "s", 30) + "," +
                      node("both", "core::concat", "quick", R"({"rhs":"slow"})"),
                  R"("both")");
  engine_world side_by_side;
  const ranking answer = side_by_side.rank(side_by_side.bind(artifact), explained);
  CHECK((path_of(answer) == names{"s", "slow", "both"}));
  CHECK(answer.explained->critical_path[1].waits);
  CHECK(answer.explained->critical_path[1].run >= std::chrono::milliseconds(30));
  engine_world one_by_one(2, {.order = run_order::one_by_one});
  CHECK((path_of(one_by_one.rank(one_by_one.bind(artifact), explained)) == names{"s", "quick", "slow", "both"}));
}

TEST_CASE("nodes that do their work together say so, with the rows of each") {
  engine_world world;
  const bound_plan& plan =
      world.bind(artifact_of(source("s", 9) + "," + node("o", "core::sort", "s", R"({"by":1,"order":"desc"})") + "," +
                                 node("t", "core::take", "o", R"({"count":2})"),
                             R"("t")"));
  const ranking answer = world.rank(plan, R"({"user_id":1,"explain":{"ids":[9,3]}})");
  const auto& nodes = answer.explained->nodes;
  REQUIRE(nodes.size() == 3);
  CHECK(nodes[0].fused_with.empty());
  CHECK(nodes[1].fused_with == "t");
  CHECK(nodes[2].fused_with == "o");
  CHECK(nodes[1].rows_out == 9);
  CHECK(nodes[2].rows_in == 9);
  CHECK(nodes[2].rows_out == 2);
  CHECK((answer.explained->ids[0].positions == std::vector<std::size_t>{1}));
  CHECK((drops_of(answer.explained->ids[1]) == names{"t count 1 0"}));  // its place in the order is not known
}

TEST_CASE("an id is followed to the node at which it vanished") {
  for (const engine_options& how : all_ways) {
    engine_world world(2, how);
    const ranking answer = world.rank(world.bind(narrow_plan()), R"({"user_id":1,"explain":{"ids":[5,2,9,"77",-1]}})");
    const auto& ids = answer.explained->ids;
    REQUIRE(ids.size() == 5);
    CHECK((ids[0].id == row_id(5)));
    CHECK((ids[0].positions == std::vector<std::size_t>{2}));
    CHECK((ids[0].produced_by == names{"s"}));
    CHECK(ids[0].drops.empty());
    CHECK(ids[1].positions.empty());
    CHECK((drops_of(ids[1]) == names{"f predicate 1 2"}));
    CHECK((drops_of(ids[2]) == names{"t count 1 6"}));
    for (const std::size_t never : {3U, 4U}) {
      CHECK(ids[never].positions.empty());
      CHECK(ids[never].produced_by.empty());
      CHECK(ids[never].drops.empty());
    }
    CHECK((ids[3].id == row_id(77)));
  }
}

TEST_CASE("an id that several nodes give is followed on all ways, and each row is counted") {
  engine_world world;
  const bound_plan& plan = world.bind(artifact_of(source("a", 3) + "," + source("b", 2) + "," +
                                                      node("all", "core::concat", "a", R"({"rhs":"b"})") + "," +
                                                      node("t", "core::take", "all", R"({"count":4})"),
                                                  R"("t")"));
  const ranking answer = world.rank(plan, R"({"user_id":1,"explain":{"ids":[1,2,3]}})");
  const auto& ids = answer.explained->ids;
  CHECK((ids[0].positions == std::vector<std::size_t>{1, 4}));
  CHECK((ids[0].produced_by == names{"a", "b"}));
  CHECK(ids[0].drops.empty());
  CHECK((ids[1].positions == std::vector<std::size_t>{2}));
  CHECK((drops_of(ids[1]) == names{"t count 1 5"}));  // the second of its rows
  CHECK((ids[2].produced_by == names{"a"}));
}

TEST_CASE("rows that go because of other rows are told apart from those that a predicate drops") {
  engine_world world;
  const std::string nodes = source("a", 4) + "," + source("b", 2) + "," +
                            node("all", "core::concat", "a", R"({"rhs":"b"})") + "," +
                            node("once", "core::dedupe", "all", R"({"strategy":"last"})") + "," +
                            node("few", "core::join", "once", R"({"rhs":"b","how":"anti"})") + "," +
                            node("apart", "core::diversify", "all",
                                 R"({"strategy":"window","by":1,"at_most":1,"window":9,"overflow":"drop"})");
  const ranking answer =
      world.rank(world.bind(artifact_of(nodes, R"("few","apart")")), R"({"user_id":1,"explain":{"ids":[1,3]}})");
  const auto& ids = answer.explained->ids;
  // The first row of id 1 is not the last, and the other is in `b`, whose rows only decide.
  CHECK((drops_of(ids[0]) == names{"once duplicate 1 1", "few match 1 3", "apart diversity 1 5"}));
  CHECK(ids[1].drops.empty());
  CHECK((ids[1].positions == std::vector<std::size_t>{1, 5}));
}

TEST_CASE("rows that a node replaces by its own are told, with the values that they had") {
  engine_world world;
  const ranking answer = world.rank(world.reference_plan("reels_plan_a"), R"({"user_id":1,"explain":{"ids":[1,2,3]}})");
  const auto& ids = answer.explained->ids;
  CHECK((ids[0].produced_by.front() == "viewer"));
  CHECK((drops_of(ids[0]).front() == "follow replaced 1 1"));
  CHECK((drops_of(ids[1]) == names{"cutoff predicate 1 2"}));
  const std::string json = to_json(answer);
  CHECK(json.find(R"("node":"cutoff","op":"core::filter","reason":"predicate","rows":1,"position":2,)"
                  R"("fields":{"final_score":0.4)") != std::string::npos);
  CHECK((ids[2].positions == std::vector<std::size_t>{1}));
}

TEST_CASE("a failure is explained as far as the nodes have come, and the path ends at the node that failed") {
  const watchdog dog(std::chrono::seconds(60));
  for (const engine_options& how : all_ways) {
    engine_world world(2, how);
    const ranking answer =
        world.rank(world.bind(artifact_of(source("s", 3) + "," + sleep("bad", "s", 1, sleep_end::failing) + "," +
                                              sleep("behind", "bad", 1),
                                          R"("behind")")),
                   R"({"user_id":1,"explain":{"ids":[2]}})");
    CHECK(error_of(answer) == "test_failure bad");
    CHECK(fault_of(answer) == "");
    CHECK((list_states(answer) == names{"s done", "bad failed", "behind skipped"}));
    CHECK((path_of(answer) == names{"s", "bad"}));
    CHECK((drops_of(answer.explained->ids.front()) == names{"bad not_done 1 2"}));
    CHECK(to_json(answer).find(R"("error":{)") != std::string::npos);
    CHECK(to_json(answer).find(R"("explain":{)") != std::string::npos);
  }
}

TEST_CASE("a deadline is explained: what was done, and what took the time") {
  const watchdog dog(std::chrono::seconds(60));
  for (const engine_options& how : {engine_options{}, engine_options{.order = run_order::one_by_one}}) {
    engine_world world(2, how);
    const ranking slept = world.rank(
        world.bind(artifact_of(source("s", 1) + "," + sleep("z", "s", an_hour_ms) + "," + sleep("behind", "z", 1),
                               R"("behind")")),
        R"({"user_id":1,"deadline_ms":200,"explain":true})");
    CHECK(error_of(slept) == "deadline_exceeded z");
    CHECK(fault_of(slept) == "");
    CHECK((path_of(slept) == names{"s", "z"}));
    CHECK(slept.explained->critical_path.back().run >= std::chrono::milliseconds(1));
    CHECK(slept.explained->nodes[1].state != node_state::done);
    CHECK_FALSE(slept.explained->nodes[1].ended);
    CHECK(slept.explained->nodes[2].state == node_state::skipped);
    CHECK_FALSE(slept.explained->nodes[2].ready);
  }
}

TEST_CASE("a node that computes behind the answer is explained as running") {
  const watchdog dog(std::chrono::seconds(60));
  // On a busy machine the answer may come before a worker has begun with the node, or after it has seen that it is to
  // stop.
  for (int deadline_ms = 5;; deadline_ms *= 4) {
    engine_world world(1, {.max_inline_ns = 0});
    const ranking answer =
        world.rank(world.bind(artifact_of(source("s", 1) + "," + busy("b", "s", an_hour_ms), R"("b")")),
                   R"({"user_id":1,"deadline_ms":)" + std::to_string(deadline_ms) + R"(,"explain":true})");
    CHECK(error_of(answer).starts_with("deadline_exceeded "));
    CHECK(fault_of(answer) == "");
    const node_report& busy_one = answer.explained->nodes[1];
    if (!busy_one.started || busy_one.ended) continue;
    CHECK(busy_one.state == node_state::running);
    CHECK((path_of(answer) == names{"s", "b"}));
    break;
  }
}

TEST_CASE("a node that ran out of its own time is explained as that") {
  const watchdog dog(std::chrono::seconds(60));
  engine_world world(2, {.node_timeout = std::chrono::milliseconds(5)});
  for (const std::string& slow : {sleep("slow", "s", an_hour_ms), busy("slow", "s", an_hour_ms)}) {
    const ranking answer = world.rank(world.bind(artifact_of(source("s", 1) + "," + slow, R"("slow")")), explained);
    CHECK(error_of(answer) == "node_timeout slow");
    CHECK(fault_of(answer) == "");
    CHECK((list_states(answer) == names{"s done", "slow timed_out"}));
    CHECK((path_of(answer) == names{"s", "slow"}));
  }
}

TEST_CASE("what stands behind a failed node is no part of the path, however long it goes on") {
  const watchdog dog(std::chrono::seconds(60));
  engine_world world(2);
  const ranking answer =
      world.rank(world.bind(artifact_of(source("s", 1) + "," + sleep("bad", "s", 2, sleep_end::failing) + "," +
                                            busy("other", "s", an_hour_ms),
                                        R"("bad","other")")),
                 explained);
  CHECK(error_of(answer) == "test_failure bad");
  CHECK(fault_of(answer) == "");
  CHECK((path_of(answer) == names{"s", "bad"}));
}
