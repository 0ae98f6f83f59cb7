// tests/task/manual_executor_test.cpp: jobs run on the thread that polls or waits for them, in their order.
#include <braid/task/manual_executor.hpp>

#include <braid/coro/serial_executor.hpp>
#include <braid/task/executors.hpp>
#include <braid/task/fork_join.hpp>
#include <braid/task/future.hpp>
#include <braid/task/parallel.hpp>
#include <braid/task/scheduled.hpp>
#include <braid/task/spawn.hpp>
#include <braid/task/when_all.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/sleeper.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

using braid::errc;
using braid::manual_executor;
using braid::pool;
using braid::post;
using braid::promise;
using braid::relaxed;
using braid::shutdown_mode;
using braid::spawn;
using braid::task_group;
using braid::testing::eventually;
using braid::testing::failure_code;
using braid::testing::sleeper;
using braid::testing::watchdog;
using namespace std::chrono_literals;

namespace {

auto here() -> std::thread::id { return std::this_thread::get_id(); }

}  // namespace

TEST_CASE("a future is got on the thread that waits, which runs the jobs before it as well") {
  const watchdog patience(30s);
  manual_executor jobs;
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
  manual_executor jobs([&](std::exception_ptr) { ++reports; });
  REQUIRE(post(jobs, [] { throw std::runtime_error("nobody"); }));
  CHECK_THROWS_WITH(spawn(jobs, [] { throw std::runtime_error("waited for"); }).get(), "waited for");
  CHECK(reports == 1);
}

TEST_CASE("continuations, shared futures and several at once are waited for in the same way") {
  const watchdog patience(30s);
  manual_executor jobs;
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
  manual_executor jobs;
  promise<void> never(jobs);
  struct again {
    manual_executor& where;
    bool& over;
    void operator()() const {
      if (!over) static_cast<void>(post(where, again(*this)));
    }
  };
  REQUIRE(post(jobs, again{jobs, over}));
  CHECK_FALSE(never.get_future().wait_for(1ms));
  over = true;
}

TEST_CASE("a value that a job sets is waited for on the thread that has made the executor") {
  const watchdog patience(30s);
  manual_executor jobs;
  promise<int> given;
  REQUIRE(post(jobs, [&given] { static_cast<void>(given.set_value(5)); }));
  CHECK(given.get_future().get() == 5);
}

TEST_CASE("jobs wait for each other on one thread") {
  const watchdog patience(30s);
  manual_executor jobs;
  auto outer = spawn(jobs, [&jobs] { return spawn(jobs, [] { return 1; }).get() + 1; });
  CHECK(outer.get() == 2);
}

TEST_CASE("a group is waited for on the thread that fills it") {
  const watchdog patience(30s);
  manual_executor jobs;
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
  manual_executor jobs;
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
  manual_executor jobs;
  promise<void> opened;
  std::thread other([&] { static_cast<void>(post(jobs, [&] { static_cast<void>(opened.set_value()); })); });
  opened.get_future().get();
  other.join();
}

