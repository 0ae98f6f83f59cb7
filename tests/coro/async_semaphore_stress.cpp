// tests/coro/async_semaphore_stress.cpp: tasks on several loops share permits, and are stopped at any time.
#include <braid/base/random.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/sync/atomic.hpp>

#include <tests/support/looping_threads.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

using namespace braid;

namespace {

constexpr std::size_t homes = 3;

class storm {
 public:
  storm(std::size_t permits, std::uint64_t seed) : semaphore(permits), permits_(permits), seed_(seed) {}

  auto drive(std::size_t index, std::size_t rounds) -> task<void> {
    random_source random(seed_ + index);
    for (std::size_t i = 0; i < rounds; ++i) {
      scope& around = co_await this_scope();
      scope children(around);
      for (int tasks = 0; tasks < 4; ++tasks) children.spawn(use(1 + random.below(4)));
      children.spawn(stop_after(children, random.below(6)));
      co_await children.join();
    }
  }

  async_semaphore semaphore;
  atomic<std::uint64_t> used{0};      // how often a permit was used; written by all
  atomic<std::uint64_t> too_many{0};  // how often more were used than there are; written by all

 private:
  auto use(std::uint64_t times) -> task<void> {
    for (; times > 0; --times) {
      const auto held = co_await semaphore.acquire();
      if (inside_.fetch_add(1, relaxed) >= permits_) too_many.fetch_add(1, relaxed);
      used.fetch_add(1, relaxed);
      const leaving on_exit{inside_};
      co_await yield();
    }
  }

  struct leaving {
    atomic<std::size_t>& inside;
    ~leaving() { inside.fetch_sub(1, relaxed); }
  };

  static auto stop_after(scope& all, std::uint64_t turns) -> task<void> {
    for (; turns > 0; --turns) co_await yield();
    all.request_stop();
  }

  std::size_t permits_;
  std::uint64_t seed_;
  atomic<std::size_t> inside_{0};  // holders of a permit; written by all
};

}  // namespace

TEST_CASE("no permit is lost or used twice, whoever is stopped when") {
  const testing::watchdog guard(std::chrono::seconds(250));
  const std::uint64_t seed = testing::printed_seed();
  for (const std::size_t permits : {1U, 3U}) {
    testing::looping_threads loops(homes);
    storm all(permits, seed);
    loops.run_on_each([&](std::size_t index) { return all.drive(index, testing::scaled(3000)); });
    CHECK(all.too_many.load(relaxed) == 0);
    CHECK(all.used.load(relaxed) > 0);  // thousands, unless the holder of a permit has lost its processor meanwhile
    CHECK(all.semaphore.available() == permits);
  }
}

TEST_CASE("a mutex orders what tasks of several loops do to plain data") {
  const testing::watchdog guard(std::chrono::seconds(250));
  testing::looping_threads loops(homes);
  async_mutex mutex;
  std::uint64_t plain = 0;
  auto add = [&](std::size_t /*index*/) -> task<void> {
    for (int i = 0; i < 5000; ++i) {
      const auto held = co_await mutex.lock();
      ++plain;
    }
  };
  loops.run_on_each(add);
  CHECK(plain == homes * 5000);
}

TEST_CASE("tasks of several loops pass the phases of a barrier together") {
  const testing::watchdog guard(std::chrono::seconds(250));
  testing::looping_threads loops(homes);
  async_barrier barrier(homes);
  std::vector<std::uint64_t> phase(homes);
  atomic<std::uint64_t> apart{0};  // how often somebody was seen in another phase; written by all
  auto march = [&](std::size_t index) -> task<void> {
    for (std::uint64_t i = 1; i <= 1000; ++i) {
      phase[index] = i;
      co_await barrier.arrive_and_wait();
      for (const std::uint64_t other : phase)
        if (other != i) apart.fetch_add(1, relaxed);
      co_await barrier.arrive_and_wait();
    }
  };
  loops.run_on_each(march);
  CHECK(apart.load(relaxed) == 0);
}
