// tests/graph/flow_test.cpp: runs of flows whose workers and clock the test turns by hand.
#include <braid/graph/flow.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>

#include <tests/support/deaths.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace braid;
using cause = graph_failure::cause;

namespace {

/// Counts what is made and what is destroyed, on which it insists to be neither copied nor moved.
struct counted {
  counted(int v, int& a) : value(v), alive(&a) { ++*alive; }
  counted(const counted&) = delete;
  auto operator=(const counted&) -> counted& = delete;
  ~counted() { --*alive; }
  int value;
  int* alive;
};

/// A run that the test watches: what came of it, once it is over.
template <typename T>
struct watched_run {
  template <typename Flow, typename... In>
  void start(Flow& of, flow_run_options how, In... in) {
    here.io().spawn(keep(of.run(how, workers, std::move(in)...)));
  }

  auto keep(task<flow_result<T>> work) -> task<void> {
    ended = co_await as_outcome(std::move(work));
    is_over = true;
  }

  /// Runs workers and turns until it is over.
  auto finish() -> flow_result<T> {
    while (!is_over) {
      workers.run_all();
      here.advance(100us);
    }
    workers.run_all();  // what was withdrawn
    return ended.take();
  }

  testing::test_loop here;
  testing::manual_executor workers;
  outcome<flow_result<T>> ended;
  bool is_over = false;
};

auto after(duration span, int value) -> task<int> {
  co_await sleep_for(span);
  co_return value;
}

template <typename T>
auto names(const flow_result<T>& of, const std::vector<node_index>& nodes) -> std::string {
  std::string all;
  for (const node_index node : nodes) all += of.report().name(node) + " ";
  return all;
}

template <typename T>
auto sentence(flow_result<T> of) -> std::string {
  try {
    of.take();
  } catch (const std::exception& thrown) {
    return thrown.what();
  }
  return "no exception";
}

}  // namespace

TEST_CASE("values go along the edges: from inputs, functions and coroutines, to all who take them") {
  flow_builder<int, std::string> draft;
  const auto n = draft.input<0>();
  const auto doubled = draft.add("doubled", [](int in) { return 2 * in; }, n);
  const auto later = draft.add("later", [](const int& in) { return after(1ms, in + 1); }, n);
  const auto text = draft.add(
      {.name = "text", .size = node_size::small},
      [](int a, const int& b, const std::string& unit, int again) {
        return std::to_string(a * 100 + b) + unit + std::to_string(again);
      },
      doubled, later, draft.input<1>(), doubled);
  const auto flow = std::move(draft).build(text).value();
  watched_run<std::string> run;
  run.start(flow, {}, 7, std::string("!"));
  auto result = run.finish();
  REQUIRE(result.has_value());
  CHECK(result.take() == "1408!14");
}

TEST_CASE("functions run on the workers, small ones and coroutines at home") {
  flow_builder<> draft;
  std::array<std::size_t, 3> pending{};
  watched_run<void> run;
  const auto a = draft.add({.name = "a", .size = node_size::small}, [&] { pending[0] = run.workers.pending(); });
  const auto b = draft.add("b", [&] { pending[1] = run.workers.pending(); }, a);
  draft.add(
      "c",
      [&]() -> task<void> {
        pending[2] = run.workers.pending();
        co_return;
      },
      a);
  const auto flow = std::move(draft).build().value();
  static_cast<void>(b);
  run.start(flow, {});
  CHECK(run.workers.pending() == 1);
  CHECK_FALSE(run.is_over);
  CHECK(run.finish().has_value());
}

TEST_CASE("values that can be neither copied nor moved go along edges, live as long as the run, and die once") {
  int alive = 0;
  flow_builder<int> draft;
  const auto made = draft.add("made", [&](int n) { return counted(n, alive); }, draft.input());
  const auto seen = draft.add("seen", [](const counted& in) -> const counted* { return &in; }, made);
  const auto same = draft.add(
      "same",
      [&](const counted& in, const counted* const& at) -> task<std::unique_ptr<int>> {
        co_await sleep_for(1ms);
        co_return std::make_unique<int>(&in == at ? in.value + alive : -1);
      },
      made, seen);
  const auto flow = std::move(draft).build(same).value();
  watched_run<std::unique_ptr<int>> run;
  run.start(flow, {}, 41);
  CHECK(*run.finish().take() == 42);
  CHECK(alive == 0);
}

TEST_CASE("an input that cannot be copied is moved into the run, and out of it as its result") {
  flow_builder<std::unique_ptr<int>> draft;
  const auto in = draft.input();
  draft.add("reads", [](const std::unique_ptr<int>& n) { return *n; }, in);
  const auto flow = std::move(draft).build(in).value();
  watched_run<std::unique_ptr<int>> run;
  run.start(flow, {}, std::make_unique<int>(5));
  CHECK(*run.finish().take() == 5);
}

