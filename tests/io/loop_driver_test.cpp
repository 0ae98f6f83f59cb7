// tests/io/loop_driver_test.cpp: a worker that sleeps in a loop wakes for permits and for what the loop has to do.
#include <braid/io/detail/loop_driver.hpp>

#include <braid/coro/offload.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/io/loop.hpp>
#include <braid/task/executor.hpp>

#include <tests/support/deaths.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/pipes.hpp>
#include <tests/support/sleeper.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <thread>
#include <utility>

using namespace braid;
using testing::deaths;
using testing::ends;
using testing::eventually;
using testing::mortal;
using testing::sleeper;

namespace {

/// A driver whose worker is the test's thread.
struct driven {
  explicit driven(loop::options options = {}) : driver(loop::create(std::move(options)).value()) { driver.begin(); }
  driven(const driven&) = delete;
  auto operator=(const driven&) -> driven& = delete;
  ~driven() { driver.end(); }

  auto io() -> loop& { return driver.io(); }
  void spawn(task<void> work) { io().spawn(std::move(work)); }

  testing::watchdog dog{std::chrono::seconds(60)};
  braid::detail::loop_driver driver;
};

constexpr time_point never = time_point::max();
constexpr time_point at_once{};

}  // namespace

TEST_CASE("a permit ends one sleep, however it is waited for, and two are one") {
  driven here;
  here.driver.unpark();
  here.driver.unpark();
  CHECK(here.driver.sleep_until(never) == wake_reason::permit);
  CHECK(here.driver.sleep_until(at_once) == wake_reason::deadline);
  here.driver.unpark();
  here.driver.park();
  CHECK_FALSE(here.driver.park_until(at_once));
  here.driver.unpark();
  CHECK(here.driver.park_until(at_once));
}

TEST_CASE("a permit from another thread wakes a worker that sleeps in its loop, and one that sleeps beside it") {
  braid::detail::loop_driver* place = nullptr;
  atomic<int> woken{0};
  sleeper worker([&] {
    driven here;
    place = &here.driver;
    woken.store(1, release);  // edge test.place: publish
    if (here.driver.sleep_until(never) == wake_reason::permit) woken.store(2, relaxed);
    here.driver.park();
  });
  REQUIRE(eventually([&] { return woken.load(acquire) != 0; }));  // edge test.place: observe
  CHECK(worker.falls_asleep());
  place->unpark();
  REQUIRE(eventually([&] { return woken.load(relaxed) == 2; }));
  CHECK(worker.falls_asleep());
  place->unpark();
  CHECK(eventually([&] { return worker.returned(); }));
}

TEST_CASE("what is ready ends a sleep and runs only when the worker comes to it") {
  driven here;
  const ends pipe = ends::of_pipe();
  int steps = 0;
  auto reader = [&]() -> task<void> {
    static_cast<void>(co_await readable(here.io(), pipe.first.number()));
    ++steps;
  };
  here.spawn(reader());
  testing::write_byte(pipe.second);
  CHECK(here.driver.sleep_until(never) == wake_reason::work);
  CHECK(steps == 0);
  CHECK(here.driver.is_ready());
  here.driver.work();
  CHECK(steps == 1);
  CHECK_FALSE(here.driver.is_ready());
}

TEST_CASE("a post from another thread ends a sleep, and so does a timer") {
  driven here;
  int ran = 0;
  std::thread other([&] { CHECK(post(here.io(), [&] { ++ran; })); });
  CHECK(here.driver.sleep_until(never) == wake_reason::work);
  CHECK(ran == 0);
  here.driver.work();
  CHECK(ran == 1);
  other.join();
  auto sleeping = [&]() -> task<void> {
    co_await sleep_for(1ms);
    ++ran;
  };
  here.spawn(sleeping());
  while (ran == 1) {
    CHECK(here.driver.sleep_until(never) == wake_reason::work);
    here.driver.work();
  }
  CHECK(ran == 2);
}

