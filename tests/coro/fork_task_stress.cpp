// tests/coro/fork_task_stress.cpp: random trees of coroutines that fork give what they give on one worker.
#include <braid/coro/fork_task.hpp>

#include <braid/base/random.hpp>
#include <braid/task/fork_join.hpp>

#include <doctest/doctest.h>

#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ranges>
#include <stdexcept>
#include <thread>
#include <vector>

using braid::fork_each;
using braid::fork_join;
using braid::fork_task;
using braid::pool;
using braid::relaxed;
using braid::run_in;
using braid::testing::scaled;
using namespace std::chrono_literals;

namespace {

struct watched {
  braid::testing::watchdog dog{280s};
};

struct failure : std::runtime_error {
  failure() : std::runtime_error("a node") {}
};

/// What a node of a tree is, by its number alone; each node has its number from its parent's. Counts the coroutines
/// that are there.
class tree {
 public:
  tree(std::uint64_t seed, bool fails) : seed_(seed), fails_(fails) {}

  /// The nodes that a walk meets. Errors: failure.
  auto walk(std::uint64_t number, int height) -> fork_task<std::uint64_t> {
    const alive here(*this);
    braid::random_source random(seed_ ^ (number * 0x9e3779b97f4a7c15U));
    if (height == 0 || random.below(8) == 0) co_return leaf(random);
    const std::size_t children = 1 + random.below(5);
    std::uint64_t below = 0;
    switch (random.below(6)) {
      case 0: below = co_await child(number, 0, height); break;
      case 1: below = co_await two(number, height); break;
      case 2: below = co_await four(number, height); break;
      case 3: below = co_await loop(number, height, children); break;
      case 4: below = functions(number, height); break;
      default: below = group(number, children) + co_await two(number, height);
    }
    co_return 1 + below;
  }

  [[nodiscard]] auto left() const -> int { return alive_.load(relaxed); }

 private:
  struct alive {
    explicit alive(tree& in) : of(in) { of.alive_.fetch_add(1, relaxed); }
    alive(const alive&) = delete;
    auto operator=(const alive&) -> alive& = delete;
    ~alive() { of.alive_.fetch_sub(1, relaxed); }
    tree& of;
  };

  auto child(std::uint64_t number, std::size_t index, int height) -> fork_task<std::uint64_t> {
    return walk(number * 7 + index + 1, height - 1);
  }

  [[nodiscard]] auto leaf(braid::random_source& random) const -> std::uint64_t {
    if (fails_ && random.below(50) == 0) throw failure();
    for (auto spins = random.below(200); spins != 0; --spins) asm volatile("");
    return 1;
  }

  auto two(std::uint64_t number, int height) -> fork_task<std::uint64_t> {
    const alive here(*this);
    const auto [a, b] = co_await fork_join(child(number, 0, height), child(number, 1, height));
    co_return a + b;
  }

  /// Some of which need no other worker, and some that do not fork.
  auto four(std::uint64_t number, int height) -> fork_task<std::uint64_t> {
    const alive here(*this);
    auto forks =
        fork_join(child(number, 0, 1), child(number, 1, height), child(number, 2, height), child(number, 3, 1));
    const auto [a, b, c, d] = co_await forks;
    co_return a + b + c + d;
  }

  auto loop(std::uint64_t number, int height, std::size_t children) -> fork_task<std::uint64_t> {
    const alive here(*this);
    std::vector<std::uint64_t> found(children);
    auto one = [&](std::size_t i) -> fork_task<void> { found[i] = co_await child(number, i, height); };
    co_await fork_each(std::views::iota(std::size_t{0}, children), std::ref(one));
    std::uint64_t sum = 0;
    for (const std::uint64_t each : found) sum += each;
    co_return sum;
  }

  /// A fork of functions that run coroutines and wait for them.
  auto functions(std::uint64_t number, int height) -> std::uint64_t {
    pool& here = *where;
    const auto [a, b] = fork_join([&, this] { return run_in(here, child(number, 0, height)); },
                                  [&, this] { return run_in(here, child(number, 1, height)); });
    return a + b;
  }

  static auto group(std::uint64_t number, std::size_t children) -> std::uint64_t {
    braid::atomic<std::uint64_t> sum{0};
    braid::task_group all;
    for (std::size_t i = 0; i < children; ++i) all.run([&sum, number] { sum.fetch_add(number % 3, relaxed); });
    static_cast<void>(all.wait());
    return sum.load(relaxed);
  }

 public:
  pool* where = nullptr;  ///< whose workers walk

 private:
  std::uint64_t seed_;
  bool fails_;
  braid::atomic<int> alive_{0};
};

constexpr std::uint64_t failed = UINT64_MAX;

auto nodes_of(pool& where, tree& which, int height) -> std::uint64_t {
  which.where = &where;
  try {
    return run_in(where, which.walk(0, height));
  } catch (const failure&) {
    return failed;
  }
}

}  // namespace

TEST_CASE_FIXTURE(watched, "random trees have as many nodes for several workers as for one, and leave nothing") {
  const std::uint64_t seed = braid::testing::printed_seed();
  pool one({.workers = 1});
  pool two({.workers = 2});
  pool four({.workers = 4});
  for (std::uint64_t i = 0; i < scaled(3000); ++i) {
    tree which(seed + i, i % 3 == 0);
    const std::uint64_t expected = nodes_of(one, which, 8);
    CHECK(which.left() == 0);
    CHECK(nodes_of(two, which, 8) == expected);
    CHECK(which.left() == 0);
    CHECK(nodes_of(four, which, 8) == expected);
    CHECK(which.left() == 0);
  }
}

TEST_CASE_FIXTURE(watched, "trees from several threads, as futures and in calls, share a pool") {
  const std::uint64_t seed = braid::testing::printed_seed();
  pool where({.workers = 3});
  tree which(seed, false);
  const std::uint64_t expected = nodes_of(where, which, 6);
  braid::atomic<std::uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < scaled(1000); ++i) {
        const std::uint64_t nodes = t == 0   ? spawn(where, which.walk(0, 6)).get()
                                    : t == 1 ? run_in(where, [&] { return run_in(where, which.walk(0, 6)); })
                                             : run_in(where, which.walk(0, 6));
        if (nodes != expected) wrong.fetch_add(1, relaxed);
      }
    });
  for (std::thread& each : threads) each.join();
  CHECK(wrong.load(relaxed) == 0);
  CHECK(which.left() == 0);
  CHECK(where.wait_idle());
}
