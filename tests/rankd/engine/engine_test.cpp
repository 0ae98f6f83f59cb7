// tests/rankd/engine/engine_test.cpp: plans run for requests: answers, the order of errors, deadlines, what ends late.
#include <rankd/engine/engine.hpp>

#include <tests/rankd/engine/engine_world.hpp>
#include <tests/rankd/op/op_world.hpp>
#include <tests/rankd/op/some_budgets.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/watchdog.hpp>

#include <braid/coro/with_scope.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;
using braid::testing::eventually;
using braid::testing::watchdog;

namespace {

using ids = std::vector<std::int64_t>;
constexpr std::string_view user_1 = R"({"user_id":1,"request_id":"r"})";

auto scores_of(const ranking& answer) -> std::vector<double> {
  std::vector<double> out;
  const column values = answer.rows.table().find(2001).value();
  answer.rows.for_each_row([&](std::uint32_t row) { out.push_back((*values.floats())[row]); });
  return out;
}

}  // namespace

TEST_CASE("the reference plans give the reference answers") {
  engine_world world;
  const bound_plan& reels = world.reference_plan("reels_plan_a");
  const ranking plain = world.rank(reels, user_1);
  CHECK((ids_of(plain) == ids{3, 4, 5, 6, 7}));
  CHECK((scores_of(plain) == std::vector<double>{3 * 0.2, 4 * 0.2, 5 * 0.2, 6 * 0.2, 7 * 0.2}));

  const ranking heavier = world.rank(reels, R"({"user_id":"1","param_overrides":{"media_age_penalty_weight":0.5}})");
  CHECK((ids_of(heavier) == ids{2, 3, 4, 5, 6}));
  CHECK((scores_of(heavier) == std::vector<double>{1, 1.5, 2, 2.5, 3}));

  const ranking joined = world.rank(world.reference_plan("concat_plan"), user_1);
  CHECK((ids_of(joined) == ids{1, 2, 3, 4, 1001, 1002, 1003, 1004}));
  CHECK(joined.malformed_ids == 0);
}

TEST_CASE("the answer carries the request's id, the plan and every column that plans may read") {
  engine_world world;
  const ranking answer = world.rank(world.reference_plan("reels_plan_a"), user_1);
  CHECK(answer.request_id == "r");
  CHECK(answer.plan == "reels_plan_a");
  REQUIRE(answer.fields.size() == 2);
  CHECK(answer.fields[0]->name == "final_score");
  CHECK(answer.fields[1]->name == "country");
  CHECK(answer.explained == nullptr);
}

TEST_CASE("output_keys choose the columns, whether the plan has them or not") {
  engine_world world;
  const bound_plan& reels = world.reference_plan("reels_plan_a");
  const auto names = [&](const std::string& keys) {
    std::vector<std::string> out;
    const ranking answer = world.rank(reels, R"({"user_id":1,"output_keys":)" + keys + "}");
    for (const key_entry* field : answer.fields) out.push_back(field->name);
    return out;
  };
  CHECK((names(R"(["country","final_score"])") == std::vector<std::string>{"final_score", "country"}));
  CHECK((names(R"(["title","country","id"])") == std::vector<std::string>{"country"}));
  CHECK(names("[]").empty());
}

TEST_CASE("columns that nobody may read are not shown even where all are asked for") {
  memory_store store;
  engine_world world(op_world(), {&store, nullptr, nullptr});
  const bound_plan& plan = world.bind(
      artifact_of(source("s", 2) + "," + node("hidden", "core::vm", "s", R"({"out_key":5002,"expr_id":"e"})") + "," +
                      node("shown", "core::vm", "hidden", R"({"out_key":1001,"expr_id":"e"})"),
                  R"("shown")", R"("expr_table":{"e":{"op":"key_ref","key_id":1}},)"));
  const ranking answer = world.rank(plan, user_1);
  CHECK(answer.rows.table().columns().size() == 2);
  REQUIRE(answer.fields.size() == 1);
  CHECK(answer.fields[0]->name == "score");
}

TEST_CASE("malformed ids of all nodes are counted in the answer") {
  engine_world world;
  const ranking answer = world.rank(world.reference_plan("concat_plan"), R"({"user_id":14})");
  CHECK((ids_of(answer) == ids{2, 1001}));
  CHECK(answer.malformed_ids == 3);
  const ranking strangers = world.rank(world.reference_plan("concat_plan"), R"({"user_id":9223372036854775807})");
  CHECK(strangers.rows.empty());
  CHECK_FALSE(strangers.error);
}

