// tests/task/blocking_pool_test.cpp: jobs that block get threads of their own, not too many, and not for ever.
#include <braid/task/executors.hpp>

#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>
#include <braid/thread/this_thread.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/sleeper.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <latch>
#include <memory>
#include <ostream>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

using braid::blocking_pool;
using braid::errc;
using braid::future;
using braid::pool;
using braid::post;
using braid::relaxed;
using braid::shutdown_mode;
using braid::spawn;
using braid::testing::eventually;
using braid::testing::failure_code;
using braid::testing::sleeper;
using namespace std::chrono_literals;

namespace {

struct watched {
  braid::testing::watchdog dog{60s};
};

}  // namespace

TEST_CASE_FIXTURE(watched, "jobs that block run at once, each on a thread of its own, and hold no worker up") {
  pool workers({.workers = 1});
  blocking_pool blocking_threads;
  CHECK(blocking_threads.threads() == 0);
  std::latch all_here(5);
  std::vector<future<std::thread::id>> ids;
  for (int i = 0; i < 4; ++i)
    ids.push_back(spawn(blocking_threads, [&all_here] {
      all_here.arrive_and_wait();  // returns only when all of them run
      return std::this_thread::get_id();
    }));
  CHECK(spawn(workers, [] { return 1; }).get() == 1);
  all_here.arrive_and_wait();
  for (auto& id : ids) CHECK(id.get() != std::this_thread::get_id());
  CHECK(blocking_threads.threads() <= 4);
}

TEST_CASE_FIXTURE(watched, "a worker may wait for what blocks, and goes on with other work meanwhile") {
  pool workers({.workers = 1});
  blocking_pool blocking_threads;
  std::latch opened(1);
  auto waiting = spawn(workers, [&] { return spawn(blocking_threads, [&opened] { return opened.wait(), 2; }).get(); });
  CHECK(spawn(workers, [] { return 1; }).get() == 1);
  opened.count_down();
  CHECK(waiting.get() == 2);
}

TEST_CASE_FIXTURE(watched, "there are never more threads than allowed; jobs beyond that wait their turn") {
  blocking_pool blocking_threads({.max_threads = 2, .name = "bounded"});
  std::latch opened(1);
  braid::atomic<int> begun{0};
  std::vector<future<std::string>> names;
  for (int i = 0; i < 6; ++i)
    names.push_back(spawn(blocking_threads, [&] {
      begun.fetch_add(1, relaxed);
      opened.wait();
      return braid::this_thread::name();
    }));
  CHECK(eventually([&] { return begun.load(relaxed) == 2; }));
  CHECK(blocking_threads.threads() == 2);
  opened.count_down();
  std::set<std::string> called;  // both threads have run a job, because two had begun at a time
  for (auto& name : names) called.insert(name.get());
  CHECK(called == std::set<std::string>{"bounded-0", "bounded-1"});
}

TEST_CASE_FIXTURE(watched, "as many jobs as there may be threads meet, whether the threads have to start or are idle") {
  for (const std::size_t threads : {1U, 2U, 3U}) {
    blocking_pool blocking_threads({.max_threads = threads, .linger = 1h});
    for (int round = 0; round < 20; ++round) {
      std::latch all_here(static_cast<std::ptrdiff_t>(threads));
      std::vector<future<void>> jobs;
      for (std::size_t i = 0; i < threads; ++i)
        jobs.push_back(spawn(blocking_threads, [&all_here] { all_here.arrive_and_wait(); }));
      for (auto& job : jobs) job.get();
    }
    CHECK(blocking_threads.threads() == threads);
  }
}

TEST_CASE_FIXTURE(watched, "a thread is used again while it lingers, and ends when nothing comes") {
  blocking_pool patient({.max_threads = 8, .linger = 1h});
  for (int i = 0; i < 100; ++i) {
    spawn(patient, [] {}).get();
    // The thread that has settled the future is about to be idle again; one more may start beside it.
    REQUIRE(patient.threads() <= 8);
  }
  blocking_pool hasty({.linger = 0s});
  for (int i = 0; i < 20; ++i) {
    spawn(hasty, [] {}).get();
    CHECK(eventually([&] { return hasty.threads() == 0; }));
  }
}

TEST_CASE_FIXTURE(watched, "what a job throws goes to the callback, and its thread lives on") {
  std::string heard;
  {
    blocking_pool blocking_threads({.max_threads = 1, .on_error = [&heard](const std::exception_ptr& error) {
                                      heard = braid::testing::text_of(error);
                                    }});
    REQUIRE(post(blocking_threads, [] { throw std::runtime_error("no such file"); }));
    CHECK(spawn(blocking_threads, [] { return 1; }).get() == 1);
    CHECK(blocking_threads.threads() == 1);
  }
  CHECK(heard == "no such file");
}

