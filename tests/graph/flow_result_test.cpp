// tests/graph/flow_result_test.cpp: what results and reports of runs say, with times of a clock that the test turns.
#include <braid/graph/flow.hpp>

#include <braid/coro/sleep.hpp>

#include <tests/support/manual_executor.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using namespace braid;

namespace {

/// Runs flows in time that stands still but where a node sleeps or says how long it takes.
struct scene {
  struct loops_clock final : clock_source {
    explicit loops_clock(const testing::test_loop& l) noexcept : of(&l) {}
    [[nodiscard]] auto now() const noexcept -> time_point override { return of->now(); }
    const testing::test_loop* of;
  };

  template <typename Flow>
  auto run(const Flow& flow, flow_run_options how = {.times = flow_times::recorded}) {
    how.clock = &clock;
    return finish(flow.run(how, workers));
  }

  template <typename T>
  auto finish(task<flow_result<T>> work) -> flow_result<T> {
    outcome<flow_result<T>> ended;
    bool is_over = false;
    auto keep = [&](task<flow_result<T>> inner) -> task<void> {
      ended = co_await as_outcome(std::move(inner));
      is_over = true;
    };
    here.io().spawn(keep(std::move(work)));
    while (!is_over) {
      if (workers.pending() != 0 && ++turns % 2 == 0)
        workers.run();
      else
        here.advance(1ms);
    }
    workers.run_all();  // what was withdrawn
    return ended.take();
  }

  /// A function that takes so long.
  auto takes(duration span) {
    return [this, span](auto&&...) {
      here.advance(span);
      return 1;
    };
  }

  testing::test_loop here;
  testing::manual_executor workers;
  loops_clock clock{here};
  int turns = 0;
};

auto sleeps(duration span) {
  return [span](auto&&...) -> task<int> {
    co_await sleep_for(span);
    co_return 1;
  };
}

}  // namespace

TEST_CASE("each node was ready when the last of what it takes was there, and its times follow each other") {
  scene on;
  flow_builder<> draft;
  const auto a = draft.add("a", sleeps(2ms));
  const auto b = draft.add("b", sleeps(5ms));
  const auto c = draft.add("c", on.takes(3ms), a);
  const auto d = draft.add({.name = "d", .size = node_size::small}, [](int, int, int) { return 4; }, a, b, c);
  const auto flow = std::move(draft).build(d).value();
  const time_point begin = on.here.now();
  const auto result = on.run(flow);
  const flow_report& report = result.report();
  REQUIRE(report.has_times());
  CHECK(report.times(0).ready == begin);
  CHECK(report.times(1).ready == begin);
  CHECK(report.times(2).ready == report.times(0).ended);
  CHECK(report.times(3).ready == std::max(report.times(1).ended, report.times(2).ended));
  CHECK(report.times(0).run() >= 2ms);
  CHECK(report.times(1).run() >= 5ms);
  CHECK(report.times(2).run() == 3ms);
  CHECK(report.times(2).queue() >= 0ns);
  CHECK(report.times(3).run() == 0ns);
}

TEST_CASE("a node was ready when the last of what it takes was there, whichever of them that was") {
  for (const bool first_is_last : {true, false}) {
    scene on;
    flow_builder<> draft;
    const auto a = draft.add("a", sleeps(first_is_last ? 5ms : 2ms));
    const auto b = draft.add("b", sleeps(3ms));
    const auto c = draft.add({.name = "c", .size = node_size::small}, [](int, int) { return 1; }, a, b);
    const auto flow = std::move(draft).build(c).value();
    const auto result = on.run(flow);
    const flow_report& report = result.report();
    CHECK(report.times(2).ready == report.times(first_is_last ? 0 : 1).ended);
  }
}

TEST_CASE("the times of the critical path add up to the time of the run") {
  scene on;
  flow_builder<> draft;
  const auto a = draft.add("a", sleeps(2ms));
  const auto b = draft.add("b", sleeps(20ms));
  const auto c = draft.add("c", on.takes(3ms), a);
  const auto d = draft.add("d", on.takes(1ms), b, c);
  draft.add("e", sleeps(4ms), a);
  const auto flow = std::move(draft).build(d).value();
  const time_point begin = on.here.now();
  const auto result = on.run(flow);
  const auto path = result.report().critical_path();
  REQUIRE(path.size() == 2);
  CHECK(path[0].node == 1);
  CHECK(path[1].node == 3);
  duration sum{};
  for (const critical_step& step : path) sum += step.queue + step.run;
  CHECK(sum == result.report().total());
  CHECK(result.report().times(3).ended == begin + result.report().total());
}

