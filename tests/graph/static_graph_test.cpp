// tests/graph/static_graph_test.cpp: each node runs once, after its predecessors, wherever the graph is run.
#include <braid/graph/static_graph.hpp>

#include <braid/sync/stop_flag.hpp>
#include <braid/task/detail/default_pool.hpp>
#include <braid/task/fork_join.hpp>
#include <braid/task/inline_executor.hpp>
#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>
#include <tests/support/chosen_pool.hpp>
#include <tests/support/graph_runs.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/stolen.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using braid::errc;
using braid::graph_builder;
using braid::graph_node;
using braid::relaxed;
using braid::run_in;
using braid::static_graph;
using braid::testing::begun;
using braid::testing::built;
using braid::testing::in_each_pool;
using braid::testing::ledger;
using braid::testing::watched;
using pool = braid::testing::chosen_pool;

namespace {

std::atomic<std::size_t> blocks_made{0};

}  // namespace

#if !defined(BRAID_TEST_ADDRESS) && !defined(BRAID_TEST_THREAD)  // they have replaced these operators themselves
// Out of line, because g++ 12 otherwise sees a malloc that a delete frees.
[[gnu::noinline]] auto operator new(std::size_t size) -> void* {
  blocks_made.fetch_add(1);
  if (void* block = std::malloc(size == 0 ? 1 : size)) return block;
  throw std::bad_alloc();
}
[[gnu::noinline]] auto operator new(std::size_t size, std::align_val_t alignment) -> void* {
  blocks_made.fetch_add(1);
  const auto unit = static_cast<std::size_t>(alignment);
  if (void* block = std::aligned_alloc(unit, (size + unit - 1) / unit * unit)) return block;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* block) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
[[gnu::noinline]] void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }
constexpr bool counts_blocks = true;
#else
constexpr bool counts_blocks = false;
#endif

namespace {

/// 0 before 1 and 2, both before 3.
auto diamond(ledger& in) -> static_graph {
  graph_builder draft;
  std::array<graph_node, 4> node;
  for (std::size_t i = 0; i < 4; ++i) node[i] = draft.add([&in, i] { in.note(i); });
  draft.precede(node[0], node[1], node[2]);
  draft.succeed(node[3], node[1], node[2]);
  return built(draft);
}

void check_diamond(const ledger& in) {
  CHECK(in.in_order(0, 1));
  CHECK(in.in_order(0, 2));
  CHECK(in.in_order(1, 3));
  CHECK(in.in_order(2, 3));
}

struct failure : std::runtime_error {
  failure() : std::runtime_error("a node") {}
};

}  // namespace

TEST_CASE_FIXTURE(watched, "every node runs once, after its predecessors, in each of many runs") {
  in_each_pool([] {
    ledger all(4);
    static_graph graph = diamond(all);
    CHECK(graph.size() == 4);
    for (int round = 0; round < 200; ++round) {
      graph.run();
      check_diamond(all);
      all.clear();
    }
  });
}

TEST_CASE_FIXTURE(watched, "a graph without nodes is done at once") {
  graph_builder draft;
  static_graph graph = built(draft);
  graph.run();  // needs no pool
  CHECK(graph.size() == 0);
}

TEST_CASE_FIXTURE(watched, "a graph may have one node") {
  in_each_pool([] {
    int calls = 0;
    graph_builder draft;
    draft.add([&calls] { ++calls; });
    static_graph graph = built(draft);
    for (int round = 0; round < 3; ++round) graph.run();
    CHECK(calls == 3);
  });
}

TEST_CASE_FIXTURE(watched, "ready nodes run on several workers at a time") {
  pool where({.workers = 2});
  run_in(where, [] {
    begun there;
    std::thread::id left;
    std::thread::id right;
    bool seen = false;
    graph_builder draft;
    const graph_node first = draft.add([&] {
      there.await();  // ends when the other one has begun
      left = std::this_thread::get_id();
    });
    const graph_node second = draft.add([&] {
      right = std::this_thread::get_id();
      there.raise();
    });
    const graph_node last = draft.add([&] { seen = left != right; });
    draft.succeed(last, first, second);
    static_graph graph = built(draft);
    graph.run();
    CHECK(seen);
  });
}

