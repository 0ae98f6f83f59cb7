// tests/graph/run_options_test.cpp: runs that go on after a failure, limit what runs, follow priorities, record times.
#include <braid/graph/run_options.hpp>

#include <braid/base/random.hpp>
#include <braid/graph/run.hpp>

#include <tests/support/run_bench.hpp>
#include <tests/support/test_nodes.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using namespace braid;
using bench = testing::run_bench;
using testing::test_node;

namespace {

using cause = graph_failure::cause;

/// One letter for each node of a run that is joined.
auto progress_text(const bench& b) -> std::string {
  constexpr std::string_view letters = "SRDFXLE";  // skipped running done failed stopped late replaced
  std::string text;
  for (node_index node = 0; node < b.shape.size(); ++node)
    text += letters[static_cast<std::size_t>(b.run->progress(node))];
  return text;
}

auto failed_nodes(const bench& b) -> std::vector<node_index> {
  std::vector<node_index> nodes;
  for (const graph_failure& each : b.run->failures()) nodes.push_back(each.node);
  return nodes;
}

auto fail_later() -> task<node_status> {
  co_await sleep_for(1ms);
  co_return node_status::failed;
}

/// Lets the node fail, in whatever mode it runs.
void let_fail(test_node& node) {
  node.run = [](const stop_flag&) { return node_status::failed; };
  node.start = fail_later;
}

/// Runs what the executor has, and advances the clock, until the run is joined.
void finish(bench& b) {
  for (int round = 0; round < 1000 && !b.settled(); ++round) {
    b.workers.run_all();
    b.here.advance(1ms);
  }
  REQUIRE(b.settled());
  b.workers.run_all();
  b.join();
}

struct keep_going_row {
  const char* name;
  std::size_t nodes;
  std::vector<graph_shape::edge> edges;
  std::vector<node_index> failing;
  const char* progress;
  std::vector<node_index> failures;
};

/// Returns the nodes that cannot run, because a node before them fails.
auto blocked_by_definition(const graph_shape& shape, const std::vector<bool>& fails) -> std::vector<bool> {
  std::vector<bool> blocked(shape.size());
  for (const node_index node : shape.order())
    for (const node_index next : shape.successors(node))
      if (fails[node] || blocked[node]) blocked[next] = true;
  return blocked;
}

}  // namespace

TEST_CASE("with keep_going, all nodes run that do not depend on a failed one") {
  const std::vector<keep_going_row> rows{
      {"no failure", 3, {{0, 1}}, {}, "DDD", {}},
      {"a single node", 1, {}, {0}, "F", {0}},
      {"nodes without edges", 4, {}, {1}, "DFDD", {1}},
      {"the start of a chain", 4, {{0, 1}, {1, 2}}, {0}, "FSSD", {0}},
      {"the end of a chain", 3, {{0, 1}, {1, 2}}, {2}, "DDF", {2}},
      {"one side of a diamond", 4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}, {1}, "DFDS", {1}},
      {"both sides of a diamond", 4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}, {2, 1}, "DFFS", {1, 2}},
      {"an edge given twice", 3, {{0, 1}, {0, 1}, {1, 2}}, {0}, "FSS", {0}},
      {"a later number that is first in the order", 4, {{3, 0}, {0, 1}}, {2, 3}, "SSFF", {2, 3}},
      {"a failing node behind a failed one", 3, {{0, 1}, {1, 2}}, {0, 1}, "FSS", {0}},
      {"all nodes", 3, {}, {0, 1, 2}, "FFF", {0, 1, 2}},
  };
  for (const keep_going_row& row : rows) {
    for (const node_mode mode : {node_mode::here, node_mode::worker, node_mode::task}) {
      CAPTURE(row.name);
      CAPTURE(static_cast<int>(mode));
      bench b(row.nodes, row.edges);
      b.options.on_failure = after_failure::keep_going;
      b.mode_of_all(mode);
      for (const node_index node : row.failing) let_fail(b.nodes.nodes[node]);
      b.start();
      finish(b);
      CHECK(progress_text(b) == row.progress);
      CHECK(failed_nodes(b) == row.failures);
      CHECK(b.run->failure().has_value() == !row.failures.empty());
      if (!row.failures.empty()) CHECK(b.failure().node == row.failures.front());
      CHECK(b.run->late() == 0);
    }
  }
}