TEST_CASE("several outputs are answered one behind the other, in the order that the plan names them") {
  engine_world world;
  const std::string nodes = source("a", 2) + "," + source("b", 3) + "," + source("c", 1);
  CHECK((ids_of(world.rank(world.bind(artifact_of(nodes, R"("b","c","a")")), user_1)) == ids{1, 2, 3, 1, 1, 2}));
}

TEST_CASE("explain says what each node did, in the order in which they can run") {
  engine_world world(2, {.max_inline_ns = 0});
  const ranking answer = world.rank(world.reference_plan("reels_plan_a"), R"({"user_id":1,"explain":true})");
  REQUIRE(answer.explained != nullptr);
  const std::vector<node_report>& nodes = answer.explained->nodes;
  const auto names = std::vector<std::string>{"viewer", "follow", "score", "cutoff", "final", "take"};
  const auto rows_in = std::vector<std::size_t>{0, 1, 10, 10, 8, 8};
  const auto rows_out = std::vector<std::size_t>{1, 10, 10, 8, 8, 5};
  REQUIRE(nodes.size() == names.size());
  for (std::size_t at = 0; at < names.size(); ++at) {
    const node_report& each = nodes[at];
    CAPTURE(each.node_id);
    CHECK(each.node_id == names[at]);
    CHECK(each.op.starts_with("core::"));
    CHECK(each.waits == (at < 2));
    CHECK(each.rows_in == rows_in[at]);
    CHECK(each.rows_out == rows_out[at]);
    CHECK(each.ready >= braid::duration::zero());
    CHECK(each.started >= each.ready);
    CHECK(each.ended >= each.started);
    CHECK(answer.total >= each.ended);
    if (at > 0) CHECK(each.ready >= nodes[at - 1].ended);
  }
  CHECK(nodes[0].keys_added.empty());  // the country of the viewer comes to no answer
  CHECK((nodes[1].keys_added == std::vector<std::string>{"country"}));
  CHECK((nodes[2].keys_added == std::vector<std::string>{"final_score"}));
  CHECK(nodes[4].keys_added.empty());
}

TEST_CASE("a failing node is named, with what its operator says") {
  engine_world world;
  const bound_plan& plan =
      world.bind(artifact_of(source("s", 3) + "," + node("bad", "core::vm", "s", R"({"out_key":2001,"expr_id":"e"})"),
                             R"("bad")", R"("expr_table":{"e":{"op":"param_ref","param_id":3}},)"));
  const ranking answer = world.rank(plan, user_1);
  REQUIRE(answer.error);
  CHECK(answer.error->code == "null_value");
  CHECK(answer.error->node == "bad");
  CHECK(answer.error->message.starts_with("node `bad`: the value for `final_score` of row 0 (id 1) is null"));
  CHECK(answer.rows.empty());
  CHECK(answer.request_id == "r");
}

TEST_CASE("stores that refuse, are not open or throw are errors of the node that asked") {
  struct throwing_store : memory_store {
    auto ask(store_question, braid::arena&) -> braid::task<store_result<store_answer>> override {
      throw std::runtime_error("broken");
    }
  };
  const std::string viewer = artifact_of(node("v", "core::viewer", "", R"({"endpoint":"ep_0001"})"), R"("v")");
  memory_store refusing;
  refusing.refusal = std::make_error_code(std::errc::io_error);
  throwing_store throwing;
  const std::vector<std::pair<store*, std::string>> table{
      {&refusing, "store_error v"}, {nullptr, "store_not_open v"}, {&throwing, "internal_error v"}};
  for (const auto& [from, expected] : table) {
    engine_world world(op_world(), {from, nullptr, nullptr});
    CHECK(error_of(world.rank(world.bind(viewer), user_1)) == expected);
  }
}

TEST_CASE("of several failing nodes the first in the plan's order is reported, whichever fails first") {
  engine_world world;
  for (const auto& [first_ms, second_ms] : {std::pair{8, 0}, std::pair{0, 8}, std::pair{0, 0}}) {
    const bound_plan& plan =
        world.bind(artifact_of(source("s", 1) + "," + sleep("first", "s", first_ms, sleep_end::failing) + "," +
                                   sleep("second", "s", second_ms, sleep_end::failing),
                               R"("first","second")"));
    for (int i = 0; i < 3; ++i) CHECK(error_of(world.rank(plan, user_1)) == "test_failure first");
  }
}

