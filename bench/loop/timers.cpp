// bench/loop/timers.cpp: timers of a millisecond that are armed at once, as callbacks and as coroutines, from the first
// arming to the last firing; and arming and disarming among many that are pending.
#include <bench/harness/moment.hpp>
#include <bench/harness/rounds.hpp>
#include <bench/loop/contenders.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/io/loop.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

using bench::timers_result;
using std::chrono::milliseconds;

struct counting : braid::timer {
  counting() noexcept : timer(&fired) {}
  static void fired(timer& self) noexcept {
    auto& mine = static_cast<counting&>(self);
    ++mine.result->fired;
    if (bench::now_ns() < mine.due_ns) ++mine.result->early;
    if (mine.result->fired == mine.expected) mine.io->stop();
  }

  std::int64_t due_ns = 0;
  timers_result* result = nullptr;
  std::size_t expected = 0;
  braid::loop* io = nullptr;
};

auto by_callbacks(braid::io_backend_kind kind, std::size_t count) -> timers_result {
  const auto io = braid::loop::create({.backend = kind}).value();
  timers_result result;
  std::vector<counting> all(count);
  io->run([&] {
    for (counting& each : all) {
      each.result = &result;
      each.expected = count;
      each.io = io.get();
      const braid::time_point due = io->now() + milliseconds(1);
      each.due_ns = due.time_since_epoch().count();
      io->arm(each, due);
    }
  });
  return result;
}

auto sleeper(braid::loop& io, timers_result& result, std::size_t expected) -> braid::task<void> {
  const std::int64_t due_ns = bench::now_ns() + 1'000'000;
  co_await braid::sleep_for(milliseconds(1));
  ++result.fired;
  if (bench::now_ns() < due_ns) ++result.early;
  if (result.fired == expected) io.stop();
}

auto by_coroutines(braid::io_backend_kind kind, std::size_t count) -> timers_result {
  const auto io = braid::loop::create({.backend = kind}).value();
  timers_result result;
  io->run([&] {
    for (std::size_t i = 0; i < count; ++i) io->spawn(sleeper(*io, result, count));
  });
  return result;
}

/// Fired timers, or nothing where one was early.
auto checked(const timers_result& result, bool may_be_early) -> std::uint64_t {
  return result.early == 0 || may_be_early ? result.fired : 0;
}

void compare_timers(const char* name, std::size_t count, unsigned rounds) {
  const auto ours = [count](auto run, braid::io_backend_kind kind) {
    return [=](unsigned) { return bench::timed([&] { return checked(run(kind, count), false); }); };
  };
  using enum braid::io_backend_kind;
  std::vector<bench::contender> all{{"uring", ours(&by_callbacks, uring)},
                                    {"epoll", ours(&by_callbacks, epoll)},
                                    {"uring, tasks", ours(&by_coroutines, uring)},
                                    {"epoll, tasks", ours(&by_coroutines, epoll)}};
#if defined(BENCH_UV)
  all.push_back({"libuv (early)", [count](unsigned) {
                   return bench::timed([&] { return checked(bench::timers_by_uv(count), true); });
                 }});
#endif
#if defined(BENCH_ASIO)
  all.push_back({"Boost.Asio", [count](unsigned) {
                   return bench::timed([&] { return checked(bench::timers_by_asio(count), false); });
                 }});
#endif
  bench::compare({.name = name, .items = double(count), .expected = count}, 1, rounds, all);
}

/// Arms and disarms timers of a wheel in which so many others are pending.
void measure_pending(std::size_t pending, unsigned rounds) {
  constexpr std::size_t turns = 100'000;
  const braid::time_point start = braid::steady_time().now();
  braid::timer_wheel wheel(start);
  std::vector<counting> all(pending);
  const auto due = [&](std::size_t i) {
    return start + milliseconds(10) + std::chrono::microseconds(i * 7 % 60'000'000);
  };
  for (std::size_t i = 0; i < pending; ++i) wheel.arm(all[i], due(i));
  double best = 1e9;
  for (unsigned round = 0; round < rounds; ++round) {
    const bench::sample once = bench::timed([&] {
      for (std::size_t i = 0; i < turns; ++i) {
        counting& each = all[i * 7919 % pending];
        wheel.disarm(each);
        wheel.arm(each, due(i));
      }
      return std::uint64_t{0};
    });
    best = std::min(best, once.ns / turns);
  }
  std::printf("a timer disarmed and armed again, %zu pending: %.1f ns\n", pending, best);
  for (counting& each : all) wheel.disarm(each);
}

}  // namespace

auto main(int argc, char** argv) -> int {
  const bench::options how = bench::parse(argc, argv, {.size = 10'000}, "timers");
  compare_timers("loop/timers, 1 ms", how.size, how.rounds);
  compare_timers("loop/fan_out, 1 ms", how.size / 10, how.rounds);
  for (const std::size_t pending : {std::size_t{1'000}, std::size_t{100} * how.size})
    measure_pending(pending, how.rounds);
}