TEST_CASE("with keep_going, a failure is not the end: the run is settled when the last node has ended") {
  bench b(2, {});
  b.options.on_failure = after_failure::keep_going;
  b.mode_of_all(node_mode::task);
  b.nodes.nodes[0].start = fail_later;
  b.nodes.nodes[1].start = [] { return test_node::done_after(1h); };
  b.start();
  b.here.advance(2ms);
  CHECK(b.run->progress(0) == node_progress::failed);
  CHECK_FALSE(b.settled());
  CHECK(failed_nodes(b) == std::vector<node_index>{0});
  b.here.advance(1h);
  CHECK(b.settled());
  b.join();
  CHECK(progress_text(b) == "FD");
}

TEST_CASE("with keep_going, each failure says why, and a timeout is one") {
  bench b(4, {{0, 3}});
  b.options.on_failure = after_failure::keep_going;
  b.mode_of_all(node_mode::task);
  b.nodes.nodes[0].timeout = 5ms;
  b.nodes.nodes[0].start = [] { return test_node::done_after(1h); };
  b.nodes.nodes[1].mode = node_mode::here;
  b.nodes.nodes[1].run = [](const stop_flag&) -> node_status { throw std::runtime_error("no disk"); };
  b.start();
  finish(b);
  CHECK(progress_text(b) == "FFDS");
  const auto failures = b.run->failures();
  REQUIRE(failures.size() == 2);
  CHECK(failures[0].why == cause::node_timeout);
  CHECK(failures[1].why == cause::node_failed);
  CHECK_THROWS_WITH_AS(std::rethrow_exception(failures[1].error), "no disk", std::runtime_error);
}

TEST_CASE("a stop ends a run with keep_going, and the failures until then remain") {
  bench b(3, {{1, 2}});
  b.options.on_failure = after_failure::keep_going;
  b.mode_of_all(node_mode::task);
  b.nodes.nodes[0].start = fail_later;
  b.nodes.nodes[1].start = [] { return test_node::done_after(1h); };
  b.start();
  b.here.advance(2ms);
  b.in->request_stop();
  CHECK(b.failure().why == cause::run_stopped);
  b.join();
  CHECK(progress_text(b) == "FXS");
  CHECK(failed_nodes(b) == std::vector<node_index>{0});
}

TEST_CASE("without keep_going a run reports one failure, and lists none") {
  bench b(3, {});
  let_fail(b.nodes.nodes[1]);
  b.start();
  finish(b);
  CHECK(b.failure().node == 1);
  CHECK(b.run->failures().empty());
}

TEST_CASE("random graphs with keep_going end as the definition says") {
  random_source random(11);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const std::size_t count = 1 + random.below(24);
    bench b(count, testing::random_acyclic_edges(random, count, random.below(2 * count)));
    b.options.on_failure = after_failure::keep_going;
    b.options.max_running = 1 + random.below(4);
    std::vector<bool> fails(count);
    for (std::size_t node = 0; node < count; ++node) {
      constexpr std::array modes{node_mode::here, node_mode::worker, node_mode::task};
      b.nodes.nodes[node].mode = modes[random.below(3)];
      fails[node] = random.below(5) == 0;
      if (fails[node]) let_fail(b.nodes.nodes[node]);
    }
    b.start();
    finish(b);
    const std::vector<bool> blocked = blocked_by_definition(b.shape, fails);
    std::string expected;
    for (std::size_t node = 0; node < count; ++node) expected += blocked[node] ? 'S' : fails[node] ? 'F' : 'D';
    CHECK(progress_text(b) == expected);
    CHECK(testing::respects(b.nodes.ended, b.edges, count));
  }
}

TEST_CASE("no more nodes run elsewhere at a time than max_running says, and a node that ends starts the next") {
  for (const std::size_t limit : {1U, 2U, 5U}) {
    CAPTURE(limit);
    bench b(6, {{0, 5}});
    b.mode_of_all(node_mode::worker);
    b.options.max_running = limit;
    b.start();
    std::size_t most = 0;
    while (b.workers.pending() > 0) {
      most = std::max(most, b.workers.pending());
      b.workers.run();
      b.here.run_once();
    }
    CHECK(most == limit);
    CHECK(progress_text(b) == "DDDDDD");
  }
}