TEST_CASE("what is only waited for gives no argument, and comes first all the same") {
  std::string order;
  flow_builder<> draft;
  const auto first = draft.add("first", [&] {
    order += "1";
    return 5;
  });
  const auto second = draft.add(
      "second",
      [&]() -> task<void> {
        co_await sleep_for(1ms);
        order += "2";
      },
      first.done());
  const auto third = draft.add(
      "third",
      [&](int n) {
        order += "3";
        return n + 1;
      },
      second, first);
  const auto flow = std::move(draft).build(third).value();
  watched_run<int> run;
  run.start(flow, {});
  CHECK(run.finish().take() == 6);
  CHECK(order == "123");
}

TEST_CASE("a flow is built once and run by many at the same time, each with values of its own") {
  flow_builder<int> draft;
  const auto waited = draft.add("waited", [](const int& n) { return after(n * 1ms, n); }, draft.input());
  const auto squared = draft.add("squared", [](int n) { return n * n; }, waited);
  auto flow = std::make_unique<braid::flow<int(int)>>(std::move(draft).build(squared).value());
  testing::test_loop here;
  testing::manual_executor workers;
  int sum = 0;
  int over = 0;
  auto one = [&](int n) -> task<void> {
    auto result = co_await flow->run(workers, n);
    sum += result.take();
    ++over;
  };
  for (int n = 1; n <= 50; ++n) here.io().spawn(one(n));
  here.run_once();
  flow.reset();  // runs need it no longer
  while (over < 50) {
    workers.run_all();
    here.advance(100us);
  }
  CHECK(sum == 42925);
}

TEST_CASE(
    "what a node throws is what the run throws; nodes behind it are skipped or stopped, in the order of the flow") {
  int alive = 0;
  flow_builder<> draft;
  const auto good = draft.add("good", [&] { return counted(1, alive); });
  const auto slow = draft.add("slow", [](const counted&) { return after(2ms, 1); }, good);
  const auto bad = draft.add("bad", [](const counted&) -> int { throw std::runtime_error("broken"); }, good);
  const auto slower = draft.add("slower", [] { return after(1h, 1); });
  const auto end = draft.add("end", [](int a, int b, int c) { return a + b + c; }, slow, bad, slower);
  draft.add("behind", [](int) {}, bad);
  const auto flow = std::move(draft).build(end).value();
  watched_run<int> run;
  run.start(flow, {});
  run.workers.run_all();
  run.here.run_once();
  run.workers.run_all();
  run.here.run_once();
  CHECK_FALSE(run.is_over);  // slow stands before bad
  const auto result = run.finish();
  REQUIRE(result.failure().has_value());
  CHECK(result.failure()->why == cause::node_failed);
  CHECK(result.report().name(result.failure()->node) == "bad");
  CHECK(names(result, result.report().skipped()) == "end behind ");
  CHECK(result.report().progress(1) == node_progress::done);
  CHECK(result.report().progress(3) == node_progress::stopped);
  CHECK(result.report().late() == 0);
  CHECK(sentence(result) == "broken");
  CHECK(alive == 0);
}

TEST_CASE("of two nodes that throw the one that was added first is reported, whichever throws first") {
  for (const bool first_is_quick : {true, false}) {
    const auto fails = [](duration span, const char* what) -> task<void> {
      co_await sleep_for(span);
      throw std::runtime_error(what);
    };
    flow_builder<> draft;
    draft.add("a", [&] { return fails(first_is_quick ? 1ms : 3ms, "a broke"); });
    draft.add("b", [&] { return fails(first_is_quick ? 3ms : 1ms, "b broke"); });
    const auto flow = std::move(draft).build().value();
    watched_run<void> run;
    run.start(flow, {});
    CHECK(sentence(run.finish()) == "a broke");
  }
}

TEST_CASE("a failure does not wait for a function before it that is noexcept, and has no timeout") {
  const auto is_over_before_the_worker_runs = [](auto slow, duration timeout) {
    flow_builder<> draft;
    draft.add({.name = "slow", .timeout = timeout}, slow);
    draft.add("broken", []() -> task<void> {
      co_await sleep_for(1ms);
      throw std::runtime_error("broken");
    });
    const auto flow = std::move(draft).build().value();
    watched_run<void> run;
    run.start(flow, {});
    for (int step = 0; step < 20; ++step) run.here.advance(100us);
    const bool is_over = run.is_over;
    CHECK(sentence(run.finish()) == "broken");
    return is_over;
  };
  CHECK(is_over_before_the_worker_runs([]() noexcept {}, duration::max()));
  CHECK_FALSE(is_over_before_the_worker_runs([] {}, duration::max()));
  CHECK_FALSE(is_over_before_the_worker_runs([]() noexcept {}, 1h));
}

