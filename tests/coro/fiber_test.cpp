// tests/coro/fiber_test.cpp: fibers on a loop that the test turns: waits, ends, stops, exceptions, stacks.
#include <braid/coro/fiber.hpp>

#include <braid/coro/bridge.hpp>
#include <braid/coro/channel.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/serial_executor.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/when_all.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <tests/support/child.hpp>
#include <tests/support/deaths.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace braid;
using testing::deaths;
using testing::manual_executor;
using testing::mortal;
using testing::test_loop;

namespace {

auto after(duration span, int value) -> task<int> {
  co_await sleep_for(span);
  co_return value;
}

auto throws_after(duration span) -> task<int> {
  co_await sleep_for(span);
  throw std::runtime_error("from the task");
}

/// A plain function at some depth that waits.
auto deep_wait(int depth) -> int {
  std::array<volatile char, 64> used{};
  used[static_cast<std::size_t>(depth) % used.size()] = 1;
  if (depth == 0) return fiber_await(after(1ms, 1));
  return deep_wait(depth - 1) + used[static_cast<std::size_t>(depth) % used.size()];
}

template <typename T>
auto sentence(const outcome<T>& ended) -> std::string {
  if (ended.is_stopped()) return "stopped";
  if (!ended.has_exception()) return "value";
  try {
    std::rethrow_exception(ended.exception());
  } catch (const std::exception& thrown) {
    return thrown.what();
  }
}

/// How a process ends that touches what it may not: by a signal, or as the sanitizer says.
auto died(const testing::child_end& end) -> bool { return end.signal != 0 || end.status != 0; }

}  // namespace

TEST_CASE("a build without fibers says so, and so does an attempt") {
  if (has_fibers()) return;
  test_loop here;
  const auto ended = here.run(run_fiber([] { return 1; }));
  CHECK(sentence(ended).find("Boost.Context") != std::string::npos);
}

TEST_CASE("a fiber gives what its function returns: values, references, nothing, and what cannot be copied") {
  if (!has_fibers()) return;
  test_loop here;
  int n = 5;
  CHECK(here.run(run_fiber([] { return 41 + 1; })).take() == 42);
  CHECK(&here.run(run_fiber([&]() -> int& { return n; })).take() == &n);
  CHECK(here.run(run_fiber([&] { n = 6; })).has_value());
  CHECK(n == 6);
  CHECK(*here.run(run_fiber([own = std::make_unique<int>(7)]() mutable { return std::move(own); })).take() == 7);
}

TEST_CASE("a wait at any depth suspends the fiber and not the thread") {
  if (!has_fibers()) return;
  test_loop here;
  int over = 0;
  auto one = [&]() -> task<void> {
    CHECK(co_await run_fiber([] { return deep_wait(100); }) == 101);
    ++over;
  };
  for (int i = 0; i < 50; ++i) here.io().spawn(one());
  CHECK(over == 0);
  here.advance(1100us);
  CHECK(over == 50);
}

TEST_CASE("a fiber knows that it is one, and nobody else does") {
  if (!has_fibers()) return;
  test_loop here;
  CHECK_FALSE(braid::detail::is_fiber());
  bool inside = false;
  bool beside = true;
  auto beside_it = [&]() -> task<void> {
    co_await yield();
    beside = braid::detail::is_fiber();
  };
  here.io().spawn(beside_it());
  auto body = [&] {
    inside = braid::detail::is_fiber();
    fiber_await(sleep_for(1ms));
    inside = inside && braid::detail::is_fiber();
  };
  CHECK(here.run_through(run_fiber(body), 200us).has_value());
  CHECK(inside);
  CHECK_FALSE(beside);
  CHECK_FALSE(braid::detail::is_fiber());
}

