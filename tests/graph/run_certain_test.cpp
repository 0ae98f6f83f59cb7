// tests/graph/run_certain_test.cpp: a failure is reported without waiting for nodes that cannot fail.
#include <braid/graph/run.hpp>

#include <braid/base/random.hpp>

#include <tests/support/manual_executor.hpp>
#include <tests/support/test_loop.hpp>
#include <tests/support/test_nodes.hpp>

#include <chrono>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

using namespace braid;
using namespace std::chrono_literals;

namespace {

class some_certain : public testing::test_nodes {
 public:
  explicit some_certain(std::size_t count) : test_nodes(count), certain(count, false) {}

  [[nodiscard]] auto may_fail(node_index node) const noexcept -> bool { return !certain[node]; }

  std::vector<bool> certain;
};

/// A run whose workers and clock a test turns by hand.
struct bench {
  bench(std::size_t count, const std::vector<graph_shape::edge>& edges)
      : shape(graph_shape::make(count, edges).value()), nodes(count) {}
  bench(const bench&) = delete;
  auto operator=(const bench&) -> bench& = delete;
  ~bench() {
    in->request_stop();
    workers.run_all();
    join();
  }

  void start(after_failure on_failure = after_failure::stop) {
    in.emplace(here.io().root(), time_point::max());
    run.emplace(shape, nodes, workers, *in, graph_run_options{.on_failure = on_failure});
    run->start();
    here.run_once();
  }
  void join() {
    auto wait = [&]() -> task<void> { co_await run->join(); };
    REQUIRE(here.run(wait()).has_value());
  }
  void sleeps(node_index node, duration span) {
    nodes.nodes[node].mode = node_mode::task;
    nodes.nodes[node].start = [span] { return testing::test_node::done_after(span); };
  }
  void fails(node_index node, duration after = duration::zero()) {
    nodes.nodes[node].mode = node_mode::task;
    nodes.nodes[node].start = [after]() -> task<node_status> {
      co_await sleep_for(after);
      co_return node_status::failed;
    };
  }

  testing::test_loop here;
  testing::manual_executor workers;
  graph_shape shape;
  some_certain nodes;
  std::optional<scope> in;
  std::optional<graph_run<some_certain>> run;
};

}  // namespace

TEST_CASE("a failure is reported while a node before it that cannot fail still runs, and that one is stopped") {
  bench b(2, {});
  b.sleeps(0, 1h);
  b.nodes.certain[0] = true;
  b.fails(1);
  b.start();
  REQUIRE(b.run->settled().is_set());
  CHECK(b.run->failure()->node == 1);
  b.join();  // without the hour
  CHECK(b.run->progress(0) == node_progress::stopped);
  CHECK(b.run->late() == 0);
}

TEST_CASE("a failure waits for a node before it that may fail, and not for those that cannot") {
  bench b(4, {});
  for (const node_index node : {0U, 2U}) {
    b.sleeps(node, 1h);
    b.nodes.certain[node] = true;
  }
  b.sleeps(1, 1ms);
  b.fails(3);
  b.start();
  CHECK_FALSE(b.run->settled().is_set());
  b.here.advance(1100us);
  REQUIRE(b.run->settled().is_set());
  CHECK(b.run->failure()->node == 3);
}

TEST_CASE("a node that may fail and has not begun is waited for, with the certain ones in front of it") {
  for (const bool second_fails : {false, true}) {
    bench b(3, {{0, 1}});
    b.sleeps(0, 1ms);
    b.nodes.certain[0] = true;
    if (second_fails) b.fails(1);
    b.fails(2);
    b.start();
    CHECK_FALSE(b.run->settled().is_set());
    b.here.advance(1100us);
    b.here.run_once();
    REQUIRE(b.run->settled().is_set());
    CHECK(b.run->failure()->node == (second_fails ? 1 : 2));
  }
}

TEST_CASE("after a later failure an earlier one is reported without waiting for what stands between") {
  bench b(4, {});
  b.sleeps(0, 1h);
  b.nodes.certain[0] = true;
  b.fails(1, 2ms);
  b.sleeps(2, 1h);
  b.fails(3);
  b.start();
  CHECK_FALSE(b.run->settled().is_set());
  b.here.advance(2100us);
  REQUIRE(b.run->settled().is_set());
  CHECK(b.run->failure()->node == 1);
}

TEST_CASE("with keep_going every node that does not depend on the failed one is waited for") {
  bench b(2, {});
  b.sleeps(0, 1ms);
  b.nodes.certain[0] = true;
  b.fails(1);
  b.start(after_failure::keep_going);
  CHECK_FALSE(b.run->settled().is_set());
  b.here.advance(1100us);
  CHECK(b.run->settled().is_set());
  CHECK(b.run->progress(0) == node_progress::done);
}

TEST_CASE("which failure of a random graph is reported does not depend on the times of nodes that cannot fail") {
  random_source random(42);
  for (int round = 0; round < 200; ++round) {
    const std::size_t count = 2 + random.below(12);
    const auto edges = testing::random_acyclic_edges(random, count, random.below(2 * count));
    std::vector<bool> failing(count);
    for (std::size_t node = 0; node < count; ++node) failing[node] = random.below(4) == 0;
    std::optional<node_index> expected;
    const graph_shape shape = graph_shape::make(count, edges).value();
    for (const node_index node : shape.order())
      if (failing[node] && !expected) expected = node;
    for (int timing = 0; timing < 4; ++timing) {
      bench b(count, edges);
      for (node_index node = 0; node < count; ++node) {
        const duration span = std::chrono::milliseconds(random.below(20));
        if (failing[node])
          b.fails(node, span);
        else
          b.sleeps(node, span);
        b.nodes.certain[node] = !failing[node] && random.below(2) == 0;
      }
      b.start();
      for (int step = 0; step < 1000 && !b.run->settled().is_set(); ++step) b.here.advance(1ms);
      REQUIRE(b.run->settled().is_set());
      REQUIRE(b.run->failure().has_value() == expected.has_value());
      if (expected) CHECK(b.run->failure()->node == *expected);
    }
  }
}