TEST_CASE("a coroutine that takes longer than its timeout is stopped, and its locals die once") {
  testing::deaths ends;
  flow_builder<> draft;
  const auto waits = [&]() -> task<int> {
    const testing::mortal local(ends);
    co_await sleep_for(1h);
    co_return 1;
  };
  const auto slow = draft.add({.name = "slow", .timeout = 2ms}, waits);
  draft.add("behind", [](int) {}, slow);
  const auto flow = std::move(draft).build(slow).value();
  watched_run<int> run;
  run.start(flow, {});
  const auto result = run.finish();
  CHECK(result.failure()->why == cause::node_timeout);
  CHECK(result.report().progress(0) == node_progress::failed);
  CHECK(names(result, result.report().skipped()) == "behind ");
  CHECK(sentence(result).find("node `slow`") == 0);
  CHECK(ends.count == 1);
}

TEST_CASE("a function that takes longer than its timeout sees it, is waited for, and counted") {
  flow_builder<> draft;
  bool saw_stop = false;
  watched_run<int>* watched = nullptr;
  const auto slow = draft.add({.name = "slow", .timeout = 1ms}, [&](const stop_flag& stop) {
    watched->here.advance(2ms);  // the timeout passes while it runs
    saw_stop = stop.requested();
    return 1;
  });
  const auto flow = std::move(draft).build(slow).value();
  watched_run<int> run;
  watched = &run;
  run.start(flow, {});
  const auto result = run.finish();
  CHECK(saw_stop);
  CHECK(result.failure()->why == cause::node_timeout);
  CHECK(result.report().late() == 1);
}

TEST_CASE("a function that waits for a worker when its timeout passes is never called") {
  flow_builder<> draft;
  bool called = false;
  const auto slow = draft.add({.name = "slow", .timeout = 1ms}, [&] {
    called = true;
    return 1;
  });
  const auto flow = std::move(draft).build(slow).value();
  watched_run<int> run;
  run.start(flow, {});
  run.here.advance(2ms);
  CHECK(run.is_over);  // the function is withdrawn
  const auto result = run.finish();
  CHECK_FALSE(called);
  CHECK(result.failure()->why == cause::node_timeout);
  CHECK(result.report().late() == 0);
}

TEST_CASE("the deadline of a run ends it: what waits is stopped, what waits for a worker is withdrawn") {
  flow_builder<> draft;
  bool called = false;
  draft.add("waits", [] { return after(1h, 1); });
  draft.add("queues", [&] { called = true; });
  const auto flow = std::move(draft).build().value();
  watched_run<void> run;
  run.start(flow, {.deadline = run.here.now() + 3ms});
  run.here.advance(2ms);
  CHECK_FALSE(run.is_over);
  run.here.advance(2ms);
  CHECK(run.is_over);
  const auto result = run.finish();
  CHECK(result.failure()->why == cause::run_stopped);
  CHECK(result.failure()->reason == errc::deadline_exceeded);
  CHECK(result.report().progress(0) == node_progress::stopped);
  CHECK(result.report().progress(1) == node_progress::stopped);
  CHECK_FALSE(called);
  CHECK(sentence(result).find("the run") == 0);
}

TEST_CASE("a deadline that has passed lets coroutines come to their first wait only") {
  flow_builder<> draft;
  int reached = 0;
  draft.add("waits", [&]() -> task<void> {
    ++reached;
    co_await sleep_for(1h);
    ++reached;
  });
  const auto flow = std::move(draft).build().value();
  watched_run<void> run;
  run.start(flow, {.deadline = run.here.now() - 1ms});
  const auto result = run.finish();
  CHECK(result.failure()->why == cause::run_stopped);
  CHECK(reached <= 1);
}

TEST_CASE("a stop of the scope around stops the run, which has joined when it ends as stopped") {
  testing::deaths ends;
  int alive = 0;
  flow_builder<> draft;
  const auto made = draft.add({.name = "made", .size = node_size::small}, [&] { return counted(1, alive); });
  draft.add(
      "waits",
      [&](const counted&) -> task<void> {
        const testing::mortal local(ends);
        co_await sleep_for(1h);
      },
      made);
  watched_run<void> run;
  scope around(run.here.io().root());
  const auto stop = [&](const counted& in) {
    around.request_stop();
    run.here.run_once();
    CHECK(ends.count == 1);
    CHECK(alive == 1);  // this function still looks at it
    CHECK(in.value == 1);
    CHECK_FALSE(run.is_over);
  };
  draft.add("computes", stop, made);
  const auto flow = std::move(draft).build().value();
  around.spawn(run.keep(flow.run(run.workers)));
  CHECK(alive == 1);
  run.workers.run_all();
  run.here.run_once();
  CHECK(run.is_over);
  CHECK(run.ended.is_stopped());
  CHECK(alive == 0);
}