TEST_CASE("everything that a task can await can be awaited on a fiber") {
  if (!has_fibers()) return;
  test_loop here;
  pool workers({.workers = 1});
  event happened;
  async_mutex mutex;
  channel<std::string> line(1);
  auto sets = [&]() -> task<void> {
    co_await sleep_for(1ms);
    happened.set();
    CHECK(co_await line.send("sent"));
  };
  const auto caller = std::this_thread::get_id();
  auto body = [&] {
    scope& own = fiber_await(this_scope());
    own.spawn(sets());
    fiber_await(happened);
    auto held = fiber_await(mutex.lock());
    CHECK(fiber_await(line.receive()).value() == "sent");
    fiber_await(yield());
    auto computed = [&] { return std::this_thread::get_id() != caller; };
    CHECK(fiber_await(offload(workers, computed)));
    CHECK(fiber_await(offload(workers, computed)));
    CHECK(fiber_await(spawn(workers, computed)));
    const auto [a, b] = fiber_await(when_all(after(1ms, 1), after(2ms, 2)));
    CHECK(a + b == 3);
    CHECK(std::this_thread::get_id() == caller);
    return fiber_await(as_outcome(throws_after(1ms))).has_exception();
  };
  CHECK(here.run_through(run_fiber(body), 100us).take());
}

TEST_CASE("a fiber stays at home: what moves a task brings it back at once") {
  if (!has_fibers()) return;
  test_loop here;
  pool workers({.workers = 1});
  const auto caller = std::this_thread::get_id();
  auto body = [&] {
    for (int i = 0; i < 20; ++i) {
      fiber_await(schedule_on(workers));
      CHECK(std::this_thread::get_id() == caller);
      auto moves = [&]() -> task<int> {
        co_await schedule_on(workers);
        co_return 3;
      };
      CHECK(fiber_await(moves()) == 3);
      CHECK(std::this_thread::get_id() == caller);
    }
    return true;
  };
  CHECK(here.run(run_fiber(body)).take());
}

TEST_CASE("what is awaited and throws does so on the fiber, and what the fiber throws goes to who awaits it") {
  if (!has_fibers()) return;
  test_loop here;
  bool caught = false;
  auto body = [&]() -> int {
    try {
      fiber_await(throws_after(1ms));
    } catch (const std::runtime_error& thrown) {
      caught = std::string(thrown.what()) == "from the task";
    }
    throw std::logic_error("from the fiber");
  };
  CHECK(sentence(here.run_through(run_fiber(body), 200us)) == "from the fiber");
  CHECK(caught);
  CHECK(sentence(here.run(run_fiber([]() -> int { throw std::logic_error("at once"); }))) == "at once");
}

TEST_CASE("fibers that wait inside of handlers keep their own exceptions") {
  if (!has_fibers()) return;
  test_loop here;
  int right = 0;
  auto one = [&](int n) {
    return run_fiber([&, n] {
      try {
        throw n;
      } catch (int) {
        fiber_await(sleep_for((10 - n) * 1ms));  // others throw, wait and leave their handlers meanwhile
        try {
          throw;
        } catch (int again) {
          if (again == n && std::uncaught_exceptions() == 0) ++right;
        }
      }
    });
  };
  for (int n = 0; n < 10; ++n) here.io().spawn(one(n));
  CHECK(std::current_exception() == nullptr);
  for (int i = 0; i < 12; ++i) here.advance(1ms);
  CHECK(right == 10);
}

TEST_CASE("values that follow tasks follow fibers") {
  if (!has_fibers()) return;
  static constinit task_local<int> number;
  test_loop here;
  auto body = [] { return *fiber_await(number.get()); };
  CHECK(here.run(number.bind(9, run_fiber(body))).take() == 9);
}

