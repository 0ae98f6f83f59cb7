// tests/sync/event_count_stress.cpp: with producers and consumers at full speed no notify is lost.
#include <braid/sync/detail/event_count.hpp>

#include <braid/base/random.hpp>

#include <doctest/doctest.h>

#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

using braid::relaxed;
using braid::testing::scaled;
using namespace std::chrono_literals;

namespace {

/// A semaphore made of a counter that knows nothing of sleeping, and an event count. All its accesses are relaxed: what
/// orders them is the event count alone.
struct semaphore {
  void release() {
    available.fetch_add(1, relaxed);
    events.notify_one();
  }

  auto try_acquire() -> bool {
    for (std::size_t seen = available.load(relaxed); seen > 0;)
      if (available.compare_exchange_weak(seen, seen - 1, relaxed, relaxed)) return true;
    return false;
  }

  /// False once it is closed and empty.
  auto acquire(braid::random_source& random) -> bool {
    while (true) {
      const auto key = events.prepare();
      const bool last = closed.load(relaxed);
      const bool taken = try_acquire();
      if (taken || last) {
        events.cancel();
        return taken;
      }
      const auto deadline = braid::steady_time().now() + braid::duration(random.below(200'000));
      if (random.below(4) == 0)
        static_cast<void>(events.wait_until(key, deadline));
      else
        events.wait(key);
    }
  }

  void close() {
    closed.store(true, relaxed);
    events.notify_all();
  }

  braid::detail::event_count events;
  braid::atomic<std::size_t> available{0};
  braid::atomic<bool> closed{false};
};

struct shape {
  std::size_t producers;
  std::size_t consumers;
};

/// How much the consumers got of what the producers gave.
auto pass_through(shape threads, std::size_t each, std::uint64_t seed) -> std::size_t {
  semaphore all;
  braid::atomic<std::size_t> received{0};
  std::vector<std::thread> producers;
  std::vector<std::thread> consumers;
  for (std::size_t i = 0; i < threads.consumers; ++i)
    consumers.emplace_back([&, i] {
      braid::random_source random(seed + 100 + i);
      while (all.acquire(random)) received.fetch_add(1, relaxed);
    });
  for (std::size_t i = 0; i < threads.producers; ++i)
    producers.emplace_back([&, i] {
      braid::random_source random(seed + i);
      for (std::size_t n = 0; n < each; ++n) {
        all.release();
        for (std::uint64_t pause = random.below(400); pause > 0; --pause) all.available.load(relaxed);
      }
    });
  for (std::thread& thread : producers) thread.join();
  all.close();
  for (std::thread& thread : consumers) thread.join();
  return received.load(relaxed);
}

}  // namespace

TEST_CASE("everything that is released is acquired, by one or several sleepers") {
  const std::uint64_t seed = braid::testing::printed_seed();
  const std::size_t each = scaled(60'000);
  const braid::testing::watchdog dog(200s);
  for (const shape threads : {shape{1, 1}, shape{2, 1}, shape{1, 3}, shape{3, 3}})
    CHECK(pass_through(threads, each, seed) == threads.producers * each);
}

TEST_CASE("a sleeper that nobody but one notify wakes is woken, every time") {
  const std::size_t rounds = scaled(40'000);
  const braid::testing::watchdog dog(200s);
  braid::detail::event_count events;
  braid::atomic<std::size_t> asked{0};
  braid::atomic<std::size_t> answered{0};
  const auto wait_for = [&events](const braid::atomic<std::size_t>& counter, std::size_t value) {
    while (true) {
      const auto key = events.prepare();
      if (counter.load(relaxed) == value) return events.cancel();
      events.wait(key);
    }
  };
  std::thread other([&] {
    for (std::size_t i = 1; i <= rounds; ++i) {
      wait_for(asked, i);
      answered.store(i, relaxed);
      events.notify_all();
    }
  });
  for (std::size_t i = 1; i <= rounds; ++i) {
    asked.store(i, relaxed);
    events.notify_all();
    wait_for(answered, i);
  }
  other.join();
  CHECK(answered.load(relaxed) == rounds);
}
