// tests/graph/static_graph_stress.cpp: random graphs against a ledger: each node once, after all its predecessors.
#include <braid/graph/static_graph.hpp>

#include <braid/base/random.hpp>
#include <braid/task/fork_join.hpp>
#include <braid/task/inline_executor.hpp>
#include <braid/task/manual_executor.hpp>
#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/chosen_pool.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

using braid::graph_builder;
using braid::graph_node;
using braid::relaxed;
using braid::run_in;
using braid::static_graph;
using braid::testing::scaled;
using namespace std::chrono_literals;

namespace {

using pool = braid::testing::chosen_pool;

struct watched {
  braid::testing::watchdog dog{280s};
};

struct failure : std::runtime_error {
  failure() : std::runtime_error("a node") {}
};

/// A random graph whose nodes write plain memory that their successors read.
class random_graph {
 public:
  explicit random_graph(std::uint64_t seed) : random_(seed) {
    const std::size_t nodes = 1 + random_.below(random_.below(4) == 0 ? 2'000 : 60);
    runs_.assign(nodes, 0);
    before_.resize(nodes);
    kind_.resize(nodes);
    // Edges lead from the earlier to the later in this order, which is not that of the numbers.
    std::vector<std::size_t> order(nodes);
    for (std::size_t i = 0; i < nodes; ++i) order[i] = i;
    for (std::size_t i = nodes; i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
    const std::size_t reach = 1 + random_.below(nodes);
    const std::size_t max_count = random_.below(6);
    const std::size_t hub = random_.below(8) == 0 ? random_.below(nodes) : nodes;
    for (std::size_t at = 1; at < nodes; ++at) {
      auto& before = before_[order[at]];
      for (std::size_t i = random_.below(max_count + 1); i != 0; --i)
        before.push_back(order[at - 1 - random_.below(std::min(at, reach))]);
      if (at > hub) before.push_back(order[hub]);
      std::ranges::sort(before);
      before.erase(std::ranges::unique(before).begin(), before.end());
    }
    build();
  }

  enum class ending : std::uint8_t { whole, failed, stopped };

  /// One run, which is to end in this way if a node gets to decide it. Whether it did what it said.
  auto run(ending wanted) -> bool {
    const std::vector<std::uint32_t> old = runs_;
    decides_ = wanted == ending::whole ? runs_.size() : random_.below(runs_.size());
    wanted_ = wanted;
    source_ = std::stop_source();
    early_.store(0, relaxed);
    bool whole = true;
    try {
      whole = graph_.run(source_.get_token()).has_value();
    } catch (const failure&) {
      whole = false;
    }
    return early_.load(relaxed) == 0 && is_right(old, whole);
  }

 private:
  void build() {
    graph_builder draft;
    std::vector<graph_node> nodes;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      kind_[i] = static_cast<std::uint8_t>(random_.below(40));
      nodes.push_back(draft.add([this, i] { act(i); }));
    }
    for (std::size_t i = 0; i < runs_.size(); ++i)
      for (const std::size_t before : before_[i]) draft.precede(nodes[before], nodes[i]);
    graph_ = std::move(draft).build().value();
  }

  void act(std::size_t node) {
    for (const std::size_t before : before_[node])
      if (runs_[before] != runs_[node] + 1) early_.fetch_add(1, relaxed);
    if (kind_[node] == 0) std::this_thread::yield();
    if (kind_[node] == 1) braid::fork_join([] {}, [] { std::this_thread::yield(); });
    if (node == decides_ && wanted_ == ending::failed) throw failure();
    if (node == decides_ && wanted_ == ending::stopped) source_.request_stop();
    ++runs_[node];
  }

  /// After a whole run all have run once more; after another one some have, and only with all their predecessors. Then
  /// what is missing is made up for, so that the next run can be looked at.
  auto is_right(const std::vector<std::uint32_t>& old, bool whole) -> bool {
    bool right = true;
    bool all = true;
    for (std::size_t i = 0; i < old.size(); ++i) {
      const std::uint32_t ran = runs_[i] - old[i];
      right = right && ran <= 1;
      all = all && ran == 1;
      if (ran == 1)
        for (const std::size_t before : before_[i]) right = right && runs_[before] != old[before];
    }
    for (std::size_t i = 0; i < old.size(); ++i) runs_[i] = old[i] + 1;
    return right && all == whole;
  }

  braid::random_source random_;
  std::vector<std::uint32_t> runs_;  // of each node; written by it, read by its successors
  std::vector<std::vector<std::size_t>> before_;
  std::vector<std::uint8_t> kind_;
  std::size_t decides_ = 0;  // the node that fails or requests the stop
  ending wanted_ = ending::whole;
  std::stop_source source_;
  braid::atomic<std::uint32_t> early_{0};  // nodes that ran before a predecessor
  static_graph graph_ = graph_builder().build().value();
};

void run_many(std::uint64_t seed, std::size_t graphs) {
  using ending = random_graph::ending;
  for (std::size_t i = 0; i < graphs; ++i) {
    CAPTURE(seed);
    CAPTURE(i);
    random_graph graph(seed * 1'000'003 + i);
    for (const ending how :
         {ending::whole, ending::whole, ending::failed, ending::whole, ending::stopped, ending::stopped, ending::whole})
      REQUIRE(graph.run(how));
  }
}

}  // namespace

TEST_CASE_FIXTURE(watched,
                  "random graphs run each node once, after all its predecessors, also after failures and stops") {
  const std::uint64_t seed = braid::testing::printed_seed();
  for (const unsigned workers : {1U, 2U, 4U}) {
    pool where({.workers = workers});
    run_in(where, [&] { run_many(seed + workers, scaled(120)); });
  }
}

TEST_CASE_FIXTURE(watched, "random graphs run on one thread, without workers") {
  const std::uint64_t seed = braid::testing::printed_seed();
  braid::manual_executor waits;
  run_in(waits, [&] { run_many(seed, scaled(120)); });
  braid::inline_executor posts;
  run_in(posts, [&] { run_many(seed, scaled(120)); });
}

TEST_CASE_FIXTURE(watched, "several threads have random graphs run by one pool") {
  const std::uint64_t seed = braid::testing::printed_seed();
  pool where({.workers = 3});
  std::vector<std::thread> callers;
  for (std::uint64_t caller = 0; caller < 3; ++caller)
    callers.emplace_back([&where, seed, caller] { run_in(where, [&] { run_many(seed + caller, scaled(40)); }); });
  for (std::thread& each : callers) each.join();
}

TEST_CASE_FIXTURE(watched, "a graph whose nodes run random graphs") {
  const std::uint64_t seed = braid::testing::printed_seed();
  pool where({.workers = 3});
  run_in(where, [&] {
    graph_builder draft;
    graph_node last = draft.add([] {});
    for (std::uint64_t i = 0; i < 30; ++i) {
      const graph_node node = draft.add([seed, i] { run_many(seed + i, 3); });
      draft.precede(last, node);
      if (i % 5 == 0) last = node;
    }
    static_graph graph = std::move(draft).build().value();
    graph.run();
  });
}

TEST_CASE_FIXTURE(watched, "a wave runs through a grid many times") {
  constexpr std::size_t side = 60;
  pool where({.workers = 3});
  run_in(where, [] {
    std::vector<std::uint64_t> paths(side * side, 0);  // from the corner, modulo 2^64
    graph_builder draft;
    std::vector<graph_node> nodes;
    for (std::size_t at = 0; at < side * side; ++at) {
      nodes.push_back(draft.add([&paths, at] {
        const std::uint64_t left = at % side == 0 ? 0 : paths[at - 1];
        const std::uint64_t above = at < side ? 0 : paths[at - side];
        paths[at] = at == 0 ? 1 : left + above;
      }));
      if (at % side != 0) draft.precede(nodes[at - 1], nodes[at]);
      if (at >= side) draft.precede(nodes[at - side], nodes[at]);
    }
    static_graph graph = std::move(draft).build().value();
    graph.run();
    const std::vector<std::uint64_t> first = paths;
    for (std::size_t round = scaled(120); round != 0; --round) {
      std::ranges::fill(paths, 0);
      graph.run();
      REQUIRE(paths == first);
    }
  });
}