TEST_CASE("a fiber within a fiber, and one that a fiber spawns, take turns with it") {
  if (!has_fibers()) return;
  test_loop here;
  std::string order;
  auto inner = [&] {
    order += "1";
    fiber_await(sleep_for(1ms));
    order += "4";
    return 5;
  };
  auto spawned = [&] {
    order += "2";
    fiber_await(sleep_for(2ms));
    order += "6";
  };
  auto family = [&](scope& all) -> task<void> {
    auto whole = [&] {
      order += "0";
      all.spawn(run_fiber(spawned));
      order += "3";
      const int five = fiber_await(run_fiber(inner));
      order += std::to_string(five);
    };
    co_await run_fiber(whole);
  };
  CHECK(here.run_through(with_scope(std::ref(family)), 100us).has_value());
  CHECK(order == "0231456");
}

TEST_CASE("fibers nest as deep as there is memory for their stacks") {
  if (!has_fibers()) return;
  test_loop here;
  struct nest {
    static auto down(int depth) -> int {
      if (depth == 0) return fiber_await(after(1ms, 0));
      return 1 + fiber_await(run_fiber([depth] { return down(depth - 1); }));
    }
  };
  CHECK(here.run_through(run_fiber([] { return nest::down(200); }), 100us).take() == 200);
}

TEST_CASE("fibers in a ring hand a value round by channels") {
  if (!has_fibers()) return;
  test_loop here;
  constexpr std::size_t size = 20;
  constexpr int rounds = 50;
  std::vector<std::unique_ptr<channel<int>>> lines;
  for (std::size_t i = 0; i < size; ++i) lines.push_back(std::make_unique<channel<int>>(1));
  auto ring = [&](scope& all) -> task<void> {
    for (std::size_t i = 0; i < size; ++i)
      all.spawn(run_fiber([&, i] {
        for (int round = 0; round < rounds; ++round) {
          const auto got = fiber_await(lines[i]->receive());
          REQUIRE(got.has_value());
          CHECK(fiber_await(lines[(i + 1) % size]->send(*got + 1)));
        }
      }));
    CHECK(co_await lines[0]->send(0));
  };
  CHECK(here.run(with_scope(std::ref(ring))).has_value());
  auto last = [&]() -> task<int> { co_return (co_await lines[0]->receive()).value(); };
  CHECK(here.run(last()).take() == static_cast<int>(size) * rounds);
}

TEST_CASE("of fibers that wait for a lock each has it alone, and one that is stopped leaves it to the next") {
  if (!has_fibers()) return;
  test_loop here;
  async_mutex mutex;
  int inside = 0;
  int max_count = 0;
  int served = 0;
  auto uses = [&] {
    const auto held = fiber_await(mutex.lock());
    max_count = std::max(max_count, ++inside);
    fiber_await(sleep_for(1ms));
    --inside;
    ++served;
  };
  scope stopped(here.io().root());
  here.io().spawn(run_fiber(uses));
  for (int i = 0; i < 5; ++i) stopped.spawn(run_fiber(uses));
  for (int i = 0; i < 5; ++i) here.io().spawn(run_fiber(uses));
  here.advance(500us);
  stopped.request_stop();
  for (int i = 0; i < 100 && served < 6; ++i) here.advance(1ms);
  here.run_once();
  CHECK(max_count == 1);
  CHECK(served == 6);
  CHECK(stopped.tasks() == 0);
}

TEST_CASE("a hundred thousand fibers one after another use the same stack") {
  if (!has_fibers()) return;
  test_loop here;
  const int count = testing::under_thread_sanitizer ? 5'000 : 100'000;
  std::uintptr_t lowest = UINTPTR_MAX;
  std::uintptr_t highest = 0;
  auto all = [&]() -> task<int> {
    int sum = 0;
    for (int i = 0; i < count; ++i) {
      auto body = [&] {
        const auto here_is = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
        lowest = std::min(lowest, here_is);
        highest = std::max(highest, here_is);
        if (i % 10 == 0) fiber_await(yield());
        return 1;
      };
      sum += co_await run_fiber(body);
    }
    co_return sum;
  };
  CHECK(here.run(all()).take() == count);
  CHECK(highest - lowest < fiber_options().stack_bytes);
}

