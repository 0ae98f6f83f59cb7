// tests/graph/run_test.cpp: runs of graphs whose workers and clock the test turns by hand, so that every timing
// repeats.
#include <braid/graph/run.hpp>

#include <braid/base/random.hpp>
#include <braid/graph/shape.hpp>

#include <tests/support/run_bench.hpp>
#include <tests/support/test_nodes.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace braid;
using bench = testing::run_bench;
using testing::test_node;

namespace {

using cause = graph_failure::cause;

auto chain_of(node_index length) -> std::vector<graph_shape::edge> {
  std::vector<graph_shape::edge> edges;
  for (node_index node = 1; node < length; ++node) edges.push_back({node - 1, node});
  return edges;
}

auto fail_after(duration span) -> task<node_status> {
  co_await sleep_for(span);
  co_return node_status::failed;
}

auto fails(const stop_flag& /*stop*/) -> node_status { return node_status::failed; }

auto sentence_of(const graph_failure& failure) -> std::string {
  if (!failure.error) return "no exception";
  try {
    std::rethrow_exception(failure.error);
  } catch (const std::exception& thrown) {
    return thrown.what();
  }
}

}  // namespace

TEST_CASE("a graph without nodes is settled when it starts") {
  bench b(0, {});
  b.start();
  CHECK(b.settled());
  CHECK_FALSE(b.run->failure().has_value());
}

TEST_CASE("nodes that run here have all run when start returns, each after its predecessors") {
  bench b(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  b.start();
  CHECK(b.settled());
  CHECK_FALSE(b.run->failure().has_value());
  CHECK(b.nodes.ended.size() == 4);
  CHECK(b.nodes.ended.front() == 0);
  CHECK(b.nodes.ended.back() == 3);
}

TEST_CASE("a node on a worker starts when the last of its predecessors has ended") {
  bench b(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}});
  b.mode_of_all(node_mode::worker);
  b.start();
  REQUIRE(b.workers.pending() == 1);
  b.workers.run();
  b.here.run_once();
  REQUIRE(b.workers.pending() == 2);
  b.workers.run(1);
  b.here.run_once();
  REQUIRE(b.workers.pending() == 1);
  b.workers.run();
  b.here.run_once();
  REQUIRE(b.workers.pending() == 1);
  CHECK_FALSE(b.settled());
  b.workers.run();
  b.here.run_once();
  CHECK(b.settled());
  CHECK(b.run->late() == 0);
}

TEST_CASE("nodes that run elsewhere are on their way before a node that runs here begins") {
  bench b(3, {});
  b.nodes.nodes[1].mode = node_mode::worker;
  b.nodes.nodes[2].mode = node_mode::task;
  std::size_t away = 0;
  b.nodes.nodes[0].run = [&](const stop_flag&) {
    away = b.workers.pending() + b.in->tasks();
    return node_status::done;
  };
  b.start();
  CHECK(away == 3);  // one job, and the two tasks that drive a node
  b.workers.run_all();
  b.here.run_once();
  CHECK(b.settled());
}

TEST_CASE("tasks of one fan wait side by side") {
  constexpr node_index fan = 1000;
  std::vector<graph_shape::edge> edges;
  for (node_index node = 1; node <= fan; ++node) {
    edges.push_back({0, node});
    edges.push_back({node, fan + 1});
  }
  bench b(fan + 2, edges);
  b.mode_of_all(node_mode::task);
  for (test_node& node : b.nodes.nodes) node.start = [] { return test_node::done_after(1ms); };
  b.start();
  for (int i = 0; i < 3; ++i) {
    CHECK_FALSE(b.settled());
    b.here.advance(1100us);
  }
  CHECK(b.settled());
  CHECK(b.nodes.ended.size() == fan + 2);
}

TEST_CASE("long chains do not use up the stack") {
  for (const node_mode mode : {node_mode::here, node_mode::task}) {
    constexpr node_index length = 100'000;
    bench b(length, chain_of(length));
    b.mode_of_all(mode);
    for (test_node& node : b.nodes.nodes) node.start = []() -> task<node_status> { co_return node_status::done; };
    b.start();
    CHECK(b.settled());
    CHECK(b.nodes.ended.size() == length);
    CHECK(std::is_sorted(b.nodes.ended.begin(), b.nodes.ended.end()));
  }
}