TEST_CASE("without recorded times there are none, and the nodes are known all the same") {
  scene on;
  flow_builder<> draft;
  const auto a = draft.add("a", on.takes(1ms));
  const auto flow = std::move(draft).build(a).value();
  const auto result = on.run(flow, {});
  CHECK_FALSE(result.report().has_times());
  CHECK_FALSE(result.report().times(0).has_run());
  CHECK(result.report().total() == 0ns);
  CHECK(result.report().critical_path().empty());
  CHECK(result.report().progress(0) == node_progress::done);
  CHECK(result.report().to_text() == "a: done\n");
}

TEST_CASE("nodes that were skipped have no times, and those that were stopped end when they were") {
  scene on;
  flow_builder<> draft;
  const auto fails = draft.add("fails", []() -> task<int> {
    co_await sleep_for(2ms);
    throw std::runtime_error("broken");
  });
  const auto slow = draft.add("slow", sleeps(1h));
  draft.add("behind", [](int, int) {}, fails, slow);
  const auto flow = std::move(draft).build().value();
  const auto result = on.run(flow);
  const flow_report& report = result.report();
  CHECK(report.skipped() == std::vector<node_index>{2});
  CHECK_FALSE(report.times(2).has_run());
  CHECK(report.times(1).has_run());
  CHECK(report.times(1).run() < 1h);
  CHECK(report.critical_path().size() == 1);
}

TEST_CASE("a report in words names the nodes, and the path") {
  scene on;
  flow_builder<> draft;
  const auto a = draft.add({.name = "a", .size = node_size::small}, on.takes(1500us));
  draft.add({.name = "b", .size = node_size::small}, on.takes(250us), a);
  const auto flow = std::move(draft).build().value();
  CHECK(on.run(flow).report().to_text() ==
        "a: done, waited 0.0 us, ran 1500.0 us\n"
        "b: done, waited 0.0 us, ran 250.0 us\n"
        "critical path of 1750.0 us:\n"
        "  a: waited 0.0 us, ran 1500.0 us\n"
        "  b: waited 0.0 us, ran 250.0 us\n");
}

TEST_CASE("a report outlives the flow, the run and what its nodes have captured") {
  scene on;
  flow_report kept;
  {
    flow_builder<> draft;
    draft.add("only", [big = std::vector<int>(100)] { return big.size(); });
    const auto flow = std::move(draft).build().value();
    kept = on.run(flow).report();
  }
  CHECK(kept.name(0) == "only");
  CHECK(kept.size() == 1);
}

TEST_CASE("take gives the value, or throws what the failure was") {
  scene on;
  flow_builder<> draft;
  const auto a = draft.add("a", [] { return std::make_unique<int>(3); });
  auto good = on.run(std::move(draft).build(a).value());
  CHECK(static_cast<bool>(good));
  CHECK(*good.take() == 3);

  flow_builder<> other;
  other.add("late", sleeps(1h));
  auto late = on.run(std::move(other).build().value(), {.deadline = on.here.now() + 1ms});
  CHECK_FALSE(static_cast<bool>(late));
  CHECK_THROWS_AS(late.take(), std::system_error);
}

TEST_CASE("values lie at addresses that are right for their types, whatever lies before them") {
  struct alignas(64) wide {
    char text = 'x';
  };
  const auto is_aligned = [](const wide& value) { return reinterpret_cast<std::uintptr_t>(&value) % 64 == 0; };
  flow_builder<> draft;
  const auto letter = draft.add("letter", [] { return 'a'; });
  const auto first = draft.add("first", [](char) { return wide(); }, letter);
  const auto other = draft.add("other", [](char) { return 'b'; }, letter);
  const auto second = draft.add("second", [](char) { return wide(); }, other);
  const auto both = draft.add(
      "both", [is_aligned](const wide& one, const wide& two) { return is_aligned(one) && is_aligned(two); }, first,
      second);
  const auto flow = std::move(draft).build(both).value();
  scene on;
  CHECK(on.run(flow).take());
}
