// tests/coro/serial_executor_test.cpp: tasks at home on the threads of a pool.
#include <braid/coro/serial_executor.hpp>

#include <braid/coro/schedule_on.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/pool.hpp>

#include <tests/support/deaths.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/queue_executor.hpp>
#include <tests/support/sleeper.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

using namespace braid;
using testing::deaths;
using testing::manual_executor;
using testing::mortal;

namespace {

auto with_workers(unsigned count) -> pool::options {
  pool::options options;
  options.workers = count;
  return options;
}

auto sleep_long(mortal /*held*/) -> task<void> { co_await sleep_for(1h); }

/// Timers that do something just before one is taken back.
struct silenced final : braid::detail::shared_timers {
  using braid::detail::shared_timers::shared_timers;
  void disarm(timer& item) noexcept override {
    if (before) std::exchange(before, nullptr)();
    braid::detail::shared_timers::disarm(item);
  }

  std::function<void()> before;
};

}  // namespace

TEST_CASE("tasks wait, share and end there like at home on a loop") {
  pool workers(with_workers(2));
  serial_executor where(workers);
  event happened;
  int plain = 0;
  auto add = [&]() -> task<void> {
    co_await happened;
    for (int i = 0; i < 100; ++i) {
      ++plain;
      co_await yield();
    }
  };
  auto family = [&](scope& children) -> task<void> {
    for (int i = 0; i < 10; ++i) children.spawn(add());
    co_await sleep_for(1ms);
    happened.set();
  };
  sync_wait(where, with_scope(family));
  CHECK(plain == 1000);
}

TEST_CASE("a job's own posts come after those that other threads have made before") {
  manual_executor there;
  {
    serial_executor where(there);
    std::string order;
    auto first = [&] {
      std::thread([&] { CHECK(post(where, [&] { order += 'a'; })); }).join();
      CHECK(post(where, [&] { order += 'b'; }));
      std::thread([&] { CHECK(post(where, [&] { order += 'c'; })); }).join();
      CHECK(post(where, [&] { order += 'd'; }));
    };
    REQUIRE(post(where, first));
    there.run_all();
    CHECK(order == "abcd");
    there.close();
  }
}

TEST_CASE("a task resumes on workers only, and knows when it is at home") {
  pool workers(with_workers(1));
  serial_executor where(workers);
  auto body = [&]() -> task<bool> {
    const bool before = where.is_current() && workers.is_current();
    co_await sleep_for(1us);
    co_return before&& where.is_current() && workers.is_current();
  };
  CHECK_FALSE(where.is_current());
  CHECK(sync_wait(where, body()));
}

TEST_CASE("steps run one at a time, and other work of the executor goes first after some") {
  manual_executor there;
  {
    serial_executor where(there);
    int steps = 0;
    auto body = [&]() -> task<void> {
      for (; steps < 100; ++steps) co_await yield();
    };
    auto start = [&] { where.root().spawn(body()); };
    REQUIRE(post(where, start));
    REQUIRE(there.pending() == 1);
    there.run();
    CHECK(steps < 100);
    REQUIRE(there.pending() == 1);
    there.run_all();
    CHECK(steps == 100);
    there.close();  // the end of the home needs a turn, which is then the caller's
  }
}

TEST_CASE("a turn takes many short steps, and few long ones") {
  manual_clock clock;
  braid::detail::shared_timers timers(clock);
  manual_executor there;
  {
    serial_executor where(there, timers);
    int steps = 0;
    bool over = false;
    duration each{};
    auto body = [&]() -> task<void> {
      while (!over) {
        ++steps;
        clock.advance(each);
        co_await yield();
      }
    };
    auto start = [&] { where.root().spawn(body()); };
    REQUIRE(post(where, start));
    const auto in_a_drain_of = [&](duration length) {
      each = length;
      const int before = steps;
      there.run();
      CHECK(there.pending() == 1);
      return steps - before;
    };
    CHECK(in_a_drain_of(0us) == 64);
    for (int i = 0; i < 3; ++i) CHECK(in_a_drain_of(1ms) == 64);  // nobody looks at the clock, because steps were short
    CHECK(in_a_drain_of(1ms) == 32);
    CHECK(in_a_drain_of(1ms) == 2);
    CHECK(in_a_drain_of(60us) == 4);
    CHECK(in_a_drain_of(10us) == 16);
    for (int i = 0; i < 10; ++i) CHECK(in_a_drain_of(1us) == 64);
    for (int i = 0; i < 4; ++i) static_cast<void>(in_a_drain_of(1ms));
    CHECK(in_a_drain_of(1ms) == 2);
    over = true;
    there.run_all();
    there.close();
  }
}

