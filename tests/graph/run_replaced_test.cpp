// tests/graph/run_replaced_test.cpp: nodes that fail, and after which a run goes on as if they were done.
#include <braid/graph/run.hpp>

#include <tests/support/manual_executor.hpp>
#include <tests/support/test_loop.hpp>
#include <tests/support/test_nodes.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

using namespace braid;
using cause = graph_failure::cause;

namespace {

class replaceable : public testing::test_nodes {
 public:
  using test_nodes::test_nodes;

  auto replaces(const graph_failure& why) noexcept -> bool {
    asked_about.push_back({why.node, why.why});
    return !why.error;
  }

  std::vector<std::pair<node_index, cause>> asked_about;
};

/// A run of such nodes, whose workers and clock a test turns by hand.
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

  void start() {
    in.emplace(here.io().root(), time_point::max());
    run.emplace(shape, nodes, workers, *in);
    run->start();
  }

  void join() {
    auto wait = [&]() -> task<void> { co_await run->join(); };
    REQUIRE(here.run(wait()).has_value());
  }

  testing::test_loop here;
  testing::manual_executor workers;
  graph_shape shape;
  replaceable nodes;
  std::optional<scope> in;
  std::optional<graph_run<replaceable>> run;
};

auto fails(const stop_flag& /*stop*/) -> node_status { return node_status::failed; }

}  // namespace

TEST_CASE("after a node that is replaced those behind it run, and the run does not fail") {
  for (const node_mode mode : {node_mode::here, node_mode::worker}) {
    bench b(3, {{0, 1}, {1, 2}});
    for (auto& node : b.nodes.nodes) node.mode = mode;
    b.nodes.nodes[1].run = fails;
    b.start();
    for (std::size_t run = 0; run < 3; ++run) {
      b.workers.run_all();
      b.here.run_once();
    }
    REQUIRE(b.run->settled().is_set());
    CHECK_FALSE(b.run->failure());
    CHECK(b.run->progress(1) == node_progress::replaced);
    CHECK(b.run->progress(2) == node_progress::done);
    CHECK(b.nodes.asked_about.size() == 1);
  }
}

TEST_CASE("a node whose time is over is replaced at once, and is late when it ends") {
  bench b(2, {{0, 1}});
  b.nodes.nodes[0].mode = node_mode::worker;
  b.nodes.nodes[0].timeout = std::chrono::milliseconds(1);
  b.nodes.nodes[0].run = [&](const stop_flag&) {
    b.here.advance(std::chrono::milliseconds(2));
    b.here.run_once();
    CHECK(b.run->settled().is_set());
    CHECK_FALSE(b.run->failure());
    CHECK((b.nodes.asked_about == std::vector<std::pair<node_index, cause>>{{0, cause::node_timeout}}));
    CHECK(b.run->progress(1) == node_progress::done);
    CHECK(b.run->late() == 0);
    return node_status::done;
  };
  b.start();
  b.workers.run_all();
  b.join();
  CHECK(b.run->progress(0) == node_progress::replaced);
  CHECK(b.run->late() == 1);
}

TEST_CASE("a node that throws is not replaced where its nodes say so, and decides") {
  bench b(2, {{0, 1}});
  b.nodes.nodes[0].run = [](const stop_flag&) -> node_status { throw std::runtime_error("no"); };
  b.start();
  REQUIRE(b.run->failure());
  CHECK(b.run->failure()->node == 0);
  CHECK(b.run->progress(1) == node_progress::skipped);
}

TEST_CASE("of nodes behind one that has failed none is asked to be replaced") {
  bench b(2, {});
  b.nodes.nodes[1].mode = node_mode::worker;
  b.nodes.nodes[1].run = fails;
  b.nodes.nodes[0].run = [](const stop_flag&) -> node_status { throw std::runtime_error("no"); };
  b.start();
  b.workers.run_all();
  b.join();
  CHECK(b.run->failure()->node == 0);
  CHECK(b.nodes.asked_about.size() == 1);
}
