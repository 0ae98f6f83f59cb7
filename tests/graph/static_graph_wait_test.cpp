// tests/graph/static_graph_wait_test.cpp: nodes that wait for futures, whose threads leave their seats meanwhile.
#include <braid/graph/static_graph.hpp>

#include <braid/task/future.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/watchdog.hpp>

#include <atomic>
#include <thread>
#include <utility>

using namespace braid;
using testing::give_a_chance_to;
using testing::watchdog;

namespace {

auto made(graph_builder& draft) -> static_graph { return std::move(draft).build().value(); }

}  // namespace

TEST_CASE("a run lets a job go on that it lies on, when one of its nodes waits for that") {
  const watchdog dog(300s);
  for (int round = 0; round < 20; ++round) {
    pool where({.workers = 2});
    promise<void> opens;
    promise<void> both_done;
    const auto open = opens.get_future().share();
    const auto done = both_done.get_future().share();
    std::atomic<int> waiting{0};
    std::atomic<int> left{2};
    const auto waits = [&] {
      ++waiting;
      open.wait();
      if (--left == 0) static_cast<void>(both_done.set_value());
    };
    for (int i = 1; i <= 2; ++i) {  // one at each seat, so that the graph runs where somebody is away
      REQUIRE(post(where, waits));
      while (waiting < i) std::this_thread::yield();
    }
    graph_builder draft;
    std::atomic<int> begun{0};
    const auto meet = [&] {
      ++begun;
      give_a_chance_to([&] { return begun == 2; });
    };
    draft.add(meet);
    draft.add([&] {
      meet();
      static_cast<void>(opens.set_value());
      done.wait();
    });
    static_graph graph = made(draft);
    spawn(where, [&] { graph.run(); }).get();
    CHECK(left == 0);
  }
}

TEST_CASE("a run ends although one of its walks has run what another one had left at the same seat") {
  const watchdog dog(300s);
  for (int round = 0; round < 20; ++round) {
    promise<void> first_opens;
    promise<void> second_opens;
    const auto first = first_opens.get_future().share();
    const auto second = second_opens.get_future().share();
    std::atomic<bool> fork_begun{false};
    std::atomic<bool> posted_ran{false};
    std::atomic<int> leaves{0};
    pool where({.workers = 2});  // ends first: what is posted may outlast the run
    graph_builder draft;
    const auto start = draft.add([] {});
    const auto waits = draft.add([&] {
      give_a_chance_to([&] { return fork_begun.load(); });
      REQUIRE(post(where, [&] { posted_ran = true; }));
      first.wait();
    });
    const auto fork = draft.add([&] {
      fork_begun = true;
      give_a_chance_to([&] { return posted_ran.load(); });
    });
    const auto lasts = draft.add([&] { give_a_chance_to([&] { return leaves == 3; }); });
    const auto spreads = draft.add([] {});
    const auto opens = draft.add([&] {
      ++leaves;
      static_cast<void>(first_opens.set_value());
      static_cast<void>(second.wait_for(100ms));
    });
    const auto leaf = draft.add([&] { ++leaves; });
    const auto opens_second = draft.add([&] {
      ++leaves;
      static_cast<void>(second_opens.set_value());
    });
    draft.precede(start, waits, fork);
    draft.precede(fork, lasts, spreads);
    draft.precede(spreads, opens, leaf, opens_second);
    static_graph graph = made(draft);
    spawn(where, [&] { graph.run(); }).get();
    CHECK(leaves == 3);
  }
}
