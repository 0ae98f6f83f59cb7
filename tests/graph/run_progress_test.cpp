// tests/graph/run_progress_test.cpp: how far the nodes of a run came, in runs whose timing the test decides.
#include <braid/graph/run.hpp>

#include <braid/coro/sleep.hpp>

#include <tests/support/nested_steps.hpp>
#include <tests/support/run_bench.hpp>
#include <tests/support/test_nodes.hpp>

#include <doctest/doctest.h>

using namespace braid;
using bench = testing::run_bench;
using cause = graph_failure::cause;
using testing::test_node;

namespace {

auto fail_after(duration span) -> task<node_status> {
  co_await sleep_for(span);
  co_return node_status::failed;
}

auto fails(const stop_flag& /*stop*/) -> node_status { return node_status::failed; }

}  // namespace

TEST_CASE("once a run is joined, each node tells how far it came") {
  bench b(6, {{2, 4}});
  b.mode_of_all(node_mode::task);
  b.nodes.nodes[0].start = [] { return test_node::done_after(3ms); };
  b.nodes.nodes[1].mode = node_mode::here;
  b.nodes.nodes[2].start = [] { return fail_after(1ms); };
  b.nodes.nodes[3].start = [] { return test_node::done_after(1h); };
  b.nodes.nodes[5].mode = node_mode::worker;
  b.nodes.nodes[5].run = [&](const stop_flag&) {
    b.here.advance(2ms);
    b.here.advance(2ms);
    return node_status::done;
  };
  b.start();
  CHECK(b.run->progress(0) == node_progress::running);
  CHECK(b.run->progress(1) == node_progress::done);
  b.workers.run();
  REQUIRE(b.settled());
  b.join();
  CHECK(b.run->progress(0) == node_progress::done);
  CHECK(b.run->progress(2) == node_progress::failed);
  CHECK(b.run->progress(3) == node_progress::stopped);
  CHECK(b.run->progress(4) == node_progress::skipped);
  CHECK(b.run->progress(5) == node_progress::late);
  CHECK(b.run->late() == 1);
}

TEST_CASE("a node whose first step was queued does not begin after a node before it has failed") {
  int queued = 0;
  for (int steps = testing::fewest_nested; steps <= testing::max_nested; ++steps) {
    CAPTURE(steps);
    bench b(4, {});
    b.mode_of_all(node_mode::task);
    b.nodes.nodes[0].start = [] { return test_node::done_after(1ms); };
    b.nodes.nodes[1].mode = node_mode::here;
    b.nodes.nodes[1].run = fails;
    b.nodes.nodes[2].start = [] { return test_node::done_after(1h); };
    b.nodes.nodes[3].mode = node_mode::worker;
    auto begin = [&]() -> task<void> {
      b.start();
      co_return;
    };
    b.here.io().spawn(testing::nested(b.here.io().root(), steps, begin()));
    b.here.run_once();
    b.here.advance(2ms);
    REQUIRE(b.settled());
    b.workers.run_all();
    b.here.run_once();
    CHECK(b.in->tasks() == 0);
    CHECK(b.failure().node == 1);
    CHECK(b.run->progress(0) == node_progress::done);
    if (b.run->progress(2) != node_progress::skipped) continue;
    ++queued;
    CHECK(b.nodes.started.size() == 2);
    CHECK(b.run->late() == 0);
  }
  CHECK(queued > 0);
}

TEST_CASE("a node that says it was skipped is no failure where something had stopped it") {
  bench b(2, {});
  b.nodes.nodes[0].mode = node_mode::task;
  b.nodes.nodes[0].start = [] { return fail_after(1ms); };
  b.nodes.nodes[1].mode = node_mode::worker;
  b.nodes.nodes[1].run = [&](const stop_flag& stop) {
    b.here.advance(2ms);
    return stop.requested() ? node_status::skipped : node_status::done;
  };
  b.start();
  b.workers.run();
  b.join();
  CHECK(b.failure().node == 0);
  CHECK(b.run->progress(1) == node_progress::skipped);
  CHECK(b.run->late() == 0);
}

TEST_CASE("a node that waits for a worker when another one fails is stopped, and is never run") {
  bench b(2, {});
  b.nodes.nodes[1].mode = node_mode::worker;
  b.nodes.nodes[0].run = fails;
  b.start();
  b.join();
  CHECK(b.failure().node == 0);
  CHECK(b.run->progress(1) == node_progress::stopped);
  CHECK(b.run->late() == 0);
  b.workers.run();
  CHECK(b.nodes.started.size() == 1);
}

TEST_CASE("a node that says it was skipped though nothing had stopped it has failed") {
  bench alone(1, {});
  alone.nodes.nodes[0].run = [](const stop_flag&) { return node_status::skipped; };
  alone.start();
  CHECK(alone.failure().why == cause::node_failed);
  CHECK(alone.run->progress(0) == node_progress::failed);
}

TEST_CASE("a node that timed out has failed, however it ends, and one that a worker skips then is not late") {
  bench b(1, {});
  b.mode_of_all(node_mode::worker);
  b.nodes.nodes[0].timeout = 1ms;
  b.nodes.nodes[0].run = [&](const stop_flag&) {
    b.here.advance(2ms);
    return node_status::skipped;
  };
  b.start();
  b.workers.run();
  b.join();
  CHECK(b.failure().why == cause::node_timeout);
  CHECK(b.run->progress(0) == node_progress::failed);
  CHECK(b.run->late() == 0);
}
