// bench/coro/braid.cpp: what tasks cost: awaits, frames, locks, and crowds of tasks that are spawned, yield and talk.
#include <bench/coro/remote_crowds.hpp>
#include <bench/coro/spread_crowds.hpp>
#include <bench/harness/program.hpp>

#include <braid/coro/bridge.hpp>
#include <braid/coro/channel.hpp>
#include <braid/coro/fiber.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/serial_executor.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/task/pool.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace {

using bench::parameters;
using bench::sample;
using braid::scheduler;
using braid::scope;
using braid::task;

struct count {
  std::uint64_t value = 0;
};

/// What a crowd does in a scope of its own.
using crowd = std::function<void(scope& all, count& done, unsigned size)>;

/// Runs a crowd on one home. Gives how many it has counted when all have ended, at home.
auto counted(const crowd& begin, unsigned size) -> task<std::uint64_t> {
  count done;
  auto family = [&](scope& all) -> task<void> {
    begin(all, done, size);
    co_return;
  };
  co_await braid::with_scope(std::ref(family));
  co_return done.value;
}

/// A crowd of so many on one home on a pool, with so many things done by each. From the first spawn to the last end.
auto at_one_home(const parameters& given, const crowd& begin, unsigned size, unsigned each = 1,
                 scheduler chosen = scheduler::work_stealing) -> sample {
  braid::pool pool({.workers = given.workers(), .scheduler = chosen});
  braid::serial_executor where(pool);
  auto timed = [&]() -> task<sample> {
    const auto from = std::chrono::steady_clock::now();
    const std::uint64_t done = co_await counted(begin, size);
    const std::chrono::duration<double, std::nano> wall = std::chrono::steady_clock::now() - from;
    co_return sample{
        .items = 1.0 * size * each, .wall_ns = wall.count(), .is_right = done == std::uint64_t{size} * each};
  };
  return braid::sync_wait(where, timed());
}

auto size_of(const parameters& given, const char* name, unsigned otherwise) -> unsigned {
  return static_cast<unsigned>(given.number(name, otherwise));
}