TEST_CASE("nodes that run here do not wait for max_running, and what was skipped gives its place back") {
  bench b(5, {});
  b.options.max_running = 1;
  b.mode_of_all(node_mode::worker);
  b.nodes.nodes[4].mode = node_mode::here;
  b.nodes.nodes[1].run = [](const stop_flag&) { return node_status::failed; };
  b.options.on_failure = after_failure::keep_going;
  b.start();
  CHECK(b.run->progress(4) == node_progress::done);
  finish(b);
  CHECK(progress_text(b) == "DFDDD");
}

TEST_CASE("of several ready nodes the one with the longest remaining path starts first") {
  struct row {
    const char* name;
    std::vector<graph_shape::edge> edges;
    std::vector<duration> weights;
    std::vector<node_index> started;
  };
  const std::vector<row> rows{
      {"equal weights: the order of the shape", {}, {1ns, 1ns, 1ns, 1ns}, {0, 1, 2, 3}},
      {"the largest weight", {}, {1ns, 4ns, 2ns, 3ns}, {1, 3, 2, 0}},
      {"a chain before a single node", {{1, 2}, {2, 3}}, {2ns, 1ns, 1ns, 1ns}, {1, 0, 2, 3}},
      {"a long node at the end of a chain", {{2, 3}}, {5ns, 6ns, 1ns, 9ns}, {2, 3, 1, 0}},
      {"a chain that overtakes", {{3, 0}}, {4ns, 3ns, 2ns, 1ns}, {3, 0, 1, 2}},
  };
  for (const row& each : rows) {
    for (const node_mode mode : {node_mode::here, node_mode::worker, node_mode::task}) {
      CAPTURE(each.name);
      CAPTURE(static_cast<int>(mode));
      bench b(4, each.edges);
      const std::vector<duration> priorities = remaining_paths(b.shape, each.weights);
      b.options.priorities = priorities;
      b.options.max_running = 1;
      b.mode_of_all(mode);
      b.start();
      finish(b);
      CHECK(b.nodes.started == each.started);
    }
  }
}

TEST_CASE("a run with a clock records when each node was ready, started and ended") {
  bench b(4, {{0, 1}, {2, 3}});
  manual_clock ticks;
  const time_point begin = ticks.now();
  b.options = {.on_failure = after_failure::keep_going, .max_running = 1, .clock = &ticks};
  b.mode_of_all(node_mode::worker);
  b.nodes.nodes[2].run = [&](const stop_flag&) {
    ticks.advance(10ns);
    return node_status::failed;
  };
  b.nodes.nodes[0].mode = node_mode::here;
  b.nodes.nodes[0].run = [&](const stop_flag&) -> node_status {
    ticks.advance(3ns);
    return node_status::done;
  };
  b.nodes.nodes[1].mode = node_mode::task;
  b.nodes.nodes[1].start = [&]() -> task<node_status> {
    ticks.advance(5ns);
    co_await sleep_for(1ms);
    ticks.advance(5ns);
    throw std::runtime_error("times hold for a failure, too");
  };
  b.start();
  ticks.advance(2ns);  // node 2 waits for the executor
  finish(b);
  CHECK(progress_text(b) == "DFFS");
  CHECK(b.run->begin_time() == begin);
  REQUIRE(b.run->times().size() == 4);
  CHECK(b.run->times()[0] == node_times{begin, begin, begin + 3ns});
  CHECK(b.run->times()[2] == node_times{begin, begin + 5ns, begin + 15ns});
  CHECK(b.run->times()[1] == node_times{begin + 3ns, begin + 15ns, begin + 25ns});
  CHECK(b.run->times()[3] == node_times());
  const std::vector<critical_step> path = critical_path(b.shape, b.run->begin_time(), b.run->times());
  CHECK(path == std::vector<critical_step>{{0, 0ns, 3ns}, {1, 12ns, 10ns}});
  CHECK(remaining_paths(b.shape, b.run->times()) == std::vector<duration>{13ns, 10ns, 10ns, 0ns});
}

TEST_CASE("a run without a clock records no times") {
  bench b(2, {});
  b.start();
  finish(b);
  CHECK(b.run->times().empty());
  CHECK(b.run->begin_time() == node_times::never);
}