TEST_CASE("serial executors, timers and forks work there too") {
  const watchdog patience(30s);
  manual_executor jobs;
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

TEST_CASE("an executor that has gone is no longer run by the thread that made it") {
  const watchdog patience(30s);
  for (int round = 0; round < 3; ++round) {
    manual_executor jobs;
    int ran = 0;
    REQUIRE(post(jobs, [&ran] { ++ran; }));
    CHECK(jobs.shutdown(braid::shutdown_mode::drop_pending));
    CHECK(ran == 0);
  }
  pool workers({.workers = 1});
  CHECK(spawn(workers, [] { return 1; }).get() == 1);
}

TEST_CASE("jobs run on the thread that waits for them, in their order") {
  const watchdog patience(60s);
  manual_executor where;
  std::vector<int> order;
  std::thread::id ran_on;
  for (int i = 0; i < 3; ++i)
    REQUIRE(post(where, [&, i] {
      order.push_back(i);
      ran_on = std::this_thread::get_id();
      if (i == 0) CHECK(post(where, [&order] { order.push_back(3); }));
      CHECK(where.is_current());
      CHECK(braid::detail::current_worker() == nullptr);
      CHECK(where.wait_idle().error() == errc::would_deadlock);
      CHECK(where.shutdown(shutdown_mode::drain).error() == errc::would_deadlock);
    }));
  CHECK(order.empty());
  CHECK(where.wait_idle());
  CHECK(order == std::vector{0, 1, 2, 3});
  CHECK(ran_on == std::this_thread::get_id());
  CHECK_FALSE(where.is_current());
}

TEST_CASE("a program may run one job after the other itself") {
  const watchdog patience(60s);
  manual_executor where;
  CHECK_FALSE(where.poll());
  std::string order;
  for (const char name : {'a', 'b', 'c'}) REQUIRE(post(where, [&order, name] { order += name; }));
  CHECK(where.poll());
  CHECK(order == "a");
  REQUIRE(post(where, [&] {
    order += 'd';
    CHECK_FALSE(where.poll());
  }));
  REQUIRE(post(where, braid::priority::high, [&] {
    order += '(';
    CHECK(where.poll());
    order += ')';
  }));
  CHECK(where.poll());
  CHECK(order == "a(b)");
  std::latch entered(1);
  std::latch opened(1);
  REQUIRE(post(where, braid::priority::high, [&] {
    entered.count_down();
    opened.wait();
  }));
  sleeper other([&] { CHECK(where.poll()); });
  entered.wait();
  CHECK_FALSE(where.poll());
  opened.count_down();
  CHECK(eventually([&] { return other.returned(); }));
  while (where.poll()) {}
  CHECK(order == "a(b)cd");
  CHECK_FALSE(pool({.workers = 1}).poll());
}

TEST_CASE("threads that wait at once take turns, and all jobs have run when they return") {
  const watchdog patience(60s);
  manual_executor where;
  braid::atomic<int> ran{0};
  std::latch opened(1);
  REQUIRE(post(where, [&opened] { opened.wait(); }));
  for (int i = 0; i < 10; ++i) REQUIRE(post(where, [&ran] { ran.fetch_add(1, relaxed); }));
  std::vector<std::unique_ptr<sleeper>> waiting;
  for (int i = 0; i < 3; ++i)
    waiting.push_back(std::make_unique<sleeper>([&] {
      CHECK(where.wait_idle());
      CHECK(ran.load(relaxed) == 10);
    }));
  for (const auto& each : waiting) CHECK(each->falls_asleep());
  opened.count_down();
  for (const auto& each : waiting) CHECK(eventually([&] { return each->returned(); }));
}

TEST_CASE("a limited shutdown runs the jobs here, until the time is over") {
  const watchdog patience(60s);
  manual_executor in_time;
  auto work = spawn(in_time, [] { return std::this_thread::get_id(); });
  CHECK(in_time.shutdown_for(1h));
  CHECK(work.get() == std::this_thread::get_id());

  manual_executor too_late;
  auto dropped = spawn(too_late, [] {});
  CHECK(too_late.shutdown_for(0s).error() == errc::deadline_exceeded);
  CHECK(failure_code(dropped) == errc::dropped);
  CHECK(too_late.stop_token().stop_requested());
  CHECK(too_late.shutdown_for(1h));
}

TEST_CASE("a limited shutdown waits so long for a thread that runs the jobs") {
  const watchdog patience(60s);
  manual_executor where;
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

TEST_CASE("a shutdown that drops waits for the captures that another thread drops meanwhile") {
  const watchdog patience(60s);
  manual_executor where;
  std::latch entered(1);
  std::latch opened(1);
  struct slow {
    std::latch& entered;
    std::latch& opened;
    ~slow() {
      entered.count_down();
      opened.wait();
    }
  };
  REQUIRE(post(where, [held = std::make_unique<slow>(entered, opened)] {}));
  const sleeper drops([&] { CHECK(where.shutdown(shutdown_mode::drop_pending)); });
  entered.wait();
  const sleeper finds_nothing([&] { CHECK(where.shutdown(shutdown_mode::drop_pending)); });
  CHECK(finds_nothing.falls_asleep());
  opened.count_down();
}

TEST_CASE("a job that shuts its own executor down is told so, and the executor stays usable") {
  const watchdog patience(60s);
  manual_executor where;
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
    manual_executor where([&](std::exception_ptr error) { messages.push_back(braid::testing::text_of(error)); });
    CHECK(post(where, [held = captured] { throw std::runtime_error("sour"); }));
  }
  CHECK(messages == std::vector<std::string>{"sour"});
  CHECK(captured.use_count() == 1);
  manual_executor where;
  int ran = 0;
  CHECK(post(where, [&ran, held = captured] { ++ran; }));
  CHECK(where.shutdown(shutdown_mode::drop_pending));
  CHECK(ran == 0);
  CHECK(captured.use_count() == 1);
  CHECK(post(where, [held = captured] {}).error() == errc::closed);
  CHECK(captured.use_count() == 1);
  CHECK(where.shutdown(shutdown_mode::drain));
}

TEST_CASE("priorities start their jobs first and last, and starve nothing") {
  const watchdog patience(60s);
  manual_executor where;
  std::string order;
  const auto add = [&](braid::priority level, char name) {
    REQUIRE(post(where, level, [&order, name] { order += name; }));
  };
  add(braid::priority::low, 'l');
  add(braid::priority::normal, 'n');
  add(braid::priority::high, 'h');
  REQUIRE(where.wait_idle());
  CHECK(order == "hnl");
  order.clear();
  for (int i = 0; i < 17; ++i) add(braid::priority::high, 'h');
  add(braid::priority::normal, 'n');
  REQUIRE(where.wait_idle());
  CHECK(order == std::string(16, 'h') + "nh");
  order.clear();
  for (int i = 0; i < 300; ++i) add(braid::priority::normal, 'n');
  add(braid::priority::low, 'l');
  REQUIRE(where.wait_idle());
  CHECK(order.back() == 'n');
}

TEST_CASE("a job that waits for the promise of a later job finds it on any thread") {
  const watchdog patience(60s);
  manual_executor jobs;
  promise<int> given;
  auto waits = spawn(jobs, [&given] { return given.get_future().get(); });
  REQUIRE(post(jobs, [&given] { static_cast<void>(given.set_value(3)); }));
  std::thread other([&jobs] { CHECK(jobs.wait_idle()); });
  other.join();
  CHECK(waits.get() == 3);
}

TEST_CASE("a job that a worker of a pool runs is no job of that pool, and its forks run at once") {
  const watchdog patience(60s);
  pool workers({.workers = 2});
  bool is_there = true;
  const auto poll_there = [&] {
    manual_executor jobs;  // made by the worker, so that no other thread polls
    REQUIRE(post(jobs, [&] {
      is_there = workers.is_current();
      const auto mine = here();
      CHECK(braid::fork_join(&here, &here) == std::tuple(mine, mine));
      int ran = 0;
      task_group group;
      group.run([&ran] { ++ran; });
      CHECK(ran == 1);
      CHECK(group.wait());
    }));
    return jobs.poll();
  };
  CHECK(spawn(workers, poll_there).get());
  CHECK_FALSE(is_there);
}
