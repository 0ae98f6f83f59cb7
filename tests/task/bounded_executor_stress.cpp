// tests/task/bounded_executor_stress.cpp: producers, a small bound, and ends of every kind: each job is run or refused.
#include <braid/base/random.hpp>
#include <braid/task/executors.hpp>
#include <braid/task/pool.hpp>

#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

using namespace braid;
using testing::scaled;
using namespace std::chrono_literals;

namespace {

/// Counts what becomes of a job.
struct counted {
  explicit counted(std::atomic<int>& all) noexcept : alive(&all) { ++*alive; }
  counted(counted&& other) noexcept : alive(other.alive) { ++*alive; }
  ~counted() { --*alive; }
  std::atomic<int>* alive;
};

void run_round(std::size_t round, std::uint64_t seed) {
  random_source random(seed + round);
  constexpr scheduler schedulers[] = {scheduler::work_stealing, scheduler::least_loaded, scheduler::shared_queue};
  constexpr when_full ways[] = {when_full::wait, when_full::refuse, when_full::run_inline};
  std::atomic<int> alive = 0;
  std::atomic<int> ran = 0;
  std::atomic<int> accepted = 0;
  pool where({.workers = 1 + static_cast<unsigned>(round % 3), .scheduler = schedulers[round / 3 % 3]});
  const when_full way = ways[random.below(3)];
  std::optional<bounded_executor> entrance(std::in_place, where,
                                           bounded_executor::options{.capacity = 1 + random.below(4), .full = way});
  std::vector<std::thread> producers;
  for (int i = 0; i < 2; ++i)
    producers.emplace_back([&] {
      for (int n = 0; n < 100; ++n) {
        const auto posted = post(*entrance, [&ran, held = counted(alive)] { ++ran; });
        if (posted)
          ++accepted;
        else
          REQUIRE((posted.error() == errc::closed || (way == when_full::refuse && posted.error() == errc::full)));
      }
    });
  for (auto steps = random.below(20'000); steps > 0; --steps) static_cast<void>(random());
  const bool drops = random.below(2) == 0;
  if (drops) REQUIRE(where.shutdown(shutdown_mode::drop_pending));
  for (std::thread& each : producers) each.join();
  entrance.reset();
  REQUIRE(where.shutdown(shutdown_mode::drain));
  REQUIRE(alive == 0);
  REQUIRE(ran <= accepted);
  if (!drops) REQUIRE(ran == accepted);
}

}  // namespace

TEST_CASE("no job is lost or run twice, and no producer waits for ever") {
  const std::uint64_t seed = testing::printed_seed();
  const testing::watchdog dog(200s);
  for (std::size_t round = 0; round < scaled(1500); ++round) run_round(round, seed);
}
