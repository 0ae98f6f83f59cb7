// tests/rankd/engine/budget_test.cpp: requests that would take more than the budget of their plan, and what engines
// tell of nodes.
#include <rankd/engine/engine.hpp>

#include <rankd/engine/detail/request_state.hpp>
#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/op/some_budgets.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view user_1 = R"({"user_id":1,"request_id":"r"})";

/// 3 rows, 4 rows, and both together: 14 in all. What stands behind makes none.
auto seven_rows() -> std::string {
  return artifact_of(source("a", 3) + "," + source("b", 4) + "," + node("c", "core::concat", "a", R"({"rhs":"b"})") +
                         "," + node("d", "core::take", "c", R"({"count":5})") + "," +
                         node("e", "core::sort", "d", R"({"by":1001})"),
                     R"("e")");
}

auto has(const ranking& answer, std::string_view text) -> bool {
  return answer.error && answer.error->message.find(text) != std::string::npos;
}

/// What all nodes of a request have taken.
auto bytes_of_nodes(const ranking& answer) -> std::size_t {
  std::size_t all = 0;
  for (const node_slot& each : answer.memory->nodes) all += each.memory.reserved();
  return all;
}

}  // namespace

TEST_CASE("rows are made by sources and joins, and each counts once") {
  engine_world world;
  CHECK(error_of(world.rank(world.bind(seven_rows(), of_rows(14)), user_1)) == "fine");
  const ranking over = world.rank(world.bind(seven_rows(), of_rows(13)), user_1);
  CHECK(error_of(over) == "row_budget_exceeded c");
  CHECK(has(over, "node `c`"));
  CHECK(has(over, "14 rows"));
  CHECK(has(over, "allows 13"));
  CHECK(error_of(world.rank(world.bind(seven_rows(), of_rows(6)), user_1)) == "row_budget_exceeded b");
  CHECK(error_of(world.rank(world.bind(seven_rows(), of_rows(2)), user_1)) == "row_budget_exceeded a");
}

TEST_CASE("rows from a store count, and the same plan has room with a larger budget") {
  engine_world world;
  CHECK(error_of(world.rank(world.reference_plan("reels_plan_a", of_rows(11)), user_1)) == "fine");
  const ranking over = world.rank(world.reference_plan("reels_plan_a", of_rows(10)), user_1);
  CHECK(error_of(over) == "row_budget_exceeded follow");
  CHECK(has(over, "11 rows"));
}

