// tests/coro/dump_stress.cpp: dumps while tasks are spawned, wait, are stopped and end on loops and on a pool.
#include <braid/coro/dump.hpp>

#include <braid/base/clock.hpp>
#include <braid/base/random.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/schedule_on.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/when_all.hpp>
#include <braid/task/pool.hpp>

#include <tests/support/looping_threads.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/test_loop.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

using namespace braid;

namespace {

auto waits(pool& there, std::uint64_t pick) -> task<void> {
  switch (pick % 5) {
    case 0: co_await yield(); break;
    case 1: co_await sleep_for(20us); break;
    case 2: co_await offload(there, [] {}); break;
    case 3: co_await schedule_on(there); break;
    default: co_await when_all(waits(there, pick / 5 % 4), waits(there, pick / 7 % 4));
  }
}

void storm(testing::looping_threads& loops, pool& workers, std::uint64_t seed, std::size_t count) {
  random_source random(seed);
  std::vector<future<void>> open;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t pick = random();
    auto work = waits(workers, pick / 8);
    open.push_back(pick % 2 == 0 ? spawn(loops[pick / 2 % 2], std::move(work)) : spawn(workers, std::move(work)));
    if (pick / 4 % 2 == 0) open[random.below(open.size())].request_stop();
    if (open.size() < 50) continue;
    for (auto& each : open) each.wait();
    open.clear();
  }
  for (auto& each : open) each.wait();
}

}  // namespace

TEST_CASE("dumps in the middle of spawns, stops and ends are answered, and change nothing") {
  const testing::watchdog guard(std::chrono::seconds(280));
  random_source random(testing::printed_seed());
  const std::size_t count = testing::scaled(4'000);
  std::size_t seen = 0;
  std::size_t late = 0;
  {
    testing::looping_threads loops(2);
    pool workers({.workers = 2});
    atomic<int> storms{2};
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i)
      threads.emplace_back([&, seed = random()] {
        storm(loops, workers, seed, count / 2);
        storms.fetch_sub(1, relaxed);
      });
    while (storms.load(relaxed) != 0) {
      const task_dump all = dump(60s);
      for (const task_dump::home& each : all.homes) {
        seen += each.tasks.size();
        if (each.how == task_dump::home::answer::late) ++late;
      }
      if (all.to_text().empty()) ++late;
    }
    for (std::thread& each : threads) each.join();
    for (const task_dump::home& each : dump(60s).homes) CHECK(each.tasks.empty());
  }
  CHECK(seen > 0);
  CHECK(late == 0);
}

TEST_CASE("a dump of 100000 tasks has each of them, in a second") {
  testing::test_loop here;
  constexpr std::size_t count = 100'000;
  auto dozes = []() -> task<void> { co_await sleep_for(1h); };
  auto calls = [&dozes]() -> task<void> { co_await dozes(); };
  for (std::size_t i = 0; i < count; ++i) here.io().root().spawn(calls());
  here.run_once();
  duration best = duration::max();
  for (int round = 0; round < 3; ++round) {
    const time_point begin = steady_time().now();
    const task_dump all = dump(60s);
    const std::string text = all.to_text();
    best = std::min(best, steady_time().now() - begin);
    std::size_t seen = 0;
    for (const task_dump::home& each : all.homes) seen += each.tasks.size();
    CHECK(seen == count);
    CHECK(text.size() > 50 * count);
  }
  std::printf("a dump of %zu tasks as text: %.0f ms\n", count, std::chrono::duration<double, std::milli>(best).count());
  if (testing::is_stress_run()) CHECK(best < 1s);
  here.stop();
}