TEST_CASE("what comes from elsewhere is not shut out by tasks that yield for ever") {
  manual_executor there;
  {
    serial_executor where(there);
    bool enough = false;
    auto greedy = [&]() -> task<void> {
      while (!enough) co_await yield();
    };
    auto start = [&] { where.root().spawn(greedy()); };
    REQUIRE(post(where, start));
    there.run();
    REQUIRE(post(where, [&] { enough = true; }));
    for (int turns = 0; turns < 3 && there.pending() != 0; ++turns) there.run();
    CHECK(enough);
    CHECK(there.pending() == 0);
    there.close();
  }
}

TEST_CASE("the end of a home stops its tasks and waits for them") {
  pool workers(with_workers(1));
  deaths seen;
  {
    serial_executor where(workers);
    auto start = [&] { where.root().spawn(sleep_long(mortal(seen))); };
    REQUIRE(post(where, start));
  }
  CHECK(seen.count == 1);
}

TEST_CASE("the end of a home waits for its tasks before it silences the alarm, and for what that has posted") {
  manual_clock clock;
  silenced timers(clock);
  testing::queue_executor there;
  deaths seen;
  bool tasks_had_ended = false;
  auto where = std::make_unique<serial_executor>(there, timers);
  REQUIRE(post(*where, [&] { where->root().spawn(sleep_long(mortal(seen))); }));
  there.work();
  timers.before = [&] {
    tasks_had_ended = seen.count == 1;
    clock.advance(2h);
    timers.run_once();  // the alarm rings at the last moment, and posts
  };
  const std::size_t posts = there.posts();
  const testing::sleeper ends([&] { where.reset(); });
  REQUIRE(testing::eventually([&] { return there.posts() == posts + 1; }));
  there.work();
  REQUIRE(testing::eventually([&] { return there.posts() == posts + 2; }));
  CHECK(ends.falls_asleep());  // in a home that has posted, and may not go before that has run
  CHECK(tasks_had_ended);
  there.work();
}

TEST_CASE("timers that are given decide when a sleep ends") {
  manual_clock clock;
  braid::detail::shared_timers timers(clock);
  manual_executor there;
  {
    serial_executor where(there, timers);
    std::string woken;
    auto sleeper = [&](char name, duration span) -> task<void> {
      co_await sleep_for(span);
      woken += name;
    };
    auto start = [&] {
      where.root().spawn(sleeper('c', 3ms));
      where.root().spawn(sleeper('a', 1ms));
      where.root().spawn(sleeper('b', 2ms));
      where.root().spawn(sleeper('0', 0ms));
    };
    REQUIRE(post(where, start));
    there.run_all();
    CHECK(woken == "0");
    for (const char* const expected : {"0a", "0ab", "0abc"}) {
      clock.advance(1ms + 100us);
      CHECK(there.pending() == 0);
      timers.run_once();
      there.run_all();
      CHECK(woken == expected);
    }
    there.close();
  }
}

TEST_CASE("after long steps a home lets others go first, by the clock of its timers") {
  manual_clock clock;
  braid::detail::shared_timers timers(clock);
  manual_executor there;
  {
    serial_executor where(there, timers);
    int steps = 0;
    auto walks = [&]() -> task<void> {
      for (int i = 0; i < 10; ++i) {
        clock.advance(serial_executor::max_drain);
        ++steps;
        co_await yield();
      }
    };
    REQUIRE(post(where, [&] { where.root().spawn(walks()); }));
    for (int before = 0; there.pending() != 0; before = steps) {
      there.run();
      CHECK(steps - before <= 2);
    }
    CHECK(steps == 10);
    there.close();
  }
}

