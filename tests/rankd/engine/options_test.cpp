// tests/rankd/engine/options_test.cpp: how an engine runs its plans changes when, never what.
#include <rankd/engine/options.hpp>

#include <tests/rankd/engine/engine_world.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

namespace {

constexpr std::string_view user_1 = R"({"user_id":1,"request_id":"r"})";

/// Two wide branches with every operator that has parts, and a sort of which a take wants the first rows.
auto wide_plan() -> std::string {
  const std::string nodes = source("s", 30'000) + "," +
                            node("scored", "core::vm", "s", R"({"out_key":2001,"expr_id":"e"})") + "," +
                            node("kept", "core::filter", "scored", R"({"pred_id":"p"})") + "," +
                            node("again", "core::vm", "kept", R"({"out_key":1001,"expr_id":"e"})") + "," +
                            node("best", "core::sort", "again", R"({"by":1001,"order":"desc"})") + "," +
                            node("first", "core::take", "best", R"({"count":500})") + "," + source("t", 700) + "," +
                            node("all", "core::concat", "first", R"({"rhs":"t"})");
  return artifact_of(nodes, R"("all")",
                     R"("expr_table":{"e":{"op":"mul","a":{"op":"key_ref","key_id":1},)"
                     R"("b":{"op":"const_number","value":0.1}}},)"
                     R"("pred_table":{"p":{"op":"cmp","cmp":"<","a":{"op":"key_ref","key_id":2001},)"
                     R"("b":{"op":"const_number","value":2500}}},)");
}

/// How many jobs the workers begin for one request.
auto jobs_for(engine_world& world, const std::string& artifact) -> std::uint64_t {
  const bound_plan& plan = world.bind(artifact);
  const std::uint64_t before = world.on().workers().statistics().jobs;
  CHECK(error_of(world.rank(plan, user_1)) == "fine");
  return world.on().workers().statistics().jobs - before;
}

/// A source of so many rows, each of which it expects to take a nanosecond.
auto rows_alone(int count) -> std::string { return artifact_of(source("s", count), R"("s")"); }

/// Four small nodes in two branches.
auto small_plan() -> std::string {
  const std::string nodes = source("s", 20) + "," + node("first", "core::take", "s", R"({"count":5})") + "," +
                            source("t", 30) + "," + node("all", "core::concat", "first", R"({"rhs":"t"})");
  return artifact_of(nodes, R"("all")");
}

auto answer_with(const std::string& artifact, unsigned workers, engine_options how) -> std::string {
  engine_world world(workers, how);
  return to_json(world.rank(world.bind(artifact), user_1));
}

}  // namespace

TEST_CASE("wide nodes give the same bytes here, on workers, in parts of any size and one by one") {
  const std::string expected = answer_with(wide_plan(), 1, {.max_inline_ns = 1e12});
  CHECK(expected.find(R"("id":24999)") != std::string::npos);
  CHECK(expected.find("error") == std::string::npos);
  for (const unsigned workers : {1U, 2U, 8U}) {
    for (const double part_ns : {1.0, 500.0, 5000.0, 1e12})
      CHECK((answer_with(wide_plan(), workers, {.max_inline_ns = 0, .part_ns = part_ns}) == expected));
    CHECK((answer_with(wide_plan(), workers, {.order = run_order::one_by_one}) == expected));
  }
}

TEST_CASE("what computes for a short time does so where it became ready, and what takes longer on a worker") {
  engine_world world(2);
  CHECK(engine_options().max_inline_ns == 20'000);
  CHECK(jobs_for(world, small_plan()) == 0);
  CHECK(jobs_for(world, rows_alone(20'000)) == 0);
  CHECK(jobs_for(world, rows_alone(20'001)) == 1);
  CHECK(jobs_for(world, wide_plan()) >= 5);  // of its eight nodes
  engine_world eager(2, {.max_inline_ns = 0});
  CHECK(jobs_for(eager, small_plan()) == 4);
  engine_world patient(2, {.max_inline_ns = 1e12});
  CHECK(jobs_for(patient, wide_plan()) == 0);
  engine_world in_sequence(2, {.max_inline_ns = 0, .order = run_order::one_by_one});
  CHECK(jobs_for(in_sequence, wide_plan()) == 0);
}

TEST_CASE("what waits for time or a store keeps no worker, and none computes for it") {
  engine_world world(2, {.max_inline_ns = 1e12});
  CHECK(jobs_for(world, artifact_of(source("s", 1) + "," + sleep("later", "s", 1), R"("later")")) == 0);
  const bound_plan& plan = world.reference_plan("reels_plan_a");
  const std::uint64_t before = world.on().workers().statistics().jobs;
  CHECK(error_of(world.rank(plan, user_1)) == "fine");
  CHECK(world.on().workers().statistics().jobs == before);
}

TEST_CASE("one by one, nodes run in the order of the plan and none before the one in front has ended") {
  engine_world world(2, {.order = run_order::one_by_one});
  const bound_plan& plan = world.bind(
      artifact_of(source("a", 1) + "," + sleep("slow", "a", 3) + "," + source("b", 2) + "," + sleep("quick", "b", 0),
                  R"("slow","quick")"));
  const ranking answer = world.rank(plan, R"({"user_id":1,"explain":true})");
  CHECK((ids_of(answer) == std::vector<std::int64_t>{1, 1, 2}));
  const std::vector<node_report>& nodes = answer.explained->nodes;
  REQUIRE(nodes.size() == 4);
  for (std::size_t at = 1; at < 4; ++at) CHECK(nodes[at].ready >= nodes[at - 1].ended);
}

TEST_CASE("one by one, the error is the one that is reported side by side") {
  const std::string artifact = artifact_of(source("s", 1) + "," + sleep("first", "s", 4, sleep_end::failing) + "," +
                                               sleep("second", "s", 0, sleep_end::failing),
                                           R"("first","second")");
  for (const run_order order : {run_order::side_by_side, run_order::one_by_one})
    CHECK((answer_with(artifact, 2, {.order = order}).find("test_failure") != std::string::npos));
  engine_world world(2, {.order = run_order::one_by_one});
  CHECK(error_of(world.rank(world.bind(artifact), user_1)) == "test_failure first");
}

TEST_CASE("one by one, a node that waits too long ends with its time, and a request with its deadline") {
  engine_world world(2, {.node_timeout = std::chrono::milliseconds(5), .order = run_order::one_by_one});
  const bound_plan& plan = world.bind(artifact_of(source("s", 1) + "," + sleep("slow", "s", an_hour_ms), R"("slow")"));
  CHECK(error_of(world.rank(plan, user_1)) == "node_timeout slow");
  CHECK(error_of(world.rank(plan, R"({"user_id":1,"deadline_ms":1})")) == "deadline_exceeded slow");
}