TEST_CASE("a failure ends what stands behind it at once, and waits for what stands before it") {
  const watchdog dog(std::chrono::seconds(60));
  engine_world world;
  const bound_plan& stops =
      world.bind(artifact_of(source("s", 1) + "," + sleep("first", "s", 1, sleep_end::failing) + "," +
                                 sleep("second", "s", an_hour_ms) + "," + busy("third", "s", an_hour_ms),
                             R"("first","second","third")"));
  CHECK(error_of(world.rank(stops, user_1)) == "test_failure first");
  const bound_plan& waits = world.bind(
      artifact_of(source("s", 1) + "," + sleep("first", "s", 4) + "," + sleep("second", "s", 0, sleep_end::failing),
                  R"("first","second")"));
  CHECK(error_of(world.rank(waits, user_1)) == "test_failure second");
}

TEST_CASE("a failure does not wait for nodes before it that cannot fail, or for which something stands in") {
  const watchdog dog(std::chrono::seconds(60));
  const std::string standing_in = sleep("slow", "s", an_hour_ms, sleep_end::failing);
  const std::string with_fallback =
      standing_in.substr(0, standing_in.size() - 1) + R"(,"fallback":{"on":["*"],"use":"empty"}})";
  const std::string needed = R"("capabilities_required":["cap.rfc.0004.fallback.v1"],)";
  for (const std::string& slow : {sleep("slow", "s", an_hour_ms), busy("slow", "s", an_hour_ms), with_fallback}) {
    for (const unsigned workers : {1U, 2U, 8U}) {
      engine_world world(workers);
      const std::string nodes = source("s", 1) + "," + slow + "," +
                                node("behind", "core::take", "slow", R"({"count":1})") + "," +
                                sleep("failing", "s", 1, sleep_end::failing);
      const std::string outputs = R"("behind","failing")";
      const bound_plan& plan = world.bind(artifact_of(nodes, outputs, slow == with_fallback ? needed : ""));
      CHECK(error_of(world.rank(plan, user_1)) == "test_failure failing");
    }
  }
}

TEST_CASE("a failure waits for nodes before it whose rows a budget counts, or that have a time limit") {
  const watchdog dog(std::chrono::seconds(60));
  const std::string nodes =
      source("s", 1) + "," + sleep("slow", "s", an_hour_ms) + "," + sleep("failing", "s", 0, sleep_end::failing);
  const std::string artifact = artifact_of(nodes, R"("slow","failing")");
  engine_world world;
  const bound_plan& counted = world.bind(artifact, of_rows(100));
  CHECK(error_of(world.rank(counted, R"({"user_id":1,"deadline_ms":20})")) == "deadline_exceeded slow");
  engine_world limited(1, {.node_timeout = std::chrono::milliseconds(20)});
  CHECK(error_of(limited.rank(limited.bind(artifact), user_1)) == "node_timeout slow");
}

TEST_CASE("a deadline answers at once although a node would go on for an hour, and what ends later is counted") {
  const watchdog dog(std::chrono::seconds(60));
  engine_world world;
  const bound_plan& sleeping = world.bind(artifact_of(source("s", 1) + "," + sleep("z", "s", an_hour_ms), R"("z")"));
  const bound_plan& computing = world.bind(artifact_of(source("s", 1) + "," + busy("b", "s", an_hour_ms), R"("b")"));
  constexpr std::string_view request = R"({"user_id":1,"deadline_ms":5,"explain":true})";

  const ranking slept = world.rank(sleeping, request);
  CHECK(error_of(slept) == "deadline_exceeded z");
  CHECK(slept.error->message ==
        "the deadline of the request passed before its plan was done; node `z` was the first unfinished node");
  CHECK(slept.total >= std::chrono::milliseconds(5));

  CHECK(world.ranker().late_nodes() == 0);  // a sleep ends by the stop, so it is not late
  CHECK(eventually([&] {  // a node that no worker has begun with at the deadline is withdrawn, and is not late
    CHECK(error_of(world.rank(computing, request)) == "deadline_exceeded b");
    return world.ranker().late_nodes() != 0;
  }));
}

