// tests/sync/run_queue_stress.cpp: owners that push and pop and thieves that halve take every element exactly once.
#include <braid/sync/detail/run_queue.hpp>

#include <braid/base/random.hpp>

#include <doctest/doctest.h>

#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

using braid::acquire;
using braid::relaxed;
using braid::release;
using braid::testing::scaled;
using namespace std::chrono_literals;

namespace {

struct item {
  std::uint32_t times = 0;  // how often it was taken; plain, so that the thread sanitizer sees two takers
  item* next = nullptr;
};

/// Workers with a queue each. Every one pushes what is its own, pops, and steals when it has nothing.
template <std::size_t Capacity>
class workers {
 public:
  workers(std::size_t count, std::size_t each) : queues_(count), items_(count * each), each_(each) {}

  void work(std::size_t me, std::uint64_t seed) {
    braid::random_source random(seed + me);
    std::size_t pushed = 0;
    while (taken_.load(relaxed) < items_.size()) {
      for (std::uint64_t burst = random.below(3 * Capacity); burst > 0 && pushed < each_; --burst)
        push(me, items_[me * each_ + pushed++], random);
      for (std::uint64_t burst = random.below(3 * Capacity); burst > 0; --burst)
        if (!take_one(me, random)) break;
      steal(me, random);
    }
  }

  void run(std::uint64_t seed) {
    std::vector<std::thread> threads;
    for (std::size_t me = 0; me < queues_.size(); ++me) threads.emplace_back([this, me, seed] { work(me, seed); });
    for (std::thread& thread : threads) thread.join();
  }

  [[nodiscard]] auto each_was_taken_once() const -> bool {
    return std::all_of(items_.begin(), items_.end(), [](const item& one) { return one.times == 1; });
  }

  [[nodiscard]] auto all_are_empty() -> bool {
    return std::all_of(queues_.begin(), queues_.end(), [](auto& queue) { return queue.empty(); });
  }

 private:
  void push(std::size_t me, item& one, braid::random_source& random) {
    if (random.below(4) == 0)
      queues_[me].push_next(one);
    else
      queues_[me].push(one);
  }

  auto take_one(std::size_t me, braid::random_source& random) -> bool {
    item* one = random.below(4) == 0 ? queues_[me].pop_next() : nullptr;
    if (one == nullptr) one = queues_[me].pop();
    note(one);
    return one != nullptr;
  }

  void steal(std::size_t me, braid::random_source& random) {
    auto& victim = queues_[random.below(queues_.size())];
    if (&victim == &queues_[me]) return;
    note(queues_[me].steal_half_from(victim));
    if (random.below(8) == 0) note(victim.steal_next(victim.next_mark()));
    if (queues_[me].empty()) std::this_thread::yield();
  }

  void note(item* one) {
    if (one == nullptr) return;
    ++one->times;
    taken_.fetch_add(1, relaxed);
  }

  std::vector<braid::detail::run_queue<item, Capacity>> queues_;
  std::vector<item> items_;
  std::size_t each_;
  braid::atomic<std::size_t> taken_{0};
};

template <std::size_t Capacity>
void take_all(std::size_t count, std::size_t each, std::uint64_t seed) {
  workers<Capacity> all(count, each);
  all.run(seed);
  CHECK(all.each_was_taken_once());
  CHECK(all.all_are_empty());
}

}  // namespace

TEST_CASE("every element is taken exactly once, from rings of any size") {
  const std::uint64_t seed = braid::testing::printed_seed();
  const std::size_t each = scaled(400'000);
  const braid::testing::watchdog dog(200s);
  for (const std::size_t count : {2U, 3U, 4U}) {
    take_all<2>(count, each / 4, seed);
    take_all<8>(count, each, seed);
    take_all<256>(count, each, seed);
  }
}

TEST_CASE("a thief alone takes everything while the owner only pushes, also the last element of the slot") {
  const std::uint64_t seed = braid::testing::printed_seed();
  const braid::testing::watchdog dog(200s);
  const std::size_t count = scaled(1'000'000);
  std::vector<item> items(count);
  braid::detail::run_queue<item, 16> owned;
  braid::detail::run_queue<item, 16> stolen;
  std::thread thief([&] {
    for (std::size_t taken = 0; taken < count;) {
      item* one = stolen.pop();
      if (one == nullptr) one = stolen.steal_half_from(owned);
      if (one == nullptr) one = owned.steal_next(owned.next_mark());
      if (one == nullptr) {
        std::this_thread::yield();
        continue;
      }
      ++one->times;
      ++taken;
    }
  });
  braid::random_source random(seed);
  for (item& one : items) random.below(3) == 0 ? owned.push_next(one) : owned.push(one);
  thief.join();
  CHECK(std::all_of(items.begin(), items.end(), [](const item& one) { return one.times == 1; }));
  CHECK(owned.empty());
}