TEST_CASE_FIXTURE(watched, "a run gives nodes to a worker that asks, though none of them forks") {
  pool where({.workers = 2});
  run_in(where, [] {
    const std::thread::id self = std::this_thread::get_id();
    braid::atomic<bool> is_taken{false};
    graph_builder draft;
    graph_node last = draft.add([] {});
    for (int i = 0; i < 50; ++i) {
      const graph_node node = draft.add([] { std::this_thread::yield(); });
      const graph_node beside = draft.add([&] {
        if (std::this_thread::get_id() != self) is_taken.store(true, relaxed);
      });
      draft.precede(last, node, beside);
      last = node;
    }
    static_graph graph = built(draft);
    while (!is_taken.load(relaxed)) graph.run();
    CHECK(is_taken.load(relaxed));
  });
}

TEST_CASE_FIXTURE(watched, "a node that waits may run what its worker has forked before the run") {
  pool where({.workers = 2});
  run_in(where, [&where] {
    braid::atomic<bool> is_begun{false};
    braid::atomic<bool> may_end{false};
    braid::task_group group(where);
    // Keeps the other worker from stealing until the right side of the fork below has run.
    std::thread([&] {
      group.run([&] {
        is_begun.store(true, relaxed);
        while (!may_end.load(relaxed)) std::this_thread::yield();
      });
    }).join();
    while (!is_begun.load(relaxed)) std::this_thread::yield();

    ledger all(6);
    graph_builder draft;
    const graph_node first = draft.add([&] { all.note(0); });
    const graph_node waits = draft.add([&] {
      CHECK(group.wait());
      all.note(1);
    });
    draft.precede(first, waits, draft.add([&] { all.note(2); }));
    for (std::size_t i = 3; i < 6; ++i) draft.precede(waits, draft.add([&all, i] { all.note(i); }));
    static_graph graph = built(draft);
    braid::fork_join(
        [&] {
          graph.run();
          CHECK(all.all_ran());
        },
        [&] { may_end.store(true, relaxed); });
  });
}

TEST_CASE_FIXTURE(watched, "a run from outside of pools is done by the default pool") {
  static pool* chosen = nullptr;
  pool where({.workers = 2});
  chosen = &where;
  const auto before = braid::detail::set_default_pool([]() -> braid::pool& { return chosen->as_pool(); });
  {
    ledger all(4);
    bool on_worker = false;
    static_graph graph = diamond(all);
    graph.run();
    check_diamond(all);
    graph_builder draft;
    draft.add([&] { on_worker = where.is_current(); });
    static_graph asks = built(draft);
    asks.run();
    CHECK(on_worker);
  }
  braid::detail::set_default_pool(before);
}

TEST_CASE_FIXTURE(watched, "a run that finds no pool leaves the graph as it was") {
  const auto before = braid::detail::set_default_pool(nullptr);
  ledger all(4);
  static_graph graph = diamond(all);
  CHECK_THROWS_AS(graph.run(), std::system_error);
  CHECK(!all.ran(0));
  braid::detail::set_default_pool(before);
  pool where({.workers = 2});
  run_in(where, [&graph] { graph.run(); });
  check_diamond(all);
}