TEST_CASE("a run that is never awaited is just dropped, with its inputs") {
  testing::deaths ends;
  flow_builder<std::unique_ptr<testing::mortal>> draft;
  draft.add("never", [](const std::unique_ptr<testing::mortal>&) {}, draft.input());
  const auto flow = std::move(draft).build().value();
  testing::manual_executor workers;
  { const auto unused = flow.run(workers, std::make_unique<testing::mortal>(ends)); }
  CHECK(ends.count == 1);
  CHECK(workers.pending() == 0);
}

TEST_CASE("with_timeout around a run works as around any task") {
  flow_builder<> draft;
  const auto slow = draft.add("slow", [] { return after(1h, 1); });
  const auto flow = std::move(draft).build(slow).value();
  testing::test_loop here;
  testing::manual_executor workers;
  auto limited = with_timeout(2ms, flow.run(workers));
  auto ended = here.run_through(std::move(limited), 100us).take();
  REQUIRE_FALSE(ended.has_value());
  CHECK(ended.error() == errc::deadline_exceeded);
}

TEST_CASE("an executor that refuses, or drops, fails the node") {
  flow_builder<> draft;
  const auto one = draft.add("one", [] { return 1; });
  const auto flow = std::move(draft).build(one).value();
  {
    watched_run<int> refused;
    refused.workers.close();
    refused.start(flow, {});
    CHECK(sentence(refused.finish()) == make_error_code(errc::closed).message());
  }
  watched_run<int> dropped;
  dropped.start(flow, {});
  dropped.workers.drop();
  CHECK(sentence(dropped.finish()) == make_error_code(errc::dropped).message());
}

TEST_CASE("a coroutine that stops itself fails without an exception, and is named") {
  flow_builder<> draft;
  const auto gives_up = draft.add("gives up", []() -> task<int> {
    co_await stop_here();
    co_return 1;
  });
  const auto flow = std::move(draft).build(gives_up).value();
  watched_run<int> run;
  run.start(flow, {});
  const auto result = run.finish();
  CHECK(result.failure()->why == cause::node_failed);
  CHECK(sentence(result).find("node `gives up`") == 0);
}

TEST_CASE("a diamond of ten thousand nodes, of functions, small ones and coroutines, sums up right") {
  constexpr int wide = 10'000;
  flow_builder<int> draft;
  const auto top = draft.add("top", [](int n) -> task<int> { co_return n; }, draft.input());
  std::vector<flow_node<std::int64_t>> layer;
  for (int i = 0; i < wide; ++i) {
    const auto add = [i](int n) { return std::int64_t{n} + i; };
    const auto add_later = [i](const int& n) -> task<std::int64_t> { co_return std::int64_t{n} + i; };
    if (i % 3 == 0)
      layer.push_back(draft.add("later", add_later, top));
    else
      layer.push_back(draft.add({.name = "now", .size = i % 3 == 1 ? node_size::small : node_size::large}, add, top));
  }
  const auto plus = [](std::int64_t a, std::int64_t b) { return a + b; };
  while (layer.size() > 1) {
    std::vector<flow_node<std::int64_t>> next;
    for (std::size_t i = 0; i + 1 < layer.size(); i += 2)
      next.push_back(draft.add({.name = "plus", .size = node_size::small}, plus, layer[i], layer[i + 1]));
    if (layer.size() % 2 == 1) next.push_back(layer.back());
    layer = std::move(next);
  }
  const auto flow = std::move(draft).build(layer.front()).value();
  watched_run<std::int64_t> run;
  run.start(flow, {.times = flow_times::recorded}, 1);
  auto result = run.finish();
  CHECK(result.take() == std::int64_t{wide} + std::int64_t{wide} * (wide - 1) / 2);
  CHECK(result.report().skipped().empty());
}

TEST_CASE("a long chain of small functions and of coroutines does not use up the stack") {
  constexpr int length = 100'000;
  flow_builder<int> draft;
  auto last = draft.input();
  for (int i = 0; i < length; ++i)
    last = i % 2 == 0 ? draft.add(
                            {.size = node_size::small}, [](int n) { return n + 1; }, last)
                      : draft.add("", [](const int& n) -> task<int> { co_return n + 1; }, last);
  const auto flow = std::move(draft).build(last).value();
  watched_run<int> run;
  run.start(flow, {}, 0);
  CHECK(run.finish().take() == length);
}
