// tests/io/loop_stress.cpp: threads post to loops that start, sleep, stop and are destroyed meanwhile; what was
// accepted must run, and nobody may touch a loop that has gone.
#include <braid/base/random.hpp>
#include <braid/coro/bridge.hpp>
#include <braid/coro/channel.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/schedule_on.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/io/loop.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/parker.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <tests/support/busy.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace braid;

namespace {

auto give(int value) -> task<int> {
  if (value % 3 == 0) co_await sleep_for(1us);
  co_return value;
}

/// What producers and the loop counted in one life of a loop.
struct ledger {
  atomic<std::uint64_t> accepted{0};
  atomic<std::uint64_t> refused{0};
  atomic<std::uint64_t> ran{0};
  atomic<std::uint64_t> dropped{0};
  atomic<std::uint64_t> wrong{0};
};

/// A function for a loop that counts whether it was called or dropped.
class counted_post {
 public:
  explicit counted_post(ledger& counts) noexcept : counts_(&counts) {}
  counted_post(counted_post&& other) noexcept : counts_(std::exchange(other.counts_, nullptr)) {}
  ~counted_post() {
    if (counts_ != nullptr) counts_->dropped.fetch_add(1, relaxed);
  }
  void operator()() { std::exchange(counts_, nullptr)->ran.fetch_add(1, relaxed); }

 private:
  ledger* counts_;
};

/// Posts, waits for tasks, and pauses so that the loop falls asleep, until the loop refuses.
void produce(loop& io, ledger& counts, std::uint64_t seed, std::uint64_t posts) {
  random_source random(seed);
  for (std::uint64_t i = 0; i < posts; ++i) {
    const auto choice = random.below(100);
    if (choice == 0) {
      try {
        if (sync_wait(io, give(static_cast<int>(i))) != static_cast<int>(i)) counts.wrong.fetch_add(1, relaxed);
      } catch (const std::system_error& thrown) {
        if (thrown.code() != errc::closed && thrown.code() != errc::stopped) counts.wrong.fetch_add(1, relaxed);
      }
      continue;
    }
    if (choice == 1) std::this_thread::yield();
    const auto posted = post(io, counted_post(counts));
    (posted ? counts.accepted : counts.refused).fetch_add(1, relaxed);
  }
}

/// Waits for something that a thread of `others` brings, and that is the last thing which that one does here: it may be
/// held up between that and the wake, when the loop has found it already.
auto waits_for_others(loop& io, pool& others, std::uint64_t kind) -> task<void> {
  switch (kind) {
    case 0: {
      event arrived;
      const auto arrives = [&arrived] { arrived.set(); };
      REQUIRE(post(others, [&io, arrives] { static_cast<void>(post(io, arrives)); }));
      co_await arrived;
      break;
    }
    case 1: {
      auto both = make_oneshot<int>();
      REQUIRE(post(others, [to = std::move(both.first)]() mutable { static_cast<void>(to.send(1)); }));
      static_cast<void>(co_await both.second.receive());
      break;
    }
    case 2: {
      auto there = offload(others, [] {});
      co_await there;
      break;
    }
    case 3: {
      auto ahead = spawn(others, [] { return 1; });
      static_cast<void>(co_await std::move(ahead));
      break;
    }
    default: {
      co_await schedule_on(others);
      co_await resume_home();
      break;
    }
  }
}

/// A loop that is destroyed as soon as it has what its tasks wait for, and a stop, of which others may bring the last.
void live(pool& others, random_source& random) {
  const auto io = loop::create().value();
  auto waits = [&](scope& children) -> task<void> {
    for (auto left = 1 + random.below(4); left > 0; --left)
      children.spawn(waits_for_others(*io, others, random.below(5)));
    co_return;
  };
  auto body = [&]() -> task<void> {
    co_await with_scope(waits);
    if (random.below(2) == 0)
      io->stop();
    else
      REQUIRE(post(others, [at = io.get()] { at->stop(); }));
  };
  io->run([&] { io->spawn(body()); });
}

}  // namespace

TEST_CASE("in every life of a loop, what was accepted ran before run returned, unless the loop never ran") {
  const testing::watchdog guard(std::chrono::seconds(120));
  const std::uint64_t seed = testing::printed_seed();
  random_source random(seed);
  const std::size_t cycles = testing::scaled(500);
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  for (std::size_t cycle = 0; cycle < cycles; ++cycle) {
    const auto io = loop::create().value();
    ledger counts;
    bool began = false;
    std::thread runs([&] {  // producers may come before it does, and the stop, too
      io->run([&] { began = io->status() != loop::state::stopped; });
    });
    std::vector<std::thread> producers;
    for (int i = 0; i < 3; ++i) producers.emplace_back([&, begin = random()] { produce(*io, counts, begin, 400); });
    std::thread stops([&, pause = std::chrono::microseconds(random.below(200))] {
      testing::busy_for(pause);
      io->stop();
    });
    for (std::thread& each : producers) each.join();
    stops.join();
    runs.join();
    REQUIRE(counts.ran.load(relaxed) + counts.dropped.load(relaxed) ==
            counts.accepted.load(relaxed) + counts.refused.load(relaxed));
    REQUIRE(counts.ran.load(relaxed) == (began ? counts.accepted.load(relaxed) : 0));
    REQUIRE(counts.wrong.load(relaxed) == 0);
    accepted += counts.accepted.load(relaxed);
    refused += counts.refused.load(relaxed);
  }
  std::printf("%llu accepted and run, %llu refused in %zu lives\n", static_cast<unsigned long long>(accepted),
              static_cast<unsigned long long>(refused), cycles);
  CHECK(accepted > 0);
}

TEST_CASE("no wake is lost between a loop that falls asleep and a post") {
  const auto io = loop::create().value();
  braid::detail::parker started;
  std::thread runs([&] { io->run([&] { started.unpark(); }); });
  started.park();
  const std::size_t rounds = testing::scaled(100) * 100;
  std::uint64_t ran = 0;
  for (std::size_t i = 0; i < rounds; i += 100) {
    const testing::watchdog guard(std::chrono::seconds(60));
    for (int j = 0; j < 100; ++j) {
      braid::detail::parker done;
      REQUIRE(post(*io, [&] {
        ++ran;
        done.unpark();
      }));
      done.park();
    }
  }
  io->stop();
  runs.join();
  CHECK(ran == rounds);
}

TEST_CASE("a loop that is destroyed as soon as it has stopped waits for those who are still about to wake it") {
  random_source random(testing::printed_seed());
  const std::size_t lives = testing::scaled(2'000);
  pool others({.workers = 3});
  for (std::size_t i = 0; i < lives; i += 100) {
    const testing::watchdog guard(std::chrono::seconds(60));
    for (int j = 0; j < 100; ++j) live(others, random);
  }
  CHECK(others.wait_idle());
}