TEST_CASE_FIXTURE(watched, "a run allocates nothing") {
  if (!counts_blocks) return;
  for (const unsigned workers : {1U, 2U}) {
    pool where({.workers = workers});
    run_in(where, [] {
      ledger all(4);
      std::vector<std::uint8_t> calls(3'000, 0);
      graph_builder draft;
      for (auto& each : calls) draft.add([at = &each] { ++*at; });
      static_graph wide = built(draft);
      static_graph small = diamond(all);
      const std::size_t before = blocks_made.load();
      for (int round = 0; round < 20; ++round) {
        all.clear();
        small.run();
        wide.run();
      }
      const std::size_t after = blocks_made.load();
      CHECK(after == before);
      check_diamond(all);
    });
  }
}

TEST_CASE_FIXTURE(watched, "what a node throws leaves the run, and what stands behind it does not begin") {
  in_each_pool([] {
    ledger all(4);
    bool throws = true;
    graph_builder draft;
    const graph_node first = draft.add([&all] { all.note(0); });
    const graph_node bad = draft.add([&] {
      if (throws) throw failure();
      all.note(1);
    });
    const graph_node beside = draft.add([&all] { all.note(2); });
    const graph_node last = draft.add([&all] { all.note(3); });
    draft.precede(first, bad, beside);
    draft.succeed(last, bad, beside);
    static_graph graph = built(draft);
    for (int round = 0; round < 50; ++round) {
      throws = round % 2 == 0;
      if (throws) {
        CHECK_THROWS_AS(graph.run(), failure);
        CHECK(all.ran(0));
        CHECK(!all.ran(1));
        CHECK(!all.ran(3));
      } else {
        graph.run();
        check_diamond(all);
      }
      all.clear();
    }
  });
}

TEST_CASE_FIXTURE(watched, "after a failed run a node waits for all of its predecessors again") {
  in_each_pool([] {
    ledger all(4);
    bool throws = true;
    graph_builder draft;
    const graph_node first = draft.add([&all] { all.note(0); });
    const graph_node good = draft.add([&all] { all.note(1); });  // begins before the other one on a single thread
    const graph_node bad = draft.add([&] {
      if (throws) throw failure();
      all.note(2);
    });
    const graph_node last = draft.add([&all] { all.note(3); });
    draft.precede(first, good, bad);
    draft.succeed(last, good, bad);
    static_graph graph = built(draft);
    CHECK_THROWS_AS(graph.run(), failure);
    CHECK(!all.ran(3));
    all.clear();
    throws = false;
    graph.run();
    check_diamond(all);
  });
}

TEST_CASE_FIXTURE(watched, "no node runs any more when an exception leaves the run") {
  pool where({.workers = 2});
  run_in(where, [] {
    begun there;
    bool ended = false;
    int after = 0;
    graph_builder draft;
    draft.add([&] {
      there.await();
      throw failure();
    });
    const graph_node slow = draft.add([&] {
      there.raise();
      for (int i = 0; i < 100; ++i) std::this_thread::yield();
      ended = true;
    });
    draft.precede(slow, draft.add([&] { ++after; }));
    static_graph graph = built(draft);
    CHECK_THROWS_AS(graph.run(), failure);
    CHECK(ended);  // not a race: the run has seen its end
  });
}

TEST_CASE_FIXTURE(watched, "of several exceptions one leaves the run") {
  pool where({.workers = 2});
  run_in(where, [] {
    graph_builder draft;
    for (int i = 0; i < 100; ++i) draft.add([] { throw failure(); });
    static_graph graph = built(draft);
    for (int round = 0; round < 20; ++round) CHECK_THROWS_AS(graph.run(), failure);
  });
}

TEST_CASE_FIXTURE(watched, "a stop leaves out what has not begun, and the graph can be run again") {
  in_each_pool([] {
    std::stop_source source;
    braid::stop_flag flag;
    braid::atomic<int> calls{0};
    graph_builder draft;
    const graph_node first = draft.add([&] { calls.fetch_add(1, relaxed); });
    const graph_node second = draft.add([&] {
      calls.fetch_add(1, relaxed);
      source.request_stop();
      flag.request(errc::deadline_exceeded);
    });
    const graph_node third = draft.add([&] { calls.fetch_add(1, relaxed); });
    const graph_node fourth = draft.add([&] { calls.fetch_add(1, relaxed); });
    draft.precede(first, second, third);
    draft.succeed(fourth, second, third);
    static_graph graph = built(draft);

    const auto by_token = graph.run(source.get_token());
    REQUIRE(!by_token);
    CHECK(by_token.error() == errc::stopped);
    CHECK(calls.load(relaxed) >= 2);
    CHECK(calls.load(relaxed) <= 3);
    const auto by_flag = graph.run(flag);  // from the start
    REQUIRE(!by_flag);
    CHECK(by_flag.error() == errc::deadline_exceeded);

    calls.store(0, relaxed);
    graph.run();
    CHECK(calls.load(relaxed) == 4);
  });
}

TEST_CASE_FIXTURE(watched, "a stop that comes when all nodes have begun changes nothing") {
  in_each_pool([] {
    std::stop_source source;
    graph_builder draft;
    draft.precede(draft.add([] {}), draft.add([&] { source.request_stop(); }));
    static_graph graph = built(draft);
    CHECK(graph.run(source.get_token()));
  });
}

TEST_CASE_FIXTURE(watched, "a node may run another graph, fork, and wait for a group") {
  in_each_pool([] {
    ledger inner_nodes(4);
    braid::atomic<int> forked{0};
    static_graph inner = diamond(inner_nodes);
    graph_builder draft;
    const graph_node first = draft.add([&] { inner.run(); });
    const graph_node second = draft.add(
        [&] { braid::fork_join([&] { forked.fetch_add(1, relaxed); }, [&] { forked.fetch_add(1, relaxed); }); });
    draft.add([] {});
    const graph_node third = draft.add([&] {
      if (braid::detail::worker_of_thread == nullptr) return static_cast<void>(forked.fetch_add(5, relaxed));
      braid::task_group group;
      for (int i = 0; i < 5; ++i) group.run([&] { forked.fetch_add(1, relaxed); });
      CHECK(group.wait());
    });
    const graph_node last = draft.add([&] {
      check_diamond(inner_nodes);
      inner_nodes.clear();
      CHECK(forked.exchange(0, relaxed) == 7);
    });
    draft.succeed(last, first, second, third);
    static_graph graph = built(draft);
    for (int round = 0; round < 50; ++round) graph.run();
  });
}

TEST_CASE_FIXTURE(watched, "nodes may give functions to a group that is waited for further out") {
  in_each_pool([] {
    if (braid::detail::worker_of_thread == nullptr) return;
    braid::atomic<int> count{0};
    braid::task_group group;
    graph_builder draft;
    graph_node last = draft.add([] {});
    for (int i = 0; i < 100; ++i) {
      const graph_node node = draft.add([&] {
        for (int k = 0; k < 3; ++k) group.run([&] { count.fetch_add(1, relaxed); });
      });
      draft.precede(last, node);
      if (i % 3 == 0) last = node;
    }
    static_graph graph = built(draft);
    for (int round = 1; round <= 10; ++round) {
      graph.run();
      CHECK(group.wait());
      CHECK(count.load(relaxed) == 300 * round);
    }
  });
}

TEST_CASE_FIXTURE(watched, "a node may wait for a group that was there before the run") {
  in_each_pool([] {
    if (braid::detail::worker_of_thread == nullptr) return;
    braid::atomic<int> count{0};
    braid::task_group group;
    for (int i = 0; i < 20; ++i) group.run([&] { count.fetch_add(1, relaxed); });
    ledger all(40);
    graph_builder draft;
    const graph_node wait = draft.add([&] {
      all.note(0);
      CHECK(group.wait());
    });
    for (std::size_t i = 1; i < 40; ++i) {
      const graph_node node = draft.add([&all, i] { all.note(i); });
      if (i % 2 == 0) draft.precede(wait, node);
    }
    static_graph graph = built(draft);
    graph.run();
    CHECK(all.all_ran());
    CHECK(count.load(relaxed) == 20);
  });
}

TEST_CASE_FIXTURE(watched, "different graphs run at the same time") {
  pool where({.workers = 2});
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller)
    callers.emplace_back([&where] {
      ledger all(4);
      static_graph graph = diamond(all);
      for (int round = 0; round < 100; ++round) {
        run_in(where, [&graph] { graph.run(); });
        check_diamond(all);
        all.clear();
      }
    });
  for (std::thread& each : callers) each.join();
}

TEST_CASE("a run of a graph that runs already ends the program with a sentence") {
  const auto end = braid::testing::run_in_child([] {
    braid::inline_executor in_place;
    static_graph* self = nullptr;
    graph_builder draft;
    draft.add([&self] { self->run(); });
    static_graph graph = built(draft);
    self = &graph;
    run_in(in_place, [&graph] { graph.run(); });
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("must not be run while it is running") != std::string::npos);
}

TEST_CASE_FIXTURE(watched, "a graph that was moved runs as before") {
  in_each_pool([] {
    ledger all(4);
    static_graph first = diamond(all);
    first.run();
    all.clear();
    static_graph second = std::move(first);
    second.run();
    check_diamond(all);
    CHECK(second.size() == 4);
  });
}
