// tests/coro/serial_executor_stress.cpp: homes on pools that come and go, with tasks that sleep, talk and are cut off.
#include <braid/base/random.hpp>
#include <braid/coro/bridge.hpp>
#include <braid/coro/channel.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/serial_executor.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <system_error>
#include <utility>
#include <vector>

using namespace braid;

namespace {

/// Every local that came to life must die.
struct ledger {
  atomic<std::uint64_t> born{0};  // written by all
  atomic<std::uint64_t> died{0};  // written by all
};

struct local {
  explicit local(ledger& l) noexcept : in(&l) { in->born.fetch_add(1, relaxed); }
  local(const local&) = delete;
  auto operator=(const local&) -> local& = delete;
  ~local() { in->died.fetch_add(1, relaxed); }
  ledger* in;
};

auto work(pool& on, channel<int>& line, ledger& counts, std::uint64_t kind) -> task<int> {
  const local here(counts);
  switch (kind) {
    case 0: co_await sleep_for(10us); break;
    case 1: static_cast<void>(co_await line.send(1)); break;
    case 2: static_cast<void>(co_await line.receive()); break;
    case 3: co_await spawn(on, [] {}); break;
    default:
      for (int i = 0; i < 100; ++i) co_await yield();
      break;
  }
  co_return 1;
}

/// Gives how many tasks have ended with a value.
auto one_pool(random_source& random, ledger& counts) -> std::size_t {
  channel<int> line(2);
  std::vector<future<int>> all;
  std::size_t values = 0;
  {
    pool::options options;
    options.workers = 1 + static_cast<unsigned>(random.below(3));
    pool workers(std::move(options));
    serial_executor shared(workers);
    const bool cut_off = random.below(2) == 0;
    for (int i = 0; i < 40; ++i) {
      auto next = work(workers, line, counts, random.below(5));
      if (random.below(2) == 0)
        all.push_back(spawn(workers, std::move(next)));
      else
        all.push_back(spawn(shared, std::move(next)));
    }
    if (cut_off) CHECK(workers.shutdown(random.below(2) == 0 ? shutdown_mode::drain : shutdown_mode::drop_pending));
    line.close();
    for (auto& one : all) {
      try {
        values += static_cast<std::size_t>(one.get());
      } catch (const std::system_error&) {}
    }
    if (!cut_off) CHECK(values == all.size());
  }
  return values;
}

}  // namespace

TEST_CASE("every task ends and every local dies, on pools that run, drain or drop") {
  const testing::watchdog guard(std::chrono::seconds(250));
  random_source random(testing::printed_seed());
  ledger counts;
  std::size_t values = 0;
  for (std::size_t round = testing::scaled(300); round > 0; --round) values += one_pool(random, counts);
  std::printf("%zu tasks gave a value\n", values);
  CHECK(counts.born.load(relaxed) == counts.died.load(relaxed));
  CHECK(values > 0);
}