TEST_CASE_FIXTURE(watched, "a shutdown drains or drops, and refuses from then on") {
  for (const auto mode : {shutdown_mode::drain, shutdown_mode::drop_pending, shutdown_mode::stop_now}) {
    blocking_pool blocking_threads({.max_threads = 1});
    std::latch begun(1);
    auto running = spawn(blocking_threads, [&](std::stop_token stop) {
      begun.count_down();
      while (mode == shutdown_mode::stop_now && !stop.stop_requested()) std::this_thread::yield();
    });
    begun.wait();
    auto held = std::make_shared<int>(0);
    std::vector<future<void>> pending;
    for (int i = 0; i < 10; ++i) pending.push_back(spawn(blocking_threads, [held] {}));
    CHECK(blocking_threads.shutdown(mode));
    CHECK_NOTHROW(running.get());
    for (auto& one : pending) {
      REQUIRE(one.is_ready());
      const std::error_code ended = failure_code(one);
      if (mode == shutdown_mode::drain) CHECK(ended == std::error_code());
      if (mode == shutdown_mode::stop_now) CHECK(ended == errc::dropped);
    }
    CHECK(held.use_count() == 1);
    CHECK(blocking_threads.threads() == 0);
    CHECK(failure_code(spawn(blocking_threads, [] {})) == errc::closed);
    CHECK(blocking_threads.shutdown(shutdown_mode::drain));
  }
}

TEST_CASE_FIXTURE(watched, "a shutdown that drops what waits does so while a job still runs") {
  blocking_pool blocking_threads({.max_threads = 1});
  std::latch begun(1);
  std::latch opened(1);
  auto running = spawn(blocking_threads, [&](std::stop_token stop) {
    begun.count_down();
    opened.wait();
    return stop.stop_requested();
  });
  begun.wait();
  auto pending = spawn(blocking_threads, [] {});
  std::thread ends([&] { CHECK(blocking_threads.shutdown(shutdown_mode::drop_pending)); });
  CHECK(failure_code(pending) == errc::dropped);
  opened.count_down();
  ends.join();
  CHECK_FALSE(running.get());
}

TEST_CASE_FIXTURE(watched, "a shutdown with a limit drains in time, or drops, asks for an end and leaves the rest") {
  blocking_pool blocking_threads({.max_threads = 1});
  auto done = spawn(blocking_threads, [] {});
  std::latch begun(1);
  auto running = spawn(blocking_threads, [&begun](std::stop_token stop) {
    begun.count_down();
    while (!stop.stop_requested()) std::this_thread::yield();
    return 1;
  });
  auto pending = spawn(blocking_threads, [] {});
  begun.wait();
  CHECK(blocking_threads.shutdown_for(0s).error() == errc::deadline_exceeded);
  done.get();
  CHECK(running.get() == 1);
  CHECK(failure_code(pending) == errc::dropped);
  CHECK(failure_code(spawn(blocking_threads, [] {})) == errc::closed);
  CHECK(blocking_threads.shutdown_for(30s).has_value());
  CHECK(blocking_threads.threads() == 0);
  blocking_pool unused;
  CHECK(unused.shutdown_for(0s).has_value());
}

TEST_CASE_FIXTURE(watched, "shutdowns at once all return after the threads have ended") {
  blocking_pool blocking_threads;
  std::latch begun(1);
  std::latch opened(1);
  auto running = spawn(blocking_threads, [&] {
    begun.count_down();
    opened.wait();
  });
  begun.wait();
  const auto stop = [&] {
    CHECK(blocking_threads.shutdown(shutdown_mode::drop_pending));
    CHECK(running.is_ready());
  };
  sleeper first(stop);
  sleeper second(stop);
  CHECK(first.falls_asleep());
  CHECK(second.falls_asleep());
  CHECK_FALSE(first.returned());
  opened.count_down();
  CHECK(eventually([&] { return first.returned() && second.returned(); }));
}

TEST_CASE_FIXTURE(watched, "a thread of the lane neither ends it nor waits for it") {
  blocking_pool blocking_threads;
  auto ended = spawn(blocking_threads, [&] {
    return blocking_threads.is_current() ? blocking_threads.shutdown(shutdown_mode::drain).error() : errc::closed;
  });
  auto waited =
      spawn(blocking_threads, [&] { return failure_code(spawn(blocking_threads, [] { std::this_thread::yield(); })); });
  CHECK(ended.get() == errc::would_deadlock);
  const std::error_code either = waited.get();
  const bool known =
      either == errc::would_deadlock || either == std::error_code();  // it may have ended before the wait
  CHECK(known);
  CHECK_FALSE(blocking_threads.is_current());
}

TEST_CASE("a lane without a thread ends the program with a sentence") {
  const auto end = braid::testing::run_in_child([] { const blocking_pool none({.max_threads = 0}); });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("at least one thread") != std::string::npos);
}