TEST_CASE("many fibers at once each have their own stack, and all are given back") {
  if (!has_fibers()) return;
  test_loop here;
  constexpr int count = 2'000;
  int over = 0;
  auto one = [&] {
    std::array<volatile char, 4096> own{};
    for (auto& each : own) each = 1;
    fiber_await(sleep_for(1ms));
    over += own[17] + own[4000];
  };
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < count; ++i) here.io().spawn(run_fiber({.stack_bytes = 64 * 1024}, one));
    here.advance(1100us);
    for (int i = 0; i < 100 && over < 2 * count * (round + 1); ++i) here.run_once();
  }
  CHECK(over == 2 * count * 3);
}

TEST_CASE("a stack of another size is as large as was asked for") {
  if (!has_fibers()) return;
  test_loop here;
  auto body = [] {
    std::array<volatile char, 3'000'000> large{};
    for (std::size_t i = 0; i < large.size(); i += 4096) large[i] = 1;
    fiber_await(sleep_for(0ns));
    return large[4096] == 1;
  };
  CHECK(here.run(run_fiber({.stack_bytes = 4 * 1024 * 1024}, body)).take());
  CHECK(here.run_through(run_fiber({.stack_bytes = 0}, [] { return deep_wait(3); }), 100us).take() == 4);
}

TEST_CASE("a stack that cannot be had is an error of the task") {
  if (!has_fibers()) return;
  test_loop here;
  const auto ended = here.run(run_fiber({.stack_bytes = SIZE_MAX}, [] {}));
  CHECK(ended.has_exception());
  CHECK_THROWS_AS(std::rethrow_exception(ended.exception()), std::bad_alloc);
}

TEST_CASE("a function that needs more stack than there is ends the process at the guard") {
  if (!has_fibers()) return;
  struct endless {
    [[gnu::noinline]] static auto down(int n) -> int {
      std::array<volatile char, 512> used{};
      used[static_cast<std::size_t>(n) % used.size()] = 1;
      return n == -1 ? 0 : down(n + 1) + used[3];
    }
  };
  const auto end = testing::run_in_child([] {
    std::signal(SIGSEGV, SIG_DFL);
    test_loop here;
    static_cast<void>(here.run(run_fiber([] { return endless::down(0); })));
  });
  CHECK(died(end));
  if (!testing::under_address_sanitizer && !testing::under_thread_sanitizer) CHECK(end.signal == SIGSEGV);
}

TEST_CASE("a home that changes its thread has no fibers, and says so") {
  if (!has_fibers()) return;
  pool workers({.workers = 1});
  serial_executor where(workers);
  auto body = [] { return 1; };
  auto tries = [&]() -> task<std::error_code> {
    const auto ended = co_await as_outcome(run_fiber(body));
    try {
      std::rethrow_exception(ended.exception());
    } catch (const std::system_error& thrown) {
      co_return thrown.code();
    }
  };
  CHECK(sync_wait(where, tries()) == std::errc::operation_not_supported);
}

TEST_CASE("a wait outside of a fiber, and one while an exception is on its way, end the program with a sentence") {
  if (!has_fibers()) return;
  const auto outside = testing::run_in_child([] { fiber_await(yield()); });
  CHECK(outside.signal == SIGABRT);
  CHECK(outside.errors.find("start one with run_fiber") != std::string::npos);
  const auto on_its_way = testing::run_in_child([] {
    struct waits_when_it_goes {
      ~waits_when_it_goes() { fiber_await(yield()); }
    };
    test_loop here;
    static_cast<void>(here.run(run_fiber([] {
      const waits_when_it_goes local;
      throw std::runtime_error("on its way");
    })));
  });
  CHECK(on_its_way.signal == SIGABRT);
  CHECK(on_its_way.errors.find("while an exception is being handled") != std::string::npos);
}

TEST_CASE("a fiber that is never awaited does not begin, and its function goes") {
  deaths ends;
  {
    const auto unused = run_fiber([own = std::make_shared<mortal>(ends)] {});
  }
  CHECK(ends.count == 1);
}