TEST_CASE("what would be too much is refused before memory is taken for it") {
  engine_world world(2, {.max_inline_ns = 0});  // so that each node has memory of its own
  const std::string many = artifact_of(source("a", 10'000'000), R"("a")");
  for (const plan_budget& budget : {of_rows(9'999'999), of_bytes(79'999'999)}) {
    const ranking answer = world.rank(world.bind(many, budget), user_1);
    CHECK(answer.error);
    CHECK(bytes_of_nodes(answer) < 10'000);
  }
  const std::string both = artifact_of(
      source("a", 1'000'000) + "," + source("b", 1'000'000) + "," + node("c", "core::concat", "a", R"({"rhs":"b"})"),
      R"("c")");
  const ranking joined = world.rank(world.bind(both, of_rows(3'999'999)), user_1);
  CHECK(error_of(joined) == "row_budget_exceeded c");
  CHECK(bytes_of_nodes(joined) < 18'000'000);
}

TEST_CASE("bytes are those of tables, wherever a node runs") {
  const std::string plan =
      artifact_of(source("s", 10'000) + "," + node("v", "core::vm", "s", R"({"out_key":1001,"expr_id":"e"})"), R"("v")",
                  R"("expr_table":{"e":{"op":"key_ref","key_id":1}},)");
  for (const double max_here : {0.0, 1e12}) {
    engine_world world(2, {.max_inline_ns = max_here});
    CHECK(error_of(world.rank(world.bind(plan, of_bytes(1'000'000)), user_1)) == "fine");
    const ranking over = world.rank(world.bind(plan, of_bytes(159'999)), user_1);
    CHECK(error_of(over) == "memory_budget_exceeded v");
    CHECK(has(over, "bytes, but the budget of the plan allows 159999"));
    CHECK(bytes_of_nodes(over) < 100'000);
    CHECK(error_of(world.rank(world.bind(plan, of_bytes(79'999)), user_1)) == "memory_budget_exceeded s");
  }
}

TEST_CASE("bytes do not depend on what was asked before") {
  engine_world world;
  const bound_plan& large = world.bind(artifact_of(source("a", 100'000), R"("a")"));
  const bound_plan& small = world.bind(artifact_of(source("a", 10), R"("a")"), of_bytes(4'000));
  for (int i = 0; i < 3; ++i) {
    CHECK(error_of(world.rank(large, user_1)) == "fine");
    CHECK(error_of(world.rank(small, user_1)) == "fine");
  }
}

TEST_CASE(
    "of a node that fails and one that goes over the budget the first in the order is told, whatever the timing") {
  const auto fails = [](const std::string& id, int ms) { return sleep(id, "s", ms, sleep_end::failing); };
  for (const int ms : {0, 5}) {
    engine_world world;
    const bound_plan& failing_first = world.bind(
        artifact_of(source("s", 1) + "," + fails("f", ms) + "," + source("many", 100), R"("f","many")"), of_rows(50));
    CHECK(error_of(world.rank(failing_first, user_1)) == "test_failure f");
    const bound_plan& many_first = world.bind(
        artifact_of(source("s", 1) + "," + source("many", 100) + "," + fails("f", ms), R"("many","f")"), of_rows(50));
    CHECK(error_of(world.rank(many_first, user_1)) == "row_budget_exceeded many");
  }
}

TEST_CASE("who goes over a budget does not depend on threads or order") {
  std::string nodes;
  std::string outputs;
  for (int i = 0; i < 12; ++i) {
    const std::string id = "n" + std::to_string(i);
    nodes += (i == 0 ? "" : ",") + source(id, 100 + i) + "," + sleep(id + "s", id, i % 3);
    outputs += (i == 0 ? "\"" : ",\"") + id + "s\"";
  }
  const std::string artifact = artifact_of(nodes, outputs);
  for (const double here : {0.0, 1e12}) {
    for (const run_order order : {run_order::side_by_side, run_order::one_by_one}) {
      engine_world world(4, {.max_inline_ns = here, .order = order});
      const ranking answer = world.rank(world.bind(artifact, of_rows(520)), user_1);
      CHECK(error_of(answer) == "row_budget_exceeded n5");
      CHECK(has(answer, "creates 615 rows"));
    }
  }
}

TEST_CASE("a plan's time bounds whatever a request asks for, and has a name of its own") {
  engine_world world;
  const std::string slow = artifact_of(source("a", 1) + "," + sleep("b", "a", an_hour_ms), R"("b")");
  const bound_plan& hasty = world.bind(slow, of_time(5ms));
  for (const char* request : {R"({"user_id":1})", R"({"user_id":1,"deadline_ms":86400000})"}) {
    const ranking answer = world.rank(hasty, request);
    CHECK(error_of(answer) == "time_budget_exceeded b");
    CHECK(has(answer, "5 ms"));
  }
  const bound_plan& patient = world.bind(slow, of_time(1h));
  CHECK(error_of(world.rank(patient, R"({"user_id":1,"deadline_ms":1})")) == "deadline_exceeded b");
  const bound_plan& with_default = world.bind(slow, of_time(1h, 5ms));
  CHECK(error_of(world.rank(with_default, R"({"user_id":1})")) == "deadline_exceeded b");
}

TEST_CASE("the deadline of a request is kept to its budget once, however often") {
  const plan_budget budget = of_time(20ms, 10ms);
  rank_request silent;
  keep_to_budget(silent, budget);
  CHECK(silent.deadline == 10ms);
  CHECK(silent.deadline_from == deadline_source::request);
  rank_request greedy;
  greedy.deadline = 21ms;
  for (int i = 0; i < 2; ++i) {
    keep_to_budget(greedy, budget);
    CHECK(greedy.deadline == 20ms);
    CHECK(greedy.deadline_from == deadline_source::budget);
  }
  rank_request modest;
  modest.deadline = 20ms;
  keep_to_budget(modest, budget);
  CHECK(modest.deadline_from == deadline_source::request);
  rank_request patient;
  keep_to_budget(patient, budget, budget_times::ignored);
  CHECK(!patient.deadline);
  patient.deadline = 21ms;
  keep_to_budget(patient, budget, budget_times::ignored);
  CHECK(patient.deadline == 20ms);
  CHECK(patient.deadline_from == deadline_source::budget);
  rank_request free;
  keep_to_budget(free, {});
  CHECK(!free.deadline);
}

TEST_CASE("an explanation says that the node over the budget failed") {
  engine_world world;
  const ranking answer = world.rank(world.bind(seven_rows(), of_rows(6)), R"({"user_id":1,"explain":true})");
  REQUIRE(answer.explained != nullptr);
  for (const node_report& each : answer.explained->nodes) {
    if (each.node_id == "b") CHECK(each.state == node_state::failed);
    if (each.node_id == "a") CHECK(each.state == node_state::done);
    if (each.node_id == "d") CHECK(each.state == node_state::skipped);
  }
}

TEST_CASE("nodes are told of where the engine is asked to, and timed once in so many requests") {
  engine_world world(2, {.metrics = node_metrics::collected, .timed_of = 2});
  const bound_plan& plan = world.bind(seven_rows());
  for (int i = 0; i < 4; ++i) {
    const ranking answer = world.rank(plan, user_1);
    REQUIRE(answer.nodes.size() == 5);
    std::vector<std::uint64_t> rows;
    for (const node_sample& each : answer.nodes) {
      CHECK(each.state == node_state::done);
      CHECK(each.run.has_value() == (i % 2 == 0));
      CHECK(each.queue.has_value() == (i % 2 == 0));
      if (each.run) CHECK(*each.run >= 0ns);
      if (each.queue) CHECK(*each.queue >= 0ns);
      rows.push_back(each.rows_out);
    }
    CHECK(rows == std::vector<std::uint64_t>{3, 4, 7, 5, 5});
    CHECK(answer.explained == nullptr);
  }
  const bound_plan& failing =
      world.bind(artifact_of(source("a", 1) + "," + sleep("b", "a", 0, sleep_end::failing), R"("b")"));
  const ranking failed = world.rank(failing, user_1);
  CHECK(failed.nodes[0].state == node_state::done);
  CHECK(failed.nodes[1].state == node_state::failed);
  engine_world silent;
  CHECK(silent.rank(silent.bind(seven_rows()), user_1).nodes.empty());
}
