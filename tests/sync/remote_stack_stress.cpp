// tests/sync/remote_stack_stress.cpp: elements pushed at a sleeping, waking and closing owner arrive once and in order.
#include <braid/sync/detail/remote_stack.hpp>

#include <braid/base/random.hpp>
#include <braid/sync/detail/parker.hpp>

#include <doctest/doctest.h>

#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

using braid::relaxed;
using braid::detail::push_result;
using braid::testing::scaled;
using namespace std::chrono_literals;

namespace {

struct item {
  std::size_t producer = 0;
  std::size_t number = 0;  // within its producer
  item* next = nullptr;
};

/// An owner that sleeps when there is nothing, and producers that wake it when they are told to.
struct queue {
  explicit queue(std::size_t producers, std::size_t each)
      : items(producers * each), pushed(producers), arrived(producers) {
    for (std::size_t i = 0; i < items.size(); ++i) items[i] = {i / each, i % each, nullptr};
  }

  /// Pushes what belongs to this producer until it is refused.
  void produce(std::size_t producer, std::uint64_t seed) {
    braid::random_source random(seed);
    const std::size_t each = items.size() / pushed.size();
    for (std::size_t number = 0; number < each; ++number) {
      const auto became = stack.try_push(items[producer * each + number]);
      if (became == push_result::closed) return;
      ++pushed[producer];
      if (became == push_result::wake) {
        wakes.fetch_add(1, relaxed);
        sleep.unpark();
      }
      for (std::uint64_t pause = random.below(200); pause > 0; --pause) wakes.load(relaxed);
    }
  }

  /// Takes what is there. Notes whether each producer's elements come one after the other.
  void receive(item* first) {
    for (; first != nullptr; first = first->next) in_order = in_order && first->number == arrived[first->producer]++;
  }

  /// Takes, and sleeps when nothing is there, until so many elements have arrived.
  void consume(std::size_t total) {
    while (arrived_in_all() < total) {
      item* first = stack.take();
      receive(first);
      if (first != nullptr || !stack.try_arm()) continue;
      ++sleeps;
      sleep.park();
    }
  }

  [[nodiscard]] auto arrived_in_all() const -> std::size_t {
    return std::accumulate(arrived.begin(), arrived.end(), std::size_t{0});
  }

  braid::detail::remote_stack<item> stack;
  braid::detail::parker sleep;
  std::vector<item> items;
  std::vector<std::size_t> pushed;   // by producer, each written by its own
  std::vector<std::size_t> arrived;  // by producer, written by the owner
  braid::atomic<std::size_t> wakes{0};
  std::size_t sleeps = 0;
  bool in_order = true;
};

}  // namespace

TEST_CASE("an owner that sleeps when there is nothing gets everything, and one wake for each sleep") {
  const std::uint64_t seed = braid::testing::printed_seed();
  const std::size_t each = scaled(200'000);
  const braid::testing::watchdog dog(200s);
  for (std::size_t producers = 1; producers <= 4; ++producers) {
    queue box(producers, each);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < producers; ++i) threads.emplace_back([&, i] { box.produce(i, seed + i); });
    box.consume(producers * each);
    for (std::thread& thread : threads) thread.join();
    CHECK(box.in_order);
    CHECK(box.arrived == box.pushed);
    CHECK(box.wakes.load(relaxed) == box.sleeps);
    CHECK(box.stack.take() == nullptr);
  }
}

TEST_CASE("closing between pushes splits them into those that arrive and those that are refused") {
  const std::uint64_t seed = braid::testing::printed_seed();
  const std::size_t rounds = scaled(1'500);
  const braid::testing::watchdog dog(200s);
  braid::random_source random(seed);
  bool in_order = true;
  for (std::size_t round = 0; round < rounds; ++round) {
    constexpr std::size_t producers = 2;
    queue box(producers, 200);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < producers; ++i) threads.emplace_back([&, i] { box.produce(i, seed + round + i); });
    for (std::uint64_t takes = random.below(100); takes > 0; --takes) box.receive(box.stack.take());
    box.receive(box.stack.close());
    for (std::thread& thread : threads) thread.join();
    REQUIRE(box.stack.take() == nullptr);
    REQUIRE(box.arrived == box.pushed);
    in_order = in_order && box.in_order;
  }
  CHECK(in_order);
}