TEST_CASE("a deadline of 50 ms is answered before three seconds of computing end, with one worker too") {
  const watchdog dog(std::chrono::seconds(60));
  for (const unsigned workers : {1U, 2U}) {
    engine_world world(workers);
    const bound_plan& plan = world.bind(artifact_of(source("s", 1) + "," + busy("b", "s", 3000), R"("b")"));
    CHECK(eventually([&] {
      CHECK(error_of(world.rank(plan, R"({"user_id":1,"deadline_ms":50})")) == "deadline_exceeded b");
      return world.ranker().late_nodes() != 0;  // it ended behind its answer
    }));
  }
}

TEST_CASE("a branch that fails is answered before one beside it has computed for three seconds") {
  const watchdog dog(std::chrono::seconds(60));
  engine_world world(1);
  const bound_plan& plan = world.bind(
      artifact_of(source("s", 1) + "," + sleep("failing", "s", 1, sleep_end::failing) + "," + busy("slow", "s", 3000),
                  R"("failing","slow")"));
  CHECK(eventually([&] {
    CHECK(error_of(world.rank(plan, user_1)) == "test_failure failing");
    return world.ranker().late_nodes() != 0;
  }));
}

TEST_CASE("a deadline that is far away changes nothing") {
  engine_world world;
  CHECK((ids_of(world.rank(world.reference_plan("reels_plan_a"), R"({"user_id":1,"deadline_ms":86400000})")) ==
         ids{3, 4, 5, 6, 7}));
}

TEST_CASE("a node that takes longer than nodes may is named") {
  const watchdog dog(std::chrono::seconds(60));
  engine_world world(2, {.node_timeout = std::chrono::milliseconds(5)});
  for (const std::string& slow : {sleep("slow", "s", an_hour_ms), busy("slow", "s", an_hour_ms)}) {
    const bound_plan& plan =
        world.bind(artifact_of(source("s", 1) + "," + sleep("quick", "s", 0) + "," + slow, R"("quick","slow")"));
    CHECK(error_of(world.rank(plan, user_1)) == "node_timeout slow");
  }
}

TEST_CASE("whoever asks may stop waiting: the nodes end and the engine goes on") {
  const watchdog dog(std::chrono::seconds(60));
  engine_world world;
  const bound_plan& plan = world.bind(
      artifact_of(source("s", 1) + "," + sleep("z", "s", an_hour_ms) + "," + busy("b", "s", an_hour_ms), R"("z","b")"));
  // The caller's own scope ends: its deadline is the run's as well.
  const auto limited = [&]() -> braid::task<braid::result<ranking>> {
    auto work = world.ranker().rank(plan, value_of(parse_request(user_1, reference_project::get().declared)));
    return braid::with_timeout(std::chrono::milliseconds(5), std::move(work));
  };
  const braid::result<ranking> ended = world.on().run(limited());
  if (ended)
    CHECK(error_of(*ended) == "deadline_exceeded z");
  else
    CHECK(ended.error() == braid::errc::deadline_exceeded);
  CHECK((ids_of(world.rank(world.reference_plan("reels_plan_a"), user_1)) == ids{3, 4, 5, 6, 7}));
}

TEST_CASE("a runtime that is closed stops the requests that it runs, before the engine goes") {
  const watchdog dog(std::chrono::seconds(60));
  memory_store store;
  engine_world world(op_world(), {&store, nullptr, nullptr});
  const bound_plan& plan = world.bind(artifact_of(node("v", "core::viewer", "", R"({"endpoint":"ep_0001"})") + "," +
                                                      sleep("z", "v", an_hour_ms) + "," + busy("b", "v", an_hour_ms),
                                                  R"("z","b")"));
  std::string how;
  std::thread asking([&] {
    try {
      how = error_of(world.rank(plan, R"({"user_id":1,"deadline_ms":3600000})"));
    } catch (const std::system_error& stopped) {
      how = stopped.code() == braid::errc::stopped ? "stopped " : stopped.what();
    }
  });
  world.on().io().stop();
  asking.join();
  CHECK((how == "stopped " || how.starts_with("sync_wait on a closed home")));
  world.close();
}

TEST_CASE("that no threads can be had is a diagnostic that says why") {
  const auto why = std::make_error_code(std::errc::resource_unavailable_try_again);
  const braid::diagnostics problems = no_runtime(why);
  CHECK(problems.front().code == "no_runtime");
  CHECK(problems.front().message.ends_with(why.message()));
}
