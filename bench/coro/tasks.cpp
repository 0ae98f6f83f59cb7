// bench/coro/tasks.cpp: what tasks cost: awaits, frames, locks, and crowds of tasks that are spawned, yield and talk.
#include <bench/harness/rounds.hpp>

#include <braid/coro/async_latch.hpp>
#include <braid/coro/async_mutex.hpp>
#include <braid/coro/bridge.hpp>
#include <braid/coro/channel.hpp>
#include <braid/coro/oneshot.hpp>
#include <braid/coro/strand_home.hpp>
#include <braid/coro/sync_wait.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/coro/yield.hpp>
#include <braid/task/pool.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace {

using bench::contender;
using bench::sample;
using braid::scope;
using braid::task;

struct count {
  std::uint64_t value = 0;
};

/// What a crowd does in a scope of its own.
using crowd = std::function<void(scope& all, count& done, unsigned size)>;

/// Runs a crowd on one home on the pool. The clock runs from the first spawn until all have ended, at home.
auto measured(const crowd& begin, unsigned size) -> task<sample> {
  count done;
  const auto start = std::chrono::steady_clock::now();
  auto family = [&](scope& all) -> task<void> {
    begin(all, done, size);
    co_return;
  };
  co_await braid::with_scope(std::ref(family));
  const auto end = std::chrono::steady_clock::now();
  co_return sample{std::chrono::duration<double, std::nano>(end - start).count(), done.value};
}

auto at_one_home(crowd begin, unsigned size) -> contender {
  return {"one home", [begin = std::move(begin), size](unsigned workers) {
            braid::pool pool({.workers = workers});
            braid::strand_home where(pool);
            return braid::sync_wait(where, measured(begin, size));
          }};
}

auto serial(unsigned size) -> contender {
  return {"serial loop", [size](unsigned) {
            return bench::timed([size] {
              std::uint64_t n = 0;
              for (unsigned i = 0; i < size; ++i) {
                ++n;
                asm volatile("" : "+r"(n));  // not to be looked through
              }
              return n;
            });
          }};
}

auto add_one(count& done) -> task<void> {
  ++done.value;
  co_return;
}

auto later_add_one(count& done) -> task<void> {
  co_await braid::yield();
  ++done.value;
}

/// Not to be looked through: its frame would be left out.
[[gnu::noinline]] auto ready() -> task<std::uint64_t> { co_return 1; }

auto ready_awaits(unsigned size) -> contender {
  return {"ready await", [size](unsigned) {
            auto body = [size]() -> task<std::uint64_t> {
              std::uint64_t sum = 0;
              for (unsigned i = 0; i < size; ++i) sum += co_await ready();
              co_return sum;
            };
            return bench::timed([&] { return braid::sync_wait(body()); });
          }};
}

auto frames(unsigned size) -> contender {
  return {"frame", [size](unsigned) {
            return bench::timed([size] {
              std::uint64_t made = 0;
              for (unsigned i = 0; i < size; ++i) {
                const task<std::uint64_t> unused = ready();
                made += unused ? 1 : 0;
              }
              return made;
            });
          }};
}

auto std_locks(unsigned size) -> contender {
  return {"std::mutex", [size](unsigned) {
            return bench::timed([size] {
              std::mutex mutex;
              std::uint64_t n = 0;
              for (unsigned i = 0; i < size; ++i) {
                const std::lock_guard held(mutex);
                ++n;
                asm volatile("" : "+r"(n));
              }
              return n;
            });
          }};
}

auto async_locks(unsigned size) -> contender {
  auto lock_all = [](count& done, unsigned times) -> task<void> {
    braid::async_mutex mutex;
    for (unsigned i = 0; i < times; ++i) {
      const auto held = co_await mutex.lock();
      ++done.value;
    }
  };
  auto made =
      at_one_home([lock_all](scope& all, count& done, unsigned times) { all.spawn(lock_all(done, times)); }, size);
  made.name = "async_mutex";
  return made;
}

