// tests/coro/scope_stress.cpp: other threads stop scopes while their tasks end, fail, spawn, come home and time out;
// and races of every kind of wait with stops.
#include <braid/base/random.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/sync/atomic.hpp>

#include <tests/coro/stop_races.hpp>
#include <tests/support/looping_threads.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace braid;

namespace {

/// What the home has counted. Every local that came to life must die, once, on the home's thread.
struct ledger {
  std::uint64_t born = 0;
  std::uint64_t died = 0;
  std::uint64_t finished = 0;
  std::uint64_t stopped_scopes = 0;
  std::uint64_t strayed = 0;  // locals that died on another thread
  std::thread::id home;
};

struct local {
  explicit local(ledger& l) noexcept : in(&l) { ++in->born; }
  local(const local&) = delete;
  auto operator=(const local&) -> local& = delete;
  ~local() {
    ++in->died;
    if (std::this_thread::get_id() != in->home) ++in->strayed;
  }
  ledger* in;
};

/// Where the other threads find a scope that lives.
struct slot {
  std::mutex mutex;
  scope* published = nullptr;

  void publish(scope* living) {
    const std::lock_guard lock(mutex);
    published = living;
  }
  void stop() {
    const std::lock_guard lock(mutex);
    if (published != nullptr) published->request_stop();
  }
};

class storm {
 public:
  storm(runtime& on, std::uint64_t seed) : on_(&on), random_(seed) {}

  /// One driver of scopes, each of which other threads may stop at any time.
  auto drive(std::size_t index, std::size_t rounds) -> task<void> {
    counts.home = std::this_thread::get_id();
    for (std::size_t i = 0; i < rounds; ++i) co_await one_scope(slots[index]);
  }

  ledger counts;
  std::array<slot, 4> slots;

 private:
  auto one_scope(slot& at) -> task<void> {
    const local here(counts);
    scope& around = co_await this_scope();
    scope children(around, random_.below(8) == 0 ? on_->io().now() + 5us : time_point::max());
    event shared;
    at.publish(&children);
    for (std::uint64_t left = 1 + random_.below(5); left > 0; --left) children.spawn(child(shared));
    children.spawn(setter(shared));
    try {
      co_await children.join();
    } catch (const std::runtime_error&) {}
    at.publish(nullptr);
    co_await children.join();  // a stop may have been posted between the two
    if (children.stop().requested()) ++counts.stopped_scopes;
  }

  auto child(event& shared) -> task<void> {
    const local here(counts);
    switch (random_.below(6)) {
      case 0: co_await sleep_for(0ns); break;
      case 1: co_await shared; break;
      case 2: co_await away(); break;
      case 3: co_await nested(); break;
      case 4:
        static_cast<void>(co_await with_timeout(duration(static_cast<duration::rep>(random_.below(20'000))), pause()));
        break;
      default:
        if (random_.below(10) == 0) throw std::runtime_error("a child fails");
        break;
    }
    ++counts.finished;
  }

  auto setter(event& shared) -> task<void> {
    const local here(counts);
    co_await sleep_for(0ns);
    shared.set();
  }

  auto pause() -> task<void> {
    const local here(counts);
    co_await sleep_for(10us);
  }

  auto away() -> task<void> {
    const local here(counts);
    auto hop = offload(on_->workers(), [] {});
    co_await hop;
  }

  auto nested() -> task<void> {
    const local here(counts);
    auto body = [this](scope& children) -> task<void> {
      const local inside(counts);
      children.spawn(away());
      children.spawn(pause());
      co_await sleep_for(0ns);
    };
    co_await with_scope(body);
  }

  runtime* on_;
  random_source random_;
};

}  // namespace

TEST_CASE("whichever comes first, the end of the tasks or a stop, every local dies once and every join returns") {
  const testing::watchdog guard(std::chrono::seconds(120));
  const std::uint64_t seed = testing::printed_seed();
  const std::size_t rounds = testing::scaled(120'000);
  const auto all = runtime::create({.workers = 1}).value();
  storm what(*all, seed);

  atomic<bool> over{false};
  std::vector<std::thread> stoppers;
  for (std::uint64_t number = 0; number < 2; ++number) {
    stoppers.emplace_back([&, number] {
      random_source random(seed + number + 1);
      while (!over.load(relaxed)) {
        what.slots[random.below(what.slots.size())].stop();
        for (auto spins = random.below(200); spins > 0; --spins) static_cast<void>(over.load(relaxed));
      }
    });
  }

  auto body = [&](scope& drivers) -> task<void> {
    for (std::size_t i = 0; i < what.slots.size(); ++i) drivers.spawn(what.drive(i, rounds / what.slots.size()));
    co_return;
  };
  all->run(with_scope(body));
  over.store(true, relaxed);
  for (std::thread& each : stoppers) each.join();

  std::printf("%llu of %zu scopes stopped, %llu children finished\n",
              static_cast<unsigned long long>(what.counts.stopped_scopes), rounds,
              static_cast<unsigned long long>(what.counts.finished));
  CHECK(what.counts.born == what.counts.died);
  CHECK(what.counts.strayed == 0);
}

TEST_CASE("of completion and a stop one ends a wait, whatever it waits for and whoever stops it") {
  using testing::ending;
  constexpr std::size_t rounds_a_guard = 100;
  const std::uint64_t seed = testing::printed_seed();
  const std::size_t rounds = std::max<std::size_t>(testing::scaled(800), 16);
  testing::looping_threads loops(1);
  testing::stop_races races(loops[0], seed);
  for (std::size_t left = rounds; left > 0;) {
    const testing::watchdog guard(std::chrono::seconds(120));
    const std::size_t now = std::min(left, rounds_a_guard);
    sync_wait(loops[0], races.rounds(now));
    left -= now;
  }
  std::printf("%zu races\n", rounds * testing::stop_races::in_a_round);
  for (std::size_t kind = 0; kind < testing::stop_races::kinds; ++kind) {
    const auto count = [&](ending how) { return static_cast<unsigned long long>(races.count(kind, how)); };
    std::printf("%-10s %9llu values %9llu errors %9llu stopped\n", testing::awaited_names[kind], count(ending::value),
                count(ending::error), count(ending::stopped));
    for (const ending how : {ending::value, ending::error, ending::stopped}) CHECK(count(how) > 0);
  }
  CHECK(std::string(races.diagnostic() == nullptr ? "" : races.diagnostic()) == "");
}