TEST_CASE("a pool that shuts down stops the tasks of its homes where it meets them") {
  for (const auto mode : {shutdown_mode::drain, shutdown_mode::drop_pending}) {
    pool workers(with_workers(1));
    deaths seen;
    serial_executor where(workers);
    atomic<bool> sleeps{false};
    atomic<bool> over{false};
    auto sleeper = [&]() -> task<void> {
      const mortal local(seen);
      sleeps.store(true, relaxed);
      while (true) co_await sleep_for(1ms);
    };
    auto body = [&]() -> task<void> {
      CHECK((co_await as_outcome(sleeper())).is_stopped());
      over.store(true,
                 release);  // edge serial_executor_test.over: publish; on the thread that was told, whichever it is
    };
    auto start = [&] { where.root().spawn(body()); };
    REQUIRE(post(where, start));
    REQUIRE(testing::eventually([&] { return sleeps.load(relaxed); }));
    REQUIRE(workers.shutdown(mode));
    CHECK(testing::eventually([&] { return !post(where, [] {}).has_value(); }));
    // edge serial_executor_test.over: observe
    CHECK(testing::eventually([&] { return over.load(acquire); }));
    CHECK(seen.count == 1);
  }
}

TEST_CASE("where the executor drops a drain the tasks are stopped there, and nothing more is accepted") {
  manual_executor there;
  serial_executor where(there);
  event never;
  deaths ended;
  auto waits = [&](mortal /*held*/) -> task<void> { co_await never; };
  REQUIRE(post(where, [&] { where.root().spawn(waits(mortal(ended))); }));
  there.run();
  CHECK(ended.count == 0);
  REQUIRE(post(where, [] { FAIL("it must not run"); }));
  there.drop();
  CHECK(ended.count == 1);
  CHECK_FALSE(post(where, [] {}));
}

TEST_CASE("an arrival elsewhere that is dropped comes home also where its home is dropped") {
  manual_executor there;
  manual_executor elsewhere;
  serial_executor where(there);
  std::error_code seen;
  auto body = [&]() -> task<void> {
    try {
      co_await schedule_on(elsewhere);
    } catch (const std::system_error& thrown) {
      seen = thrown.code();
    }
  };
  REQUIRE(post(where, [&] { where.root().spawn(body()); }));
  there.run();
  REQUIRE(elsewhere.pending() == 1);
  elsewhere.drop();
  REQUIRE(there.pending() == 1);
  there.drop();
  CHECK(seen == errc::dropped);
}

TEST_CASE("a task that goes on elsewhere comes back to the pool") {
  pool workers(with_workers(1));
  pool others(with_workers(1));
  serial_executor where(workers);
  auto body = [&]() -> task<bool> {
    co_await schedule_on(others);
    const bool away = others.is_current() && !where.is_current();
    co_await resume_home();
    co_return away&& workers.is_current() && where.is_current();
  };
  CHECK(sync_wait(where, body()));
}

TEST_CASE("sync_wait on its own home is refused, and what a task throws arrives") {
  pool workers(with_workers(1));
  serial_executor where(workers);
  auto fails = []() -> task<int> {
    throw std::runtime_error("there");
    co_return 0;
  };
  CHECK_THROWS_WITH(sync_wait(where, fails()), "there");
  auto deadlocks = [&]() -> task<std::error_code> {
    try {
      sync_wait(where, fails());
    } catch (const std::system_error& thrown) {
      co_return thrown.code();
    }
    co_return std::error_code();
  };
  CHECK(sync_wait(where, deadlocks()) == errc::would_deadlock);
}

TEST_CASE("a home that runs alone goes with its last task, and is refused by a closed executor") {
  pool workers(with_workers(2));
  deaths seen;
  atomic<int> ended{0};
  auto body = [&](mortal /*held*/, int number) -> task<void> {
    if (number % 3 == 0) co_await sleep_for(1us);
    if (number % 3 == 1) co_await yield();
    ended.fetch_add(1, relaxed);
  };
  deaths each[100];
  for (int i = 0; i < 100; ++i) CHECK(serial_executor::run_alone(workers, body(mortal(each[i]), i)));
  CHECK(testing::eventually([&] { return ended.load(relaxed) == 100; }));
  REQUIRE(workers.shutdown(shutdown_mode::drain));
  CHECK_FALSE(serial_executor::run_alone(workers, body(mortal(seen), 0)));
  CHECK(seen.count == 1);
}
