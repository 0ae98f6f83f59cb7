// tests/thread/chaos_stress.cpp: how long a chaos takes to end, and that it leaves nothing behind in a busy program.
#include <braid/thread/chaos.hpp>

#include <braid/base/random.hpp>
#include <braid/thread/registry.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/held_thread.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

using braid::chaos;
using braid::registered_thread;
using braid::thread_entry;
using braid::thread_info;
using braid::testing::held_thread;
using braid::testing::scaled;
using namespace std::chrono_literals;

namespace {

auto infos_of(const std::vector<std::unique_ptr<held_thread>>& threads) -> std::vector<thread_info> {
  std::vector<thread_info> infos;
  for (const auto& thread : threads) infos.push_back(thread->info());
  return infos;
}

auto time_to_end(const std::vector<thread_info>& threads, braid::duration interval) -> braid::duration {
  auto running = chaos::start(threads, {.seed = 1, .interval = interval});
  REQUIRE(running);
  REQUIRE(braid::testing::eventually([&] { return running->steps() > 0; }));
  const auto begin = std::chrono::steady_clock::now();
  { const chaos ends = std::move(*running); }
  return std::chrono::steady_clock::now() - begin;
}

}  // namespace

TEST_CASE("a chaos over 100 threads ends whatever the interval, in a stress run within 100 ms") {
  const braid::testing::watchdog dog(250s);
  std::vector<std::unique_ptr<held_thread>> threads;
  while (threads.size() < 100) threads.push_back(std::make_unique<held_thread>());
  const auto infos = infos_of(threads);
  const bool bounded = braid::testing::is_stress_run() && !braid::testing::under_thread_sanitizer;
  for (const braid::duration interval : {braid::duration(1ns), braid::duration(1ms), braid::duration(24h)}) {
    braid::duration best = braid::duration::max();  // the other runs may have lost the CPU to somebody else
    for (int run = 0; run < 5; ++run) best = std::min(best, time_to_end(infos, interval));
    CAPTURE(interval.count());
    CAPTURE(best.count());
    CHECK((!bounded || best < 100ms));
  }
}

TEST_CASE("threads of a registry that come and go are disturbed, and those that stay get back what they had") {
  const braid::testing::watchdog dog(250s);
  const std::uint64_t seed = braid::testing::printed_seed();
  braid::random_source random(seed);
  const held_thread stays;
  const auto affinity = stays.info().affinity().value();
  const auto policy = stays.info().scheduling().value();
  const braid::thread_registry registry;
  for (std::size_t round = scaled(30); round > 0; --round) {
    std::vector<registered_thread> visitors;
    for (int i = 0; i < 10; ++i) {
      auto visitor = registered_thread::create({.label = {.tag = "visitor"}, .registry = registry},
                                               [](const std::stop_token& stop) {
                                                 while (!stop.stop_requested()) std::this_thread::yield();
                                               });
      REQUIRE(visitor);
      visitors.push_back(std::move(*visitor));
    }
    auto infos = threads_of(registry.where<&thread_entry::tag>("visitor"));
    infos.push_back(stays.info());
    const auto running =
        chaos::start(infos, {.seed = random(), .interval = braid::duration(1 + random.below(100'000))});
    REQUIRE(running);
    while (!visitors.empty()) {
      if (random.below(2) == 0) std::this_thread::yield();
      visitors.pop_back();
    }
  }
  CHECK(registry.size() == 0);
  CHECK(stays.info().affinity() == affinity);
  CHECK(stays.info().scheduling() == policy);
}
