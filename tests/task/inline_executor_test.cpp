// tests/task/inline_executor_test.cpp: a job has run when its post returns, whatever it posts itself.
#include <braid/task/inline_executor.hpp>

#include <braid/task/fork_join.hpp>
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/sleeper.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <exception>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using braid::errc;
using braid::inline_executor;
using braid::post;
using braid::shutdown_mode;
using braid::spawn;
using braid::task_group;
using braid::testing::eventually;
using braid::testing::sleeper;
using braid::testing::watchdog;
using namespace std::chrono_literals;

TEST_CASE("jobs that run in place are ready when they are posted") {
  const watchdog patience(30s);
  inline_executor jobs;
  CHECK(spawn(jobs, [] { return std::this_thread::get_id(); }).get() == std::this_thread::get_id());
  task_group group(jobs);
  int ran = 0;
  group.run([&ran] { ++ran; });
  CHECK(ran == 1);
  CHECK(group.wait());
}

TEST_CASE("a job has run when its post returns") {
  const watchdog patience(60s);
  inline_executor where;
  bool ran = false;
  CHECK(post(where, [&] {
    ran = true;
    CHECK(where.is_current());
    CHECK(where.wait_idle().error() == errc::would_deadlock);
  }));
  CHECK(ran);
  CHECK_FALSE(where.is_current());
  CHECK(where.wait_idle());
}

TEST_CASE("what such a job posts runs after it, a million deep, without using up the stack") {
  const watchdog patience(60s);
  inline_executor where;
  struct {
    void step() {
      CHECK_FALSE(inside);
      inside = true;
      if (++steps < 1'000'000) static_cast<void>(post(*where, [this] { step(); }));
      inside = false;
    }
    inline_executor* where;
    int steps = 0;
    bool inside = false;
  } chain{.where = &where};
  CHECK(post(where, [&chain] { chain.step(); }));
  CHECK(chain.steps == 1'000'000);
}

TEST_CASE("inline executors within each other keep their jobs apart") {
  const watchdog patience(60s);
  inline_executor outer;
  inline_executor inner;
  std::string order;
  CHECK(post(outer, [&] {
    CHECK(post(inner, [&] {
      CHECK(post(outer, [&] { order += 'c'; }));
      order += 'a';
    }));
    order += 'b';
  }));
  CHECK(order == "abc");
}

TEST_CASE("who waits for an inline executor waits for the jobs of other threads") {
  const watchdog patience(60s);
  inline_executor where;
  std::latch entered(1);
  std::latch opened(1);
  sleeper poster([&] {
    static_cast<void>(post(where, [&] {
      entered.count_down();
      opened.wait();
    }));
  });
  entered.wait();
  sleeper waiter([&] { CHECK(where.wait_idle()); });
  sleeper stopper([&] { CHECK(where.shutdown(shutdown_mode::drain)); });
  CHECK(waiter.falls_asleep());
  CHECK(stopper.falls_asleep());
  CHECK(post(where, [] {}).error() == errc::closed);
  opened.count_down();
  CHECK(eventually([&] { return waiter.returned() && stopper.returned() && poster.returned(); }));
}

TEST_CASE("a limited shutdown waits so long for a thread that runs the jobs") {
  const watchdog patience(60s);
  inline_executor where;
  std::latch begun(1);
  std::latch opened(1);
  sleeper busy([&] {
    REQUIRE(post(where, [&] {
      begun.count_down();
      opened.wait();
    }));
    CHECK(where.wait_idle());
  });
  begun.wait();
  CHECK(where.shutdown_for(1ms).error() == errc::deadline_exceeded);
  CHECK(where.stop_token().stop_requested());
  opened.count_down();
  CHECK(where.shutdown_for(1h));
}

TEST_CASE("a job that shuts its own executor down is told so, and the executor stays usable") {
  const watchdog patience(60s);
  inline_executor where;
  std::error_code limited;
  std::error_code now;
  REQUIRE(post(where, [&] {
    limited = where.shutdown_for(1h).error();
    now = where.shutdown(shutdown_mode::stop_now).error();
  }));
  CHECK(where.wait_idle());
  CHECK(limited == errc::would_deadlock);
  CHECK(now == errc::would_deadlock);
  CHECK_FALSE(where.stop_token().stop_requested());
  auto usable = spawn(where, [] { return 1; });
  CHECK(where.wait_idle());
  CHECK(usable.get() == 1);
  CHECK(where.shutdown(shutdown_mode::stop_now));
  CHECK(where.stop_token().stop_requested());
}

TEST_CASE("what jobs throw is reported, and jobs are dealt with at a shutdown") {
  const watchdog patience(60s);
  std::vector<std::string> messages;
  const auto captured = std::make_shared<int>(0);
  {
    inline_executor where([&](std::exception_ptr error) { messages.push_back(braid::testing::text_of(error)); });
    CHECK(post(where, [held = captured] { throw std::runtime_error("sour"); }));
  }
  CHECK(messages == std::vector<std::string>{"sour"});
  CHECK(captured.use_count() == 1);
  inline_executor where;
  int ran = 0;
  CHECK(post(where, [&ran, held = captured] { ++ran; }));
  CHECK(where.shutdown(shutdown_mode::drop_pending));
  CHECK(ran == 1);
  CHECK(captured.use_count() == 1);
  CHECK(post(where, [held = captured] {}).error() == errc::closed);
  CHECK(captured.use_count() == 1);
  CHECK(where.shutdown(shutdown_mode::drain));
}

TEST_CASE("a job that waits for its poster is dropped by a shutdown that drops") {
  const watchdog patience(60s);
  inline_executor where;
  const auto captured = std::make_shared<int>(0);
  std::latch posted(1);
  std::latch opened(1);
  bool ran = false;
  sleeper poster([&] {
    CHECK(post(where, [&] {
      CHECK(post(where, [&ran, held = captured] { ran = true; }));
      posted.count_down();
      opened.wait();
      CHECK(post(where, [] {}).error() == errc::closed);
    }));
  });
  posted.wait();
  CHECK(where.shutdown_for(1ms).error() == errc::deadline_exceeded);
  opened.count_down();
  CHECK(where.shutdown(shutdown_mode::drain));
  CHECK_FALSE(ran);
  CHECK(captured.use_count() == 1);
}
