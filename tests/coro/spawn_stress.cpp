// tests/coro/spawn_stress.cpp: completion against stops and timeouts, from several threads: one of them wins,
// whatever a task holds goes once, at home, and what comes late is counted.
#include <braid/coro/bridge.hpp>

#include <braid/base/random.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/runtime/runtime.hpp>

#include <tests/support/looping_threads.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

using namespace braid;

namespace {

struct ledger {
  atomic<std::uint64_t> born{0};
  atomic<std::uint64_t> died{0};
  atomic<std::uint64_t> values{0};
  atomic<std::uint64_t> stops{0};
};

/// Lives and dies on one thread, or the program ends.
class local {
 public:
  explicit local(ledger& in) noexcept : in_(&in), home_(std::this_thread::get_id()) { in_->born.fetch_add(1, relaxed); }
  local(const local&) = delete;
  auto operator=(const local&) -> local& = delete;
  ~local() {
    if (std::this_thread::get_id() != home_) std::abort();
    in_->died.fetch_add(1, relaxed);
  }

 private:
  ledger* in_;
  std::thread::id home_;
};

auto work(ledger& in, std::uint64_t pick) -> task<std::uint64_t> {
  const local held(in);
  switch (pick % 4) {
    case 0: break;
    case 1: co_await yield(); break;
    case 2: co_await sleep_for(1us); break;
    default: co_await sleep_for(30us); break;
  }
  const local last(in);
  co_return pick;
}

/// Spawns tasks on loops and stops them while they end, at about the same moment.
void run_races(testing::looping_threads& loops, ledger& in, std::uint64_t seed, std::size_t races) {
  random_source random(seed);
  for (std::size_t i = 0; i < races; ++i) {
    const std::uint64_t pick = random();
    auto handle = spawn(loops[pick % 2], work(in, pick / 2));
    for (std::uint64_t pause = random.below(200); pause != 0; --pause) asm volatile("");
    switch (pick / 8 % 4) {
      case 0: break;
      case 1: handle.request_stop(); break;
      case 2: {
        std::thread other([&handle] { handle.request_stop(); });
        handle.request_stop();
        other.join();
        break;
      }
      default: {
        const future<std::uint64_t> dropped = std::move(handle);
        break;
      }
    }
    if (!handle.valid()) continue;
    auto asks = [&]() -> task<void> {
      const outcome<std::uint64_t> ended = co_await as_outcome(std::move(handle));
      if (ended.has_exception()) std::abort();
      (ended.has_value() ? in.values : in.stops).fetch_add(1, relaxed);
    };
    sync_wait(loops[(pick + 1) % 2], asks());
  }
}

}  // namespace

TEST_CASE("of completion and a stop by handles one wins, from any threads, and every local dies once at home") {
  const testing::watchdog guard(std::chrono::seconds(280));
  random_source random(testing::printed_seed());
  const std::size_t races = testing::scaled(6'000);
  ledger counts;
  {
    testing::looping_threads loops(2);
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
      threads.emplace_back([&, seed = random()] { run_races(loops, counts, seed, races / 3); });
    for (std::thread& each : threads) each.join();
  }
  CHECK(counts.born.load(relaxed) == counts.died.load(relaxed));
  CHECK(counts.values.load(relaxed) > 0);
  CHECK(counts.stops.load(relaxed) > 0);
  std::printf("%llu values, %llu stops\n", static_cast<unsigned long long>(counts.values.load(relaxed)),
              static_cast<unsigned long long>(counts.stops.load(relaxed)));
}

TEST_CASE("of a function elsewhere, its timeout and a stop one wins, and what came late was counted") {
  const testing::watchdog guard(std::chrono::seconds(280));
  const std::uint64_t seed = testing::printed_seed();
  const std::size_t races = testing::scaled(6'000);
  for (const auto shape : {runtime_shape::separate, runtime_shape::merged}) {
    atomic<std::uint64_t> begun{0};
    std::uint64_t in_time = 0;
    std::uint64_t late = 0;
    std::uint64_t cut = 0;
    const auto all = runtime::create({.workers = 2, .shape = shape}).value();
    auto body = [&]() -> task<void> {
      random_source random(seed);
      scope& around = co_await this_scope();
      for (std::size_t i = 0; i < races; ++i) {
        auto asks = [&, took = random.below(3'000), span = random.below(60)]() -> task<bool> {
          auto timed = offload(all->workers(), {.timeout = std::chrono::microseconds(span)}, [&begun, took] {
            begun.fetch_add(1, relaxed);
            for (std::uint64_t left = took; left != 0; --left) asm volatile("");
            return took;
          });
          const result<std::uint64_t> got = co_await timed;
          co_return got.has_value();
        };
        auto handle = spawn(around, asks());
        if (i % 4 == 0) co_await yield();
        if (i % 5 == 0) handle.request_stop();
        const outcome<bool> ended = co_await as_outcome(std::move(handle));
        outcome<bool> copy = ended;
        if (ended.is_stopped())
          ++cut;
        else
          ++(copy.take() ? in_time : late);
      }
    };
    all->run(body());
    CHECK(all->shutdown(shutdown_mode::drain));
    CHECK(in_time + late + cut == races);
    // Whatever began was waited for to its end, or is counted as late.
    CHECK(begun.load(relaxed) == in_time + all->late());
    std::printf("%llu in time, %llu too late, %llu stopped; %llu ended late\n",
                static_cast<unsigned long long>(in_time), static_cast<unsigned long long>(late),
                static_cast<unsigned long long>(cut), static_cast<unsigned long long>(all->late()));
  }
}