auto serial(const parameters& given) -> sample {
  const std::uint64_t size = given.number("calls", 100'000);
  return bench::timed(static_cast<double>(size), size, [size] {
    std::uint64_t n = 0;
    for (std::uint64_t i = 0; i < size; ++i) {
      ++n;
      asm volatile("" : "+r"(n));  // not to be looked through
    }
    return n;
  });
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

auto ready_awaits(const parameters& given) -> sample {
  const std::uint64_t size = given.number("calls", 100'000);
  auto body = [size]() -> task<std::uint64_t> {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < size; ++i) sum += co_await ready();
    co_return sum;
  };
  return bench::timed(static_cast<double>(size), size, [&] { return braid::sync_wait(body()); });
}

auto frames(const parameters& given) -> sample {
  const std::uint64_t size = given.number("calls", 100'000);
  return bench::timed(static_cast<double>(size), size, [size] {
    std::uint64_t made = 0;
    for (std::uint64_t i = 0; i < size; ++i) {
      const task<std::uint64_t> unused = ready();
      made += unused ? 1 : 0;
    }
    return made;
  });
}

auto std_locks(const parameters& given) -> sample {
  const std::uint64_t size = given.number("calls", 100'000);
  return bench::timed(static_cast<double>(size), size, [size] {
    std::mutex mutex;
    std::uint64_t n = 0;
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::lock_guard held(mutex);
      ++n;
      asm volatile("" : "+r"(n));
    }
    return n;
  });
}

auto lock_all(count& done, unsigned times) -> task<void> {
  braid::async_mutex mutex;
  for (unsigned i = 0; i < times; ++i) {
    const auto held = co_await mutex.lock();
    ++done.value;
  }
}

auto async_locks(const parameters& given) -> sample {
  const crowd begin = [](scope& all, count& done, unsigned times) { all.spawn(lock_all(done, times)); };
  return at_one_home(given, begin, size_of(given, "calls", 100'000));
}

struct both_ends {
  braid::channel<unsigned> line{64};

  static auto run(count& done, unsigned values) -> task<void> {
    both_ends both;
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

auto through_channel(const parameters& given) -> sample {
  const crowd begin = [](scope& all, count& done, unsigned values) { all.spawn(both_ends::run(done, values)); };
  return at_one_home(given, begin, size_of(given, "calls", 100'000));
}

/// Something that is there already, but that is found only after the wait has begun.
struct no_wait {
  [[nodiscard]] auto await_ready() const noexcept -> bool { return false; }
  [[nodiscard]] auto await_suspend(std::coroutine_handle<> /*self*/) const noexcept -> bool { return false; }
  void await_resume() const noexcept {}
};

/// Runs a task on a loop that times itself.
auto on_a_loop(task<sample> timed) -> sample {
  return braid::runtime::create({.workers = 1}).value()->run(std::move(timed));
}

/// Each wait is two switches, with what the runtime does around them.
auto fiber_switches(const parameters& given) -> sample {
  const std::uint64_t size = given.number("calls", 100'000);
  auto body = [size] {
    return bench::timed(static_cast<double>(size), size, [size] {
      std::uint64_t switches = 0;
      for (; switches < size; switches += 2) braid::fiber_await(no_wait());
      return switches;
    });
  };
  return on_a_loop(braid::run_fiber(body));
}

auto fibers(const parameters& given) -> sample {
  const std::uint64_t size = given.number("calls", 100'000);
  auto body = [] { return std::uint64_t{1}; };
  auto all = [&]() -> task<sample> {
    std::uint64_t sum = 0;
    const auto from = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < size; ++i) sum += co_await braid::run_fiber(body);
    const std::chrono::duration<double, std::nano> wall = std::chrono::steady_clock::now() - from;
    co_return sample{.items = static_cast<double>(size), .wall_ns = wall.count(), .is_right = sum == size};
  };
  return on_a_loop(all());
}

/// Each task on a home of its own, all over the workers; from outside.
template <scheduler Chosen>
auto at_own_homes(const parameters& given) -> sample {
  const unsigned size = size_of(given, "tasks", 10'000);
  braid::pool pool({.workers = given.workers(), .scheduler = Chosen});
  return bench::timed(1.0 * size, size, [&] {
    std::vector<braid::future<void>> all;
    all.reserve(size);
    auto nothing = []() -> task<void> { co_return; };
    for (unsigned i = 0; i < size; ++i) all.push_back(braid::spawn(pool, nothing()));
    for (auto& one : all) one.get();
    return size;
  });
}

void spawn_many(scope& all, count& done, unsigned size) {
  for (unsigned i = 0; i < size; ++i) all.spawn(add_one(done));
}

void spawn_many_later(scope& all, count& done, unsigned size) {
  for (unsigned i = 0; i < size; ++i) all.spawn(later_add_one(done));
}

constexpr unsigned yields = 200;

auto yield_often(count& done) -> task<void> {
  for (unsigned i = 0; i < yields; ++i) {
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

using solutions = std::vector<bench::solution>;

void add_pieces(solutions& to) {
  to.push_back({"calls", bench::reference("serial"), serial});
  to.push_back({"calls", bench::reference("std::mutex"), std_locks});
  to.push_back({"calls", bench::braid_contender("braid frame"), frames});
  to.push_back({"calls", bench::braid_contender("braid ready await"), ready_awaits});
  to.push_back({"calls", bench::braid_contender("braid async_mutex"), async_locks});
  to.push_back({"calls", bench::braid_contender("braid channel"), through_channel});
  if (!braid::has_fibers()) return;
  to.push_back({"calls", bench::braid_contender("braid fiber switch"), fiber_switches});
  to.push_back({"calls", bench::braid_contender("braid fiber"), fibers});
}

/// Each crowd from outside, where `Place` says, and those that spread from a task there.
template <typename Place>
void add_remote_crowds(solutions& to, const bench::contender& name) {
  to.push_back({"ping_pong", name, bench::spread_ping_pong<Place>});
  to.push_back({"yield_many", name, bench::spread_yield_many<Place>});
  to.push_back({"chained_spawn", name, bench::spread_chained_spawn<Place>});
  to.push_back({"spawn_many_remote_idle", name, bench::spawn_many_remote_idle<Place>});
  to.push_back({"spawn_many_remote_busy1", name, bench::spawn_many_remote_busy1<Place>});
  to.push_back({"spawn_many_remote_busy2", name, bench::spawn_many_remote_busy2<Place>});
}

/// All crowds on pools with this scheduler: at one home, and at homes of their own.
template <scheduler Chosen>
void add_crowds(solutions& to, const std::string& home_name, const std::string& homes_name) {
  const bench::contender one_home = bench::braid_contender(home_name);
  const bench::contender own_homes = bench::braid_contender(homes_name);
  const auto at_home = [](crowd begin, unsigned otherwise, unsigned each = 1) {
    return [=](const parameters& given) {
      return at_one_home(given, begin, size_of(given, "tasks", otherwise), each, Chosen);
    };
  };
  to.push_back({"spawn_many_local", one_home, at_home(spawn_many, 10'000)});
  to.push_back({"spawn_many_local", own_homes, at_own_homes<Chosen>});
  to.push_back({"ping_pong", one_home, at_home(ping_pong, 1'000)});
  to.push_back({"yield_many", one_home, at_home(yield_many, 1'000, yields)});
  to.push_back({"chained_spawn", one_home, at_home(chained_spawn, 1'000)});
  if (Chosen == scheduler::work_stealing)
    to.push_back({"spawn_many_local", bench::braid_contender("braid begin later"), at_home(spawn_many_later, 10'000)});
  add_remote_crowds<bench::on_pool<Chosen>>(to, own_homes);
}

}  // namespace

auto main(int count, char** arguments) -> int {
  solutions all;
  add_pieces(all);
  add_crowds<scheduler::work_stealing>(all, "braid", "braid own homes");
  add_crowds<scheduler::shared_queue>(all, "braid shared_queue", "braid shared_queue, own homes");
  add_crowds<scheduler::least_loaded>(all, "braid least_loaded", "braid least_loaded, own homes");
  add_remote_crowds<bench::on_merged_runtime>(all, bench::braid_contender("braid merged"));
  return bench::run_program(count, arguments, "coro", all);
}
