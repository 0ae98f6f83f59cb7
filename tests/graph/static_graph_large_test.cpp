// tests/graph/static_graph_large_test.cpp: graphs that are long, wide, or more than a worker's deque can hold.
#include <braid/graph/static_graph.hpp>

#include <braid/task/inline_executor.hpp>
#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/chosen_pool.hpp>
#include <tests/support/graph_runs.hpp>
#include <tests/support/sanitizer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

using braid::graph_builder;
using braid::graph_node;
using braid::run_in;
using braid::static_graph;
using braid::testing::built;
using braid::testing::in_each_pool;
using braid::testing::ledger;
using braid::testing::watched;

namespace {

constexpr std::size_t large = braid::testing::under_thread_sanitizer ? 100'000 : 1'000'000;

/// Calls it on one of two workers, and where there is none.
template <typename Fn>
void in_two_pools(Fn fn) {
  braid::testing::chosen_pool where({.workers = 2});
  run_in(where, fn);
  braid::inline_executor in_place;
  run_in(in_place, fn);
}

}  // namespace

TEST_CASE_FIXTURE(watched, "a long chain needs neither stack nor queue") {
  in_two_pools([] {
    std::size_t next = 0;
    bool right = true;
    graph_builder draft;
    graph_node last = draft.add([&next] { next = 1; });
    for (std::size_t i = 1; i < large; ++i) {
      const graph_node node = draft.add([&next, &right] {
        right = right && next != 0;
        ++next;
      });
      draft.precede(std::exchange(last, node), node);
    }
    static_graph graph = built(draft);
    graph.run();
    CHECK(right);
    CHECK(next == large);
  });
}

TEST_CASE_FIXTURE(watched, "as many nodes as there may be without edges run once each") {
  in_two_pools([] {
    std::vector<std::uint8_t> calls(large, 0);
    graph_builder draft;
    for (std::size_t i = 0; i < large; ++i) draft.add([at = &calls[i]] { ++*at; });
    static_graph graph = built(draft);
    for (int round = 1; round <= 2; ++round) {
      graph.run();
      CHECK(std::ranges::count(calls, round) == static_cast<std::ptrdiff_t>(large));
    }
  });
}

TEST_CASE_FIXTURE(watched, "a node may have very many successors, and they one successor") {
  in_each_pool([] {
    constexpr std::size_t width = 5'000;
    ledger all(width + 2);
    graph_builder draft;
    const graph_node first = draft.add([&all] { all.note(0); });
    const graph_node last = draft.add([&all] { all.note(1); });
    for (std::size_t i = 2; i < width + 2; ++i) {
      const graph_node middle = draft.add([&all, i] { all.note(i); });
      draft.precede(first, middle);
      draft.precede(middle, last);
    }
    static_graph graph = built(draft);
    for (int round = 0; round < 3; ++round) {
      graph.run();
      CHECK(all.all_ran());
      bool right = true;
      for (std::size_t i = 2; i < width + 2; ++i) right = right && all.in_order(0, i) && all.in_order(i, 1);
      CHECK(right);
      all.clear();
    }
  });
}

TEST_CASE_FIXTURE(watched, "nodes that a worker cannot fork for lack of room run all the same") {
  in_each_pool([] {
    constexpr std::size_t length = 5'000;  // many times what the deque of a worker holds
    std::vector<std::uint8_t> calls(2 * length, 0);
    graph_builder draft;
    graph_node last;
    for (std::size_t i = 0; i < length; ++i) {  // a comb: the tooth becomes ready beside the next node of the chain
      const graph_node node = draft.add([at = &calls[i]] { ++*at; });
      if (i != 0) draft.precede(last, node);
      const graph_node tooth = draft.add([at = &calls[length + i]] { ++*at; });
      if (i != 0) draft.precede(last, tooth);
      last = node;
    }
    static_graph graph = built(draft);
    for (int round = 1; round <= 3; ++round) {
      graph.run();
      CHECK(std::ranges::count(calls, round) == static_cast<std::ptrdiff_t>(2 * length));
    }
  });
}
