// tests/task/current_thread_test.cpp: the jobs of a pool without threads run on the thread that waits for them.
#include <braid/task/pool.hpp>

#include <braid/coro/serial_executor.hpp>
#include <braid/task/executors.hpp>
#include <braid/task/fork_join.hpp>
#include <braid/task/future.hpp>
#include <braid/task/parallel.hpp>
#include <braid/task/scheduled.hpp>
#include <braid/task/spawn.hpp>
#include <braid/task/when_all.hpp>

#include <doctest/doctest.h>

#include <tests/support/watchdog.hpp>

#include <latch>
#include <memory>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

using braid::pool;
using braid::promise;
using braid::spawn;
using braid::task_group;
using braid::testing::watchdog;
using namespace std::chrono_literals;

namespace {

auto here() -> std::thread::id { return std::this_thread::get_id(); }

auto without_threads() -> pool { return pool({.scheduler = braid::scheduler::current_thread}); }

}  // namespace

TEST_CASE("a future is got on the thread that waits, which runs the jobs before it as well") {
  const watchdog patience(30s);
  pool jobs = without_threads();
  std::vector<int> order;
  REQUIRE(post(jobs, [&] { order.push_back(1); }));
  auto where = spawn(jobs, [&] {
    order.push_back(2);
    return here();
  });
  REQUIRE(post(jobs, [&] { order.push_back(3); }));
  CHECK(order.empty());
  CHECK(where.get() == here());
  CHECK(order == std::vector{1, 2});
  CHECK(jobs.wait_idle());
  CHECK(order.size() == 3);
}

TEST_CASE("what a job throws comes with the future, and what nobody waits for is reported") {
  const watchdog patience(30s);
  int reports = 0;
  pool jobs({.scheduler = braid::scheduler::current_thread, .on_error = [&](std::exception_ptr) { ++reports; }});
  REQUIRE(post(jobs, [] { throw std::runtime_error("nobody"); }));
  CHECK_THROWS_WITH(spawn(jobs, [] { throw std::runtime_error("waited for"); }).get(), "waited for");
  CHECK(reports == 1);
}

TEST_CASE("continuations, shared futures and several at once are waited for in the same way") {
  const watchdog patience(30s);
  pool jobs = without_threads();
  auto chain = spawn(jobs, [] { return 1; }).then([](int n) { return n + 1; }).then(jobs, [](int n) { return n + 1; });
  CHECK(chain.get() == 3);
  auto shared = spawn(jobs, [] { return 4; }).share();
  auto read = shared.then([](const int& n) { return n + 1; });
  CHECK(shared.get() == 4);
  CHECK(read.get() == 5);
  CHECK(when_all(spawn(jobs, [] { return 1; }), spawn(jobs, [] { return 2; })).get() == std::tuple(1, 2));
  CHECK(spawn(jobs, [] {}).wait_for(10s));
}

TEST_CASE("a wait gives up at its deadline, also between jobs that post each other") {
  const watchdog patience(30s);
  bool over = false;  // outlives the pool, whose end runs the last job
  pool jobs = without_threads();
  promise<void> never(jobs);
  struct again {
    pool& where;
    bool& over;
    void operator()() const {
      if (!over) static_cast<void>(post(where, again(*this)));
    }
  };
  REQUIRE(post(jobs, again{jobs, over}));
  CHECK_FALSE(never.get_future().wait_for(1ms));
  over = true;
}

TEST_CASE("a value that a job sets is waited for on the thread that has made the pool") {
  const watchdog patience(30s);
  pool jobs = without_threads();
  promise<int> given;
  REQUIRE(post(jobs, [&given] { static_cast<void>(given.set_value(5)); }));
  CHECK(given.get_future().get() == 5);
}

TEST_CASE("jobs wait for each other on one thread") {
  const watchdog patience(30s);
  pool jobs = without_threads();
  auto outer = spawn(jobs, [&jobs] { return spawn(jobs, [] { return 1; }).get() + 1; });
  CHECK(outer.get() == 2);
}

TEST_CASE("a group is waited for on the thread that fills it") {
  const watchdog patience(30s);
  pool jobs = without_threads();
  task_group group(jobs);
  int ran = 0;
  for (int i = 0; i < 10; ++i)
    group.run([&] {
      ++ran;
      group.run([&] { ++ran; });
    });
  CHECK(ran == 0);
  CHECK(group.wait());
  CHECK(ran == 20);
  group.run([] { throw std::runtime_error("from a group"); });
  CHECK_THROWS_WITH(static_cast<void>(group.wait()), "from a group");
}

TEST_CASE("another thread may wait as well, or a worker of another pool") {
  const watchdog patience(30s);
  pool jobs = without_threads();
  std::thread::id waiting;
  std::thread::id ran_on;
  std::thread other([&] {
    waiting = here();
    ran_on = spawn(jobs, [] { return here(); }).get();
  });
  other.join();
  CHECK(ran_on == waiting);

  pool workers({.workers = 1});
  auto there = spawn(workers, [&jobs] { return spawn(jobs, [] { return here(); }).get() == here(); });
  CHECK(there.get());
  auto in_group = spawn(workers, [&jobs] {
    int ran = 0;
    task_group group(jobs);
    group.run([&ran] { ++ran; });
    static_cast<void>(group.wait());
    return ran;
  });
  CHECK(in_group.get() == 1);
}

TEST_CASE("what another thread posts is found by one that waits") {
  const watchdog patience(30s);
  pool jobs = without_threads();
  promise<void> opened;
  std::thread other([&] { static_cast<void>(post(jobs, [&] { static_cast<void>(opened.set_value()); })); });
  opened.get_future().get();
  other.join();
}

TEST_CASE("serial executors, timers and forks work there too") {
  const watchdog patience(30s);
  pool jobs = without_threads();
  braid::timer_thread timers;
  {
    int count = 0;  // outlives it, whose end runs the last job
    braid::serial_executor one(jobs);
    for (int i = 0; i < 10; ++i) REQUIRE(post(one, [&count] { ++count; }));
    CHECK(spawn(one, [&count] { return count; }).get() == 10);
    REQUIRE(post(one, [&count] { ++count; }));
  }  // whose end waits for its jobs
  promise<void> rang;
  const auto task = post_after(jobs, timers, 1ms, [&rang] { static_cast<void>(rang.set_value()); });
  CHECK(task);
  rang.get_future().get();
  CHECK(run_in(jobs, [] { return braid::fork_join([] { return 1; }, [] { return 2; }); }) == std::tuple(1, 2));
  int sum = 0;
  run_in(jobs, [&sum] { braid::parallel_for(0, 100, [&sum](int i) { sum += i; }); });
  CHECK(sum == 4950);
}

TEST_CASE("a pool that has gone is no longer run by the thread that made it") {
  const watchdog patience(30s);
  for (int round = 0; round < 3; ++round) {
    pool jobs = without_threads();
    int ran = 0;
    REQUIRE(post(jobs, [&ran] { ++ran; }));
    CHECK(jobs.shutdown(braid::shutdown_mode::drop_pending));
    CHECK(ran == 0);
  }
  pool workers({.workers = 1});
  CHECK(spawn(workers, [] { return 1; }).get() == 1);
}

TEST_CASE("jobs that run in place are ready when they are posted") {
  const watchdog patience(30s);
  pool jobs({.scheduler = braid::scheduler::run_inline});
  CHECK(spawn(jobs, [] { return here(); }).get() == here());
  task_group group(jobs);
  int ran = 0;
  group.run([&ran] { ++ran; });
  CHECK(ran == 1);
  CHECK(group.wait());
}
