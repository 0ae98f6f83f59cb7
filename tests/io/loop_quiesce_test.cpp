// tests/io/loop_quiesce_test.cpp: quiesce waits for the iteration of a loop in which a task runs, and not for tasks
// that are suspended.
#include <braid/task/quiesce.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/task.hpp>
#include <braid/io/loop.hpp>
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <tests/support/pipes.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <functional>
#include <latch>
#include <list>
#include <memory>
#include <thread>
#include <utility>

#include <unistd.h>

using braid::errc;
using braid::quiesce;
using braid::quiesce_for;
using braid::task;
using braid::testing::ends;
using namespace std::chrono_literals;

namespace {

/// A loop that runs on a thread of its own.
struct running_loop {
  braid::testing::watchdog dog{60s};
  std::unique_ptr<braid::loop> io = braid::loop::create().value();
  std::list<std::function<task<void>()>> started;
  std::thread thread{[this] { io->run(); }};

  running_loop() = default;
  running_loop(const running_loop&) = delete;
  auto operator=(const running_loop&) -> running_loop& = delete;
  ~running_loop() {
    io->stop();
    thread.join();
  }

  /// Has the loop begin a task, whose closure lives as long as this.
  void start(std::function<task<void>()> work) {
    const std::function<task<void>()>& kept = started.emplace_back(std::move(work));
    spawn(*io, [this, &kept] { io->spawn(kept()); }).get();
  }
};

/// What a task does on the loop while the test looks: it blocks the loop.
struct held_step {
  std::latch begun{1};
  std::latch released{1};

  void run() {
    begun.count_down();
    released.wait();
  }

  void check_that_quiesce_waits() {
    begun.wait();
    CHECK(quiesce_for(1ms).error() == errc::deadline_exceeded);
    released.count_down();
    CHECK(quiesce());
  }
};

}  // namespace

TEST_CASE_FIXTURE(running_loop, "quiesce does not wait for a loop that waits, nor for tasks that are suspended there") {
  start([]() -> task<void> { co_await braid::sleep_for(1h); });
  CHECK(quiesce());
}

TEST_CASE_FIXTURE(running_loop, "quiesce waits for a job, a task and a timer of a loop") {
  held_step posted;
  REQUIRE(post(*io, [&posted] { posted.run(); }));
  posted.check_that_quiesce_waits();
  held_step slept;
  start([&slept]() -> task<void> {
    co_await braid::sleep_for(1us);
    slept.run();
  });
  slept.check_that_quiesce_waits();
}

TEST_CASE_FIXTURE(running_loop, "quiesce waits for a task that the answer of the system resumes") {
  const ends pipe = ends::of_pipe();
  held_step answered;
  start([&]() -> task<void> {
    static_cast<void>(co_await readable(*io, pipe.first.number()));
    answered.run();
  });
  REQUIRE(::write(pipe.second.number(), "x", 1) == 1);
  answered.check_that_quiesce_waits();
}

TEST_CASE_FIXTURE(running_loop, "a task of a loop cannot wait for itself") {
  CHECK(spawn(*io, [] { return quiesce().error() == errc::would_deadlock; }).get());
  std::latch ended(1);
  bool is_refused = false;
  start([&]() -> task<void> {
    co_await braid::sleep_for(1us);
    is_refused = quiesce().error() == errc::would_deadlock;
    ended.count_down();
  });
  ended.wait();
  CHECK(is_refused);
}

TEST_CASE("quiesce waits for an iteration of a loop that a thread of the program runs once") {
  const braid::testing::watchdog dog(60s);
  const auto io = braid::loop::create().value();
  held_step posted;
  std::thread other([&] {
    io->run_once();
    static_cast<void>(post(*io, [&posted] { posted.run(); }));
    io->run_once();
    io->stop();
    while (io->run_once()) {}
  });
  posted.check_that_quiesce_waits();
  other.join();
}
