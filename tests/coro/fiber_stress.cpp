// tests/coro/fiber_stress.cpp: fibers of several loops that talk, compute elsewhere, and are stopped at any moment.
#include <braid/coro/fiber.hpp>

#include <braid/base/random.hpp>
#include <braid/coro/channel.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/pool.hpp>

#include <tests/support/looping_threads.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>

using namespace braid;

namespace {

/// A value that is counted, with memory of its own.
class token {
 public:
  token(int value, atomic<int>& alive) : value_(std::make_unique<int>(value)), alive_(&alive) {
    alive_->fetch_add(1, relaxed);
  }
  token(token&& other) noexcept : value_(std::move(other.value_)), alive_(std::exchange(other.alive_, nullptr)) {}
  auto operator=(token&&) -> token& = delete;
  ~token() {
    if (alive_ != nullptr) alive_->fetch_sub(1, relaxed);
  }
  [[nodiscard]] auto get() const -> int { return *value_; }

 private:
  std::unique_ptr<int> value_;
  atomic<int>* alive_;
};

struct world {
  explicit world(std::uint64_t s) : seed(s) {}

  testing::looping_threads loops{2};
  pool workers{{.workers = 1}};
  channel<token> line{4};
  async_mutex mutex;
  atomic<int> alive{0};
  atomic<int> unguarded{0};  // changed by one at a time, under the mutex
  atomic<std::uint64_t> sent{0}, received{0}, locked{0}, wrong{0};
  std::uint64_t seed;

  void send(random_source& random) {
    const token held(0, alive);  // lives through the wait
    for (;;) {
      token value(static_cast<int>(random.below(1000)), alive);
      if (!fiber_await(line.send(std::move(value)))) return;
      sent.fetch_add(1, relaxed);
    }
  }

  void receive(random_source& random) {
    const token held(0, alive);
    while (auto got = fiber_await(line.receive())) {
      received.fetch_add(1, relaxed);
      if (got->get() < 0) wrong.fetch_add(1, relaxed);
      if (random.below(8) == 0) work(random);
    }
  }

  void work(random_source& random) {
    const token held(0, alive);
    const auto lock = fiber_await(mutex.lock());
    if (unguarded.fetch_add(1, relaxed) != 0) wrong.fetch_add(1, relaxed);
    if (random.below(2) == 0) {
      struct leaves {
        world* of;
        ~leaves() { of->unguarded.fetch_sub(1, relaxed); }
      } const guard{this};
      locked.fetch_add(1, relaxed);
      switch (random.below(3)) {
        case 0: fiber_await(sleep_for(1us)); break;
        case 1: fiber_await(yield()); break;
        default: {
          auto nothing = [] {};
          fiber_await(offload(workers, nothing));
        }
      }
    } else {
      unguarded.fetch_sub(1, relaxed);
    }
  }

  /// Fibers of one loop, in scopes that are stopped after a while.
  auto crowd(std::size_t which) -> task<void> {
    random_source random(seed + which);
    for (std::size_t round = 0; round < testing::scaled(1'500); ++round) {
      auto family = [&](scope& all) -> task<void> {
        for (int i = 0; i < 6; ++i) all.spawn(one(random.below(1U << 30U), i % 2 == 0));
        co_await sleep_for(duration(static_cast<duration::rep>(random.below(200'000))));
        all.request_stop();
      };
      static_cast<void>(co_await as_outcome(with_scope(std::ref(family))));
    }
  }

  auto one(std::uint64_t own_seed, bool sends) -> task<void> {
    auto body = [this, own_seed, sends] {
      random_source random(own_seed);
      sends ? send(random) : receive(random);
    };
    co_await run_fiber(body);
  }
};

}  // namespace

TEST_CASE("fibers of two loops that are stopped at any moment lose no value and no lock, and leave no local behind") {
  if (!has_fibers()) return;
  const testing::watchdog guard(std::chrono::seconds(280));
  world all(testing::printed_seed());
  all.loops.run_on_each([&](std::size_t which) { return all.crowd(which); });
  auto rest = [&]() -> task<void> {
    all.line.close();
    while (co_await all.line.receive()) all.received.fetch_add(1, relaxed);
    const auto lock = co_await all.mutex.lock();
  };
  sync_wait(all.loops[0], rest());
  std::printf("%llu sent, %llu received, %llu locked\n", static_cast<unsigned long long>(all.sent.load(relaxed)),
              static_cast<unsigned long long>(all.received.load(relaxed)),
              static_cast<unsigned long long>(all.locked.load(relaxed)));
  CHECK(all.received.load(relaxed) == all.sent.load(relaxed));
  CHECK(all.wrong.load(relaxed) == 0);
  CHECK(all.unguarded.load(relaxed) == 0);
  CHECK(all.alive.load(relaxed) == 0);
}