TEST_CASE("what the worker itself has left to its loop keeps it from sleeping") {
  driven here;
  int ran = 0;
  REQUIRE(post(here.io(), [&] { ++ran; }));
  CHECK(here.driver.sleep_until(never) == wake_reason::work);
  here.driver.work();
  CHECK(ran == 1);
}

TEST_CASE("a deadline that has passed is told first, so that work which never ends does not put it off") {
  driven here;
  REQUIRE(post(here.io(), [] {}));
  CHECK(here.driver.sleep_until(at_once) == wake_reason::deadline);
  here.driver.work();
  CHECK(here.driver.sleep_until(steady_time().now() + 1ms) == wake_reason::deadline);
}

TEST_CASE("while the clock stands still a busy worker turns its loop once in thirty-two looks") {
  const manual_clock clock;
  driven here({.clock = &clock});
  here.driver.work();
  for (int round = 0; round < 3; ++round) {
    for (int look = 1; look < 32; ++look) REQUIRE_FALSE(here.driver.is_due());
    REQUIRE(here.driver.is_due());
    here.driver.work();
  }
}

TEST_CASE("twenty microseconds after a turn the next one is due") {
  manual_clock clock;
  driven here({.clock = &clock});
  here.driver.work();
  clock.advance(19us);
  CHECK_FALSE(here.driver.is_due());
  clock.advance(1us);
  CHECK(here.driver.is_due());
}

TEST_CASE("a turn asks the system too") {
  driven here;
  const ends pipe = ends::of_pipe();
  bool ready = false;
  auto reader = [&]() -> task<void> {
    static_cast<void>(co_await readable(here.io(), pipe.first.number()));
    ready = true;
  };
  here.spawn(reader());
  here.driver.work();
  CHECK_FALSE(ready);
  testing::write_byte(pipe.second);
  CHECK(eventually([&] {
    here.driver.work();
    return ready;
  }));
}

TEST_CASE("a loop that is stopped wakes its worker, ends its tasks and then is no work any more") {
  driven here;
  deaths seen;
  auto sleeping = [&]() -> task<void> {
    const mortal local(seen);
    co_await sleep_for(1h);
  };
  here.spawn(sleeping());
  std::thread stopping([&] {
    here.io().stop();
    here.driver.await_end();
  });
  while (here.io().status() != loop::state::stopped) {
    CHECK(here.driver.sleep_until(never) == wake_reason::work);
    here.driver.work();
  }
  stopping.join();
  CHECK(seen.count == 1);
  CHECK_FALSE(here.driver.is_ready());
  CHECK_FALSE(here.driver.is_due());
  CHECK(here.driver.sleep_until(steady_time().now() + 1us) == wake_reason::deadline);
  here.driver.unpark();
  CHECK(here.driver.sleep_until(never) == wake_reason::permit);
  CHECK(loop::current() == nullptr);
}

TEST_CASE("a stopping loop is no work while it waits for a function that is away, and is when that has come home") {
  driven here;
  testing::manual_executor away;
  bool over = false;
  auto tracked = [&]() -> task<void> {
    auto hop = offload(away, [&] {
      here.io().stop();
      here.driver.work();
      CHECK_FALSE(here.driver.is_ready());
    });
    co_await hop;
    over = true;
  };
  here.spawn(tracked());
  away.run();
  CHECK(here.driver.is_ready());
  while (here.io().status() != loop::state::stopped) here.driver.work();
  CHECK(over);
}

TEST_CASE(
    "the end of the worker stops the loop and destroys what its tasks hold, and a loop that never began just goes") {
  deaths seen;
  {
    driven here;
    auto sleeping = [&]() -> task<void> {
      const mortal local(seen);
      co_await sleep_for(1h);
    };
    here.spawn(sleeping());
  }
  CHECK(seen.count == 1);
  const braid::detail::loop_driver unused(loop::create().value());
  CHECK(unused.has_own_work());
}