auto through_channel(unsigned size) -> contender {
  auto begin = [](scope& all, count& done, unsigned values) {
    struct end_to_end {
      braid::channel<unsigned> line{64};
      static auto run(count& done, unsigned values) -> task<void> {
        end_to_end both;
        auto family = [&](scope& ends) -> task<void> {
          ends.spawn(both.send(values));
          ends.spawn(both.receive(done));
          co_return;
        };
        co_await braid::with_scope(std::ref(family));
      }
      auto send(unsigned values) -> task<void> {
        for (unsigned i = 0; i < values; ++i) static_cast<void>(co_await line.send(i));
        line.close();
      }
      auto receive(count& done) -> task<void> {
        while (co_await line.receive()) ++done.value;
      }
    };
    all.spawn(end_to_end::run(done, values));
  };
  auto made = at_one_home(begin, size);
  made.name = "channel";
  return made;
}

/// Each task on a home of its own, all over the workers; from outside.
auto at_own_homes(unsigned size) -> contender {
  return {"own homes", [size](unsigned workers) {
            braid::pool pool({.workers = workers});
            return bench::timed([&] {
              std::vector<braid::future<void>> all;
              all.reserve(size);
              auto nothing = []() -> task<void> { co_return; };
              for (unsigned i = 0; i < size; ++i) all.push_back(braid::spawn_future(pool, nothing()));
              for (auto& one : all) one.get();
              return std::uint64_t{size};
            });
          }};
}

void spawn_many(scope& all, count& done, unsigned size) {
  for (unsigned i = 0; i < size; ++i) all.spawn(add_one(done));
}

void spawn_many_later(scope& all, count& done, unsigned size) {
  for (unsigned i = 0; i < size; ++i) all.spawn(later_add_one(done));
}

auto yield_often(count& done) -> task<void> {
  for (int i = 0; i < 200; ++i) {
    co_await braid::yield();
    ++done.value;
  }
}

void yield_many(scope& all, count& done, unsigned size) {
  for (unsigned i = 0; i < size; ++i) all.spawn(yield_often(done));
}

auto chain_on(scope& all, count& done, unsigned left) -> task<void> {
  co_await braid::yield();
  ++done.value;
  if (left > 1) all.spawn(chain_on(all, done, left - 1));
}

void chained_spawn(scope& all, count& done, unsigned size) { all.spawn(chain_on(all, done, size)); }

auto pong(braid::oneshot_receiver<int> from, braid::oneshot_sender<int> to) -> task<void> {
  static_cast<void>(co_await from.receive());
  static_cast<void>(to.send(1));
}

auto ping(scope& all, count& done) -> task<void> {
  auto there = braid::make_oneshot<int>();
  auto back = braid::make_oneshot<int>();
  all.spawn(pong(std::move(there.second), std::move(back.first)));
  static_cast<void>(there.first.send(1));
  static_cast<void>(co_await back.second.receive());
  ++done.value;
}

void ping_pong(scope& all, count& done, unsigned size) {
  for (unsigned i = 0; i < size; ++i) all.spawn(ping(all, done));
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const auto how = bench::parse(count, arguments, {.size = 1000}, "tasks of the smaller crowds; the others follow");
  const unsigned many = 10 * how.size;
  const unsigned calls = 100 * how.size;
  const unsigned turns = 200 * how.size;
  bench::compare({"coro/calls", 1.0 * calls, calls}, 1, how.rounds,
                 {serial(calls), frames(calls), ready_awaits(calls), std_locks(calls), async_locks(calls),
                  through_channel(calls)});
  bench::compare_all({"coro/spawn_many_local", 1.0 * many, many}, how,
                     {at_one_home(spawn_many, many),
                      [&] {
                        auto later = at_one_home(spawn_many_later, many);
                        later.name = "begin later";
                        return later;
                      }(),
                      at_own_homes(many)});
  bench::compare_all({"coro/ping_pong", 1.0 * how.size, how.size}, how, {at_one_home(ping_pong, how.size)});
  bench::compare_all({"coro/yield_many", 1.0 * turns, turns}, how, {at_one_home(yield_many, how.size)});
  bench::compare_all({"coro/chained_spawn", 1.0 * how.size, how.size}, how, {at_one_home(chained_spawn, how.size)});
  return 0;
}
