// tests/io/loop_timers_test.cpp: work of a pool at its time, by the timers of a loop.
#include <braid/io/detail/loop_timers.hpp>

#include <braid/task/pool.hpp>
#include <braid/task/scheduled.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>
#include <tests/support/deaths.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/test_loop.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

using namespace braid;
using testing::deaths;
using testing::manual_executor;
using testing::mortal;
using testing::test_loop;

TEST_CASE("work runs on its executor when the clock of the loop says so, once or again and again") {
  test_loop here;
  braid::detail::loop_timers timers(here.io());
  manual_executor there;
  int runs = 0;
  const auto once = post_after(there, timers, 10ms, [&] { ++runs; });
  here.advance(9ms);
  CHECK(there.pending() == 0);
  here.advance(2ms);
  REQUIRE(there.pending() == 1);
  there.run();
  CHECK(runs == 1);
  CHECK(once->status() == schedule_status::done);

  const auto often = post_every(there, timers, {.interval = 10ms, .first = here.now() + 10ms}, [&] { ++runs; });
  for (int i = 0; i < 3; ++i) {
    here.advance(10ms + 1ms * (i == 0 ? 1 : 0));
    REQUIRE(there.pending() == 1);
    there.run();
  }
  CHECK(runs == 4);
  CHECK(often->cancel() == cancellation::done);
}

TEST_CASE("a timer of another thread that is due before all others is served in time") {
  test_loop here;
  braid::detail::loop_timers timers(here.io());
  manual_executor there;
  std::vector<int> order;
  static_cast<void>(post_after(there, timers, 1h, [&] { order.push_back(2); }));
  std::thread([&] { static_cast<void>(post_after(there, timers, 10ms, [&] { order.push_back(1); })); }).join();
  here.run_once();
  here.advance(11ms);
  REQUIRE(there.pending() == 1);
  there.run();
  here.advance(1h);
  REQUIRE(there.pending() == 1);
  there.run();
  CHECK(order == std::vector{1, 2});
}

TEST_CASE("a loop that sleeps wakes for a timer that a worker arms") {
  auto io = loop::create().value();
  pool workers({.workers = 1});
  std::atomic<bool> ran{false};
  std::unique_ptr<braid::detail::loop_timers> timers;
  io->run([&] {
    timers = std::make_unique<braid::detail::loop_timers>(*io);
    REQUIRE(post(workers, [&] {
      static_cast<void>(post_after(workers, *timers, 1ms, [&] {
        ran = true;
        io->stop();
      }));
    }));
  });
  CHECK(ran);
  timers.reset();  // after the loop has stopped
}

TEST_CASE("what is pending when the timers go is dropped, and a step that the loop has still to run finds them gone") {
  test_loop here;
  auto timers = std::make_unique<braid::detail::loop_timers>(here.io());
  manual_executor there;
  deaths ended;
  const auto early = post_after(there, *timers, 10ms, [held = mortal(ended)] {});
  std::thread([&] { static_cast<void>(post_after(there, *timers, 1ms, [held = mortal(ended)] {})); }).join();
  timers.reset();
  CHECK(ended.count == 2);
  CHECK(early->status() == schedule_status::dropped);
  here.advance(1h);
  CHECK(there.pending() == 0);
}

TEST_CASE("a series whose run goes on when the timers and the loop go is at its end") {
  manual_executor there;
  auto here = std::make_unique<test_loop>();
  auto timers = std::make_unique<braid::detail::loop_timers>(here->io());
  const auto often = post_every(there, *timers, {.interval = 10ms}, [&] {
    timers.reset();
    here.reset();
  });
  here->advance(1ms);
  REQUIRE(there.pending() == 1);
  there.run();
  CHECK(often->status() == schedule_status::dropped);
}

TEST_CASE("timers that are made on another thread than the loop's end the program") {
  const auto end = testing::run_in_child([] {
    const auto io = loop::create().value();
    const braid::detail::loop_timers timers(*io);
  });
  CHECK(end.errors.find("created on its thread") != std::string::npos);
}