TEST_CASE("a run gives its result in a task that waits for it to settle") {
  bench b(2, {{0, 1}});
  b.mode_of_all(node_mode::task);
  b.start();
  bool happened = false;
  auto body = [&]() -> task<void> {
    co_await b.run->settled();
    happened = true;
  };
  CHECK(b.here.run(body()).has_value());
  CHECK(happened);
  CHECK(b.nodes.ended == std::vector<node_index>{0, 1});
}

TEST_CASE("every node of a random graph runs once and after its predecessors, wherever it runs") {
  random_source random(11);
  for (int round = 0; round < 200; ++round) {
    const std::size_t count = 1 + random.below(40);
    bench b(count, testing::random_acyclic_edges(random, count, random.below(3 * count)));
    for (test_node& node : b.nodes.nodes) {
      node.mode = std::array{node_mode::here, node_mode::worker, node_mode::task}[random.below(3)];
      const duration span(static_cast<duration::rep>(random.below(3'000'000)));
      node.start = [span] { return test_node::done_after(span); };
    }
    b.start();
    for (int step = 0; step < 10'000 && !b.settled(); ++step) {
      if (b.workers.pending() != 0 && random.below(2) == 0) b.workers.run(random.below(b.workers.pending()));
      b.here.advance(duration(static_cast<duration::rep>(random.below(500'000))));
    }
    REQUIRE(b.settled());
    CHECK_FALSE(b.run->failure().has_value());
    CHECK(b.run->late() == 0);
    CHECK(b.nodes.started.size() == count);
    CHECK(b.nodes.ended.size() == count);
    CHECK(testing::respects(b.nodes.ended, b.edges, count));
    CHECK(testing::respects(b.nodes.started, b.edges, count));
  }
}

TEST_CASE("of several nodes that fail, the first in order is reported, whichever ends first") {
  for (const bool first_ends_first : {true, false}) {
    bench b(3, {});
    b.mode_of_all(node_mode::task);
    b.nodes.nodes[1].start = [&] { return fail_after(first_ends_first ? 1ms : 2ms); };
    b.nodes.nodes[2].start = [&] { return fail_after(first_ends_first ? 2ms : 1ms); };
    b.start();
    b.here.advance(1500us);
    CHECK(b.settled() == first_ends_first);
    b.here.advance(1ms);
    CHECK(b.failure().why == cause::node_failed);
    CHECK(b.failure().node == 1);
    CHECK(sentence_of(b.failure()) == "no exception");
  }
}

TEST_CASE("a failure stops the nodes behind it and lets those before it go on") {
  bench b(4, {{1, 3}});
  b.mode_of_all(node_mode::task);
  b.nodes.nodes[0].start = [] { return test_node::done_after(5ms); };
  b.nodes.nodes[1].start = [] { return test_node::done_after(4ms); };
  b.nodes.nodes[2].start = [] { return fail_after(1ms); };
  b.start();
  b.here.advance(2ms);
  CHECK_FALSE(b.settled());
  CHECK(b.in->tasks() == 2);
  b.here.advance(2500us);  // node 1 is done; node 3 stands behind the failure and does not start
  CHECK(b.nodes.started.size() == 3);
  b.here.advance(1ms);
  CHECK(b.failure().node == 2);
  CHECK(b.in->tasks() == 0);
  CHECK_FALSE(b.in->stop().requested());
}

TEST_CASE("a failure that is found later but stands earlier takes over") {
  bench b(3, {});
  b.mode_of_all(node_mode::task);
  for (node_index node = 0; node < 3; ++node)
    b.nodes.nodes[node].start = [node] { return fail_after((3 - node) * 1ms); };
  b.start();
  for (int i = 0; i < 2; ++i) {
    b.here.advance(1100us);
    CHECK_FALSE(b.settled());
  }
  b.here.advance(1100us);
  CHECK(b.failure().node == 0);
}

TEST_CASE("which failure of a random graph is reported depends on the graph only") {
  random_source random(12);
  int with_failure = 0;
  for (int round = 0; round < 300; ++round) {
    const std::size_t count = 1 + random.below(25);
    bench b(count, testing::random_acyclic_edges(random, count, random.below(2 * count)));
    std::optional<node_index> expected;
    for (const node_index number : b.shape.order()) {
      test_node& node = b.nodes.nodes[number];
      node.mode = std::array{node_mode::here, node_mode::worker, node_mode::task}[random.below(3)];
      const duration span(static_cast<duration::rep>(random.below(3'000'000)));
      const bool broken = random.below(6) == 0;
      const bool throws = random.below(2) == 0;
      node.run = [=](const stop_flag&) {
        if (broken && throws) throw std::runtime_error(std::to_string(number));
        return broken ? node_status::failed : node_status::done;
      };
      node.start = [=] {
        if (broken && throws) throw std::runtime_error(std::to_string(number));
        return broken ? fail_after(span) : test_node::done_after(span);
      };
      if (broken && !expected) expected = number;
    }
    b.start();
    for (int step = 0; step < 10'000 && !b.settled(); ++step) {
      if (b.workers.pending() != 0 && random.below(2) == 0) b.workers.run(random.below(b.workers.pending()));
      b.here.advance(duration(static_cast<duration::rep>(random.below(500'000))));
    }
    REQUIRE(b.settled());
    REQUIRE(b.run->failure().has_value() == expected.has_value());
    CHECK(testing::respects(b.nodes.ended, b.edges, count));
    if (!expected) continue;
    ++with_failure;
    CHECK(b.failure().why == cause::node_failed);
    CHECK(b.failure().node == *expected);
    if (b.failure().error) CHECK(sentence_of(b.failure()) == std::to_string(*expected));
  }
  CHECK(with_failure > 100);
}

TEST_CASE("an exception fails its node and reaches the report, wherever it is thrown") {
  const auto throws = [](const stop_flag&) -> node_status { throw std::runtime_error("thrown"); };
  for (const node_mode mode : {node_mode::here, node_mode::worker}) {
    bench b(1, {});
    b.mode_of_all(mode);
    b.nodes.nodes[0].run = throws;
    b.start();
    b.workers.run_all();
    b.here.run_once();
    CHECK(b.failure().why == cause::node_failed);
    CHECK(sentence_of(b.failure()) == "thrown");
    CHECK_FALSE(b.in->stop().requested());
  }
  const auto throws_at_once = []() -> task<node_status> { throw std::runtime_error("thrown"); };
  const auto throws_as_task = []() -> task<node_status> {
    co_await sleep_for(0ns);
    throw std::runtime_error("thrown");
  };
  for (const bool at_once : {true, false}) {
    bench b(1, {});
    b.mode_of_all(node_mode::task);
    b.nodes.nodes[0].start = at_once ? std::function<task<node_status>()>(throws_at_once) : throws_as_task;
    b.start();
    b.here.run_once();
    CHECK(b.failure().why == cause::node_failed);
    CHECK(sentence_of(b.failure()) == "thrown");
    CHECK_FALSE(b.in->stop().requested());
  }
}

TEST_CASE("a node whose task stops itself has failed without an exception") {
  bench b(1, {});
  b.mode_of_all(node_mode::task);
  b.nodes.nodes[0].start = []() -> task<node_status> {
    co_await stop_here();
    co_return node_status::done;
  };
  b.start();
  CHECK(b.failure().why == cause::node_failed);
  CHECK(sentence_of(b.failure()) == "no exception");
}

TEST_CASE("an executor that refuses a node fails it") {
  bench b(1, {});
  b.mode_of_all(node_mode::worker);
  b.workers.close();
  b.start();
  CHECK(b.failure().why == cause::node_failed);
  CHECK(sentence_of(b.failure()) == make_error_code(errc::closed).message());
}

TEST_CASE("an executor that drops a node fails it") {
  bench b(1, {});
  b.mode_of_all(node_mode::worker);
  b.start();
  b.workers.drop();
  b.here.run_once();
  CHECK(b.failure().why == cause::node_failed);
  CHECK(sentence_of(b.failure()) == make_error_code(errc::dropped).message());
}

TEST_CASE("a task that takes longer than its timeout is stopped, and reported by its number") {
  bench b(2, {});
  b.mode_of_all(node_mode::task);
  b.nodes.nodes[1].timeout = 2ms;
  b.nodes.nodes[1].start = [] { return test_node::done_after(1h); };
  b.start();
  b.here.advance(1900us);
  CHECK_FALSE(b.settled());
  b.here.advance(200us);
  CHECK(b.failure().why == cause::node_timeout);
  CHECK(b.failure().node == 1);
  CHECK(b.failure().reason == errc::deadline_exceeded);
  CHECK(b.in->tasks() == 0);
  CHECK(b.run->late() == 0);  // it was interrupted
}

TEST_CASE("a timeout is counted from the start of its node, and does not hit one that ends in time") {
  bench b(3, chain_of(3));
  b.mode_of_all(node_mode::task);
  for (test_node& node : b.nodes.nodes) {
    node.timeout = 2ms;
    node.start = [] { return test_node::done_after(1ms); };
  }
  b.start();
  for (int i = 0; i < 40 && !b.settled(); ++i) b.here.advance(100us);
  CHECK(b.settled());
  CHECK_FALSE(b.run->failure().has_value());
  b.here.advance(1s);
  CHECK_FALSE(b.run->failure().has_value());
}

TEST_CASE("a worker that takes longer than its timeout settles the run at once, and is counted when it ends") {
  bench b(1, {});
  b.mode_of_all(node_mode::worker);
  b.nodes.nodes[0].timeout = 1ms;
  bool saw_stop = false;
  b.nodes.nodes[0].run = [&](const stop_flag& stop) {
    b.here.advance(1100us);
    CHECK(b.failure().why == cause::node_timeout);
    CHECK(b.run->late() == 0);
    CHECK(b.in->tasks() == 1);
    saw_stop = stop.requested();
    return node_status::done;
  };
  b.start();
  b.workers.run();
  b.here.run_once();
  CHECK(saw_stop);
  CHECK(b.run->late() == 1);
  CHECK(b.in->tasks() == 0);
  CHECK(b.failure().why == cause::node_timeout);
}

TEST_CASE("a worker that has not begun with a node when its time is over does not begin with it") {
  bench b(1, {});
  b.mode_of_all(node_mode::worker);
  b.nodes.nodes[0].timeout = 1ms;
  b.start();
  b.here.advance(1100us);
  CHECK(b.failure().why == cause::node_timeout);
  CHECK(b.in->tasks() == 0);
  b.workers.run();
  b.here.run_once();
  CHECK(b.nodes.started.empty());
  CHECK(b.run->late() == 0);
}

TEST_CASE("a timeout behind a node that still runs does not settle the run before that node has ended") {
  bench b(2, {});
  b.nodes.nodes[0].mode = node_mode::worker;
  b.nodes.nodes[1].mode = node_mode::task;
  b.nodes.nodes[1].timeout = 1ms;
  b.nodes.nodes[1].start = [] { return test_node::done_after(1h); };
  b.nodes.nodes[0].run = fails;
  b.start();
  b.here.advance(2ms);
  CHECK_FALSE(b.settled());
  b.workers.run();
  b.here.run_once();
  CHECK(b.failure().why == cause::node_failed);
  CHECK(b.failure().node == 0);
}

TEST_CASE("timeouts that are not positive stop the task at its first wait; the longest possible never does") {
  for (const duration timeout : {0ns, duration(-1), duration::min()}) {
    bench b(1, {});
    b.mode_of_all(node_mode::task);
    b.nodes.nodes[0].timeout = timeout;
    b.nodes.nodes[0].start = [] { return test_node::done_after(1h); };
    b.start();
    b.here.advance(20us);
    CHECK(b.failure().why == cause::node_timeout);
  }
  bench b(1, {});
  b.mode_of_all(node_mode::task);
  b.nodes.nodes[0].timeout = duration::max() - 1ns;
  b.nodes.nodes[0].start = [] { return test_node::done_after(std::chrono::hours(24)); };
  b.start();
  b.here.advance(std::chrono::hours(25));
  CHECK(b.settled());
  CHECK_FALSE(b.run->failure().has_value());
}

TEST_CASE("the deadline of the run settles it at once while a worker still runs, and join waits for that") {
  bench b(2, {});
  b.nodes.nodes[0].mode = node_mode::worker;
  b.nodes.nodes[1].mode = node_mode::task;
  b.nodes.nodes[1].start = [] { return test_node::done_after(1h); };
  bool joined = false;
  b.nodes.nodes[0].run = [&](const stop_flag&) {
    b.here.advance(1100us);
    CHECK(b.failure().why == cause::run_stopped);
    CHECK(b.failure().reason == errc::deadline_exceeded);
    CHECK_FALSE(joined);
    CHECK(b.run->late() == 0);
    return node_status::done;
  };
  b.start(b.here.now() + 1ms);
  auto wait = [&]() -> task<void> {
    co_await b.run->join();
    joined = true;
  };
  b.here.io().spawn(wait());
  b.workers.run();
  b.here.run_once();
  CHECK(joined);
  CHECK(b.run->late() == 1);
}

TEST_CASE("a run deadline that comes before a node's is the run's") {
  bench b(1, {});
  b.mode_of_all(node_mode::task);
  b.nodes.nodes[0].timeout = 2ms;
  b.nodes.nodes[0].start = [] { return test_node::done_after(1h); };
  b.start(b.here.now() + 1ms);
  b.here.advance(5ms);
  CHECK(b.failure().why == cause::run_stopped);
}

TEST_CASE("a stop of the scope ends the run, and nothing starts any more") {
  bench b(3, chain_of(3));
  b.mode_of_all(node_mode::task);
  b.nodes.nodes[0].start = [] { return test_node::done_after(1h); };
  b.start();
  b.in->request_stop();
  CHECK(b.failure().why == cause::run_stopped);
  CHECK(b.failure().reason == errc::stopped);
  b.here.run_once();
  CHECK(b.in->tasks() == 0);
  CHECK(b.nodes.started == std::vector<node_index>{0});
  CHECK(b.nodes.ended.empty());
}

TEST_CASE("a run in a scope that is stopped already starts nothing") {
  bench b(2, {});
  b.in.emplace(b.here.io().root());
  b.in->request_stop(errc::deadline_exceeded);
  b.run.emplace(b.shape, b.nodes, b.workers, *b.in);
  b.run->start();
  CHECK(b.failure().why == cause::run_stopped);
  CHECK(b.failure().reason == errc::deadline_exceeded);
  CHECK(b.nodes.started.empty());
}

TEST_CASE("a stop that another thread requests while a node starts is not mistaken for a failure of the node") {
  bench b(1, {});
  b.mode_of_all(node_mode::task);
  b.nodes.asked = [&](node_index) { std::thread([&] { b.in->request_stop(); }).join(); };
  b.start();
  b.here.run_once();
  CHECK(b.failure().why == cause::run_stopped);
}

TEST_CASE("a node that runs here sees the stop of the run") {
  bench b(2, chain_of(2));
  bool saw_stop = false;
  b.nodes.nodes[0].run = [&](const stop_flag& stop) {
    b.in->request_stop();
    saw_stop = stop.requested();
    return node_status::done;
  };
  b.start();
  CHECK(saw_stop);
  CHECK(b.failure().why == cause::run_stopped);
  CHECK(b.nodes.started == std::vector<node_index>{0});
  CHECK(b.run->late() == 1);
}

TEST_CASE("a failure stops a computation behind it through its flag") {
  bench b(2, {});
  b.nodes.nodes[0].mode = node_mode::task;
  b.nodes.nodes[0].start = [] { return fail_after(1ms); };
  b.nodes.nodes[1].mode = node_mode::worker;
  bool saw_stop = false;
  b.nodes.nodes[1].run = [&](const stop_flag& stop) {
    b.here.advance(1100us);
    CHECK(b.failure().node == 0);
    saw_stop = stop.requested();
    return node_status::done;
  };
  b.start();
  b.workers.run();
  b.here.run_once();
  CHECK(saw_stop);
  CHECK(b.run->late() == 1);
}

TEST_CASE("two edges between the same nodes make the second wait for one end only once") {
  bench b(2, {{0, 1}, {0, 1}});
  b.start();
  CHECK(b.settled());
  CHECK(b.nodes.ended == std::vector<node_index>{0, 1});
}

TEST_CASE("the arrays of a run come from the memory it is given, and nothing is asked for once it has started") {
  struct counting final : std::pmr::memory_resource {
    auto do_allocate(std::size_t bytes, std::size_t alignment) -> void* override {
      ++calls;
      return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
      std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
    }
    [[nodiscard]] auto do_is_equal(const memory_resource& other) const noexcept -> bool override {
      return this == &other;
    }
    int calls = 0;
  } memory;
  bench b(100, chain_of(100));
  b.in.emplace(b.here.io().root());
  b.run.emplace(b.shape, b.nodes, b.workers, *b.in, &memory);
  const int at_start = memory.calls;
  CHECK(at_start > 0);
  b.run->start();
  CHECK(b.settled());
  CHECK(memory.calls == at_start);
}
