// tests/task/fork_join_stress.cpp: random trees of forks, groups, loops and failures give what they give on one thread.
#include <braid/task/fork_join.hpp>
#include <braid/task/future.hpp>
#include <braid/task/parallel.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <braid/base/random.hpp>

#include <doctest/doctest.h>

#include <tests/support/chosen_pool.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ranges>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <vector>

using braid::relaxed;
using braid::run_in;
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

/// What a node of a tree is, by its number alone; each node has its number from its parent's.
class tree {
 public:
  tree(std::uint64_t seed, bool fails) : seed_(seed), fails_(fails) {}

  /// The nodes that a walk meets. Errors: failure.
  [[nodiscard]] auto walk(std::uint64_t number, int height) const -> std::uint64_t {
    braid::random_source random(seed_ ^ (number * 0x9e3779b97f4a7c15U));
    if (height == 0 || random.below(8) == 0) return leaf(random);
    const std::size_t children = 1 + random.below(5);
    switch (random.below(4)) {
      case 0: return 1 + walk_two(number, height);
      case 1: return 1 + walk_group(number, height, children);
      case 2: return 1 + walk_loop(number, height, children);
      default: return 1 + walk_sum(number, height, children);
    }
  }

 private:
  [[nodiscard]] auto child(std::uint64_t number, std::size_t index, int height) const -> std::uint64_t {
    return walk(number * 7 + index + 1, height - 1);
  }

  [[nodiscard]] auto leaf(braid::random_source& random) const -> std::uint64_t {
    if (fails_ && random.below(50) == 0) throw failure();
    for (auto spins = random.below(200); spins != 0; --spins) asm volatile("");
    return 1;
  }

  [[nodiscard]] auto walk_two(std::uint64_t number, int height) const -> std::uint64_t {
    const auto [a, b] = braid::fork_join([=, this] { return child(number, 0, height); },
                                         [=, this] { return child(number, 1, height); });
    return a + b;
  }

  [[nodiscard]] auto walk_group(std::uint64_t number, int height, std::size_t children) const -> std::uint64_t {
    braid::atomic<std::uint64_t> sum{0};
    braid::task_group group;
    for (std::size_t i = 0; i < children; ++i)
      group.run([&, i, this] {
        sum.fetch_add(child(number, i, height), relaxed);
        if (i == 0) group.run([&sum] { sum.fetch_add(1, relaxed); });
      });
    static_cast<void>(group.wait());
    return sum.load(relaxed) - 1;
  }

  [[nodiscard]] auto walk_loop(std::uint64_t number, int height, std::size_t children) const -> std::uint64_t {
    braid::atomic<std::uint64_t> sum{0};
    braid::parallel_for(std::size_t{0}, children,
                        [&](std::size_t i) { sum.fetch_add(child(number, i, height), relaxed); });
    return sum.load(relaxed);
  }

  [[nodiscard]] auto walk_sum(std::uint64_t number, int height, std::size_t children) const -> std::uint64_t {
    return braid::parallel_reduce(std::views::iota(std::size_t{0}, children), std::uint64_t{0}, std::plus{},
                                  [=, this](std::size_t i) { return child(number, i, height); });
  }

  std::uint64_t seed_;
  bool fails_;
};

/// A join in which one call waits for what another one makes, in any order; what was made, and what the third call
/// gave.
auto join_with_a_wait(std::uint64_t number) -> std::uint64_t {
  braid::random_source random(number);
  const auto spins = random.below(2000);
  braid::promise<std::uint64_t> made;
  auto ahead = made.get_future();
  const auto waits = [&] { return ahead.get(); };
  const auto makes = [&] {
    for (auto left = spins; left != 0; --left) asm volatile("");
    static_cast<void>(made.set_value(number));
    return std::uint64_t{0};
  };
  const auto another = [&] { return spins; };
  const auto sum = [](const auto& three) { return std::get<0>(three) + std::get<1>(three) + std::get<2>(three); };
  switch (random.below(3)) {
    case 0: return sum(braid::fork_join(waits, makes, another)) - spins;
    case 1: return sum(braid::fork_join(another, waits, makes)) - spins;
    default: return sum(braid::fork_join(makes, another, waits)) - spins;
  }
}

constexpr std::uint64_t failed = UINT64_MAX;

auto nodes_of(pool& where, const tree& which, int height) -> std::uint64_t {
  try {
    return run_in(where, [&] { return which.walk(0, height); });
  } catch (const failure&) {
    return failed;
  }
}

}  // namespace

TEST_CASE_FIXTURE(watched, "random trees have as many nodes for several workers as for one") {
  const std::uint64_t seed = braid::testing::printed_seed();
  pool one({.workers = 1});
  pool two({.workers = 2});
  pool four({.workers = 4});
  for (std::uint64_t i = 0; i < scaled(1000); ++i) {
    const tree which(seed + i, i % 3 == 0);
    const std::uint64_t expected = nodes_of(one, which, 8);
    CHECK(nodes_of(two, which, 8) == expected);
    CHECK(nodes_of(four, which, 8) == expected);
  }
}

TEST_CASE_FIXTURE(watched, "many threads from outside and posted jobs share a pool") {
  const std::uint64_t seed = braid::testing::printed_seed();
  pool where({.workers = 3});
  const tree which(seed, false);
  const std::uint64_t expected = nodes_of(where, which, 6);
  braid::atomic<std::uint64_t> wrong{0};
  const auto check = [&](std::uint64_t nodes) {
    if (nodes != expected) wrong.fetch_add(1, relaxed);
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < scaled(200); ++i) {
        if (t == 0)
          check(braid::spawn(where, [&] { return which.walk(0, 6); }).get());
        else if (t == 1)
          check(run_in(where, [&] { return braid::spawn(where, [&] { return which.walk(0, 6); }).get(); }));
        else
          check(nodes_of(where, which, 6));
      }
    });
  for (std::thread& each : threads) each.join();
  CHECK(wrong.load(relaxed) == 0);
  CHECK(where.wait_idle());
}

TEST_CASE_FIXTURE(watched, "calls that wait for others of their join end, however few workers there are") {
  const std::uint64_t seed = braid::testing::printed_seed() % 1'000'000;
  for (const unsigned workers : {1U, 2U, 4U}) {
    CAPTURE(workers);
    pool where({.workers = workers});
    for (std::uint64_t i = 0; i < scaled(100); ++i) {
      std::vector<braid::future<std::uint64_t>> joins;
      for (std::uint64_t job = 0; job < 16; ++job)
        joins.push_back(spawn(where, [=] { return join_with_a_wait(seed + job); }));
      for (std::uint64_t job = 0; job < 16; ++job) REQUIRE(joins[job].get() == seed + job);
    }
  }
}

TEST_CASE_FIXTURE(watched, "workers fall asleep between short bursts, and wake for each") {
  pool where({.workers = 2, .stay_awake = 1us});
  for (std::size_t i = 0; i < scaled(2000); ++i) {
    const int sum = run_in(where, [] {
      return braid::parallel_reduce(std::views::iota(0, 200), 0, std::plus{}, [](int n) {
        for (int spin = 0; spin < 50; ++spin) asm volatile("");
        return n;
      });
    });
    REQUIRE(sum == 19'900);
  }
}
