// tests/coro/serial_jobs_test.cpp: a serial executor runs jobs one at a time, in order, and ends as its executor does.
#include <braid/coro/serial_executor.hpp>

#include <braid/base/clock.hpp>
#include <braid/task/detail/shared_timers.hpp>
#include <braid/task/inline_executor.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/sleeper.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

using braid::errc;
using braid::future;
using braid::inline_executor;
using braid::pool;
using braid::post;
using braid::relaxed;
using braid::scheduler;
using braid::serial_executor;
using braid::shutdown_mode;
using braid::spawn;
using braid::testing::eventually;
using braid::testing::failure_code;
using braid::testing::manual_executor;
using braid::testing::sleeper;
using namespace std::chrono_literals;

namespace {

struct watched {
  braid::testing::watchdog dog{60s};
};

}  // namespace

TEST_CASE("the jobs of a serial executor run in their order, in one turn of its executor") {
  manual_executor where;
  serial_executor one(where);
  std::string order;
  for (const char name : {'a', 'b', 'c'}) REQUIRE(post(one, [&order, name] { order += name; }));
  CHECK(where.pending() == 1);
  CHECK(order.empty());
  where.run();
  CHECK(order == "abc");
  CHECK(where.pending() == 0);
  REQUIRE(post(one, [&order] { order += 'd'; }));
  where.run();
  CHECK(order == "abcd");
}

TEST_CASE("what a job posts runs after what was posted before") {
  manual_executor where;
  serial_executor one(where);
  std::string order;
  REQUIRE(post(one, [&] {
    CHECK(post(one, [&order] { order += 'c'; }));
    order += 'a';
  }));
  REQUIRE(post(one, [&order] { order += 'b'; }));
  where.run_all();
  CHECK(order == "abc");
}

TEST_CASE("after many jobs in a row a serial executor lets others go first") {
  const braid::manual_clock clock;
  braid::detail::shared_timers timers(clock);
  manual_executor where;
  serial_executor one(where, timers);
  std::size_t ran = 0;
  std::size_t seen = 0;
  for (std::size_t i = 0; i < 2 * serial_executor::max_consecutive + 1; ++i) REQUIRE(post(one, [&ran] { ++ran; }));
  REQUIRE(post(where, [&] { seen = ran; }));
  where.run();
  CHECK(ran == serial_executor::max_consecutive);
  CHECK(where.pending() == 2);
  where.run();
  CHECK(seen == serial_executor::max_consecutive);
  where.run_all();
  CHECK(ran == 2 * serial_executor::max_consecutive + 1);
}

namespace {

/// A serial executor whose jobs take as long by its clock as the test says.
class measured {
 public:
  void post_jobs(int count, braid::duration each) {
    for (int i = 0; i < count; ++i)
      REQUIRE(post(one_, [this, each] {
        clock_.advance(each);
        ++ran_;
      }));
  }
  auto run_drain() -> int {
    const int before = ran_;
    where_.run();
    return ran_ - before;
  }
  [[nodiscard]] auto is_idle() const -> bool { return where_.pending() == 0; }

 private:
  braid::manual_clock clock_;
  braid::detail::shared_timers timers_{clock_};
  manual_executor where_;
  serial_executor one_{where_, timers_};
  int ran_ = 0;
};

}  // namespace

TEST_CASE("after long jobs a serial executor lets others go first") {
  measured jobs;
  jobs.post_jobs(6, serial_executor::max_drain);
  CHECK(jobs.run_drain() == 2);  // what comes before the first look is not measured
  jobs.post_jobs(8, serial_executor::max_drain / 4);
  CHECK(jobs.run_drain() == 2);
  CHECK(jobs.run_drain() == 2);
  CHECK(jobs.run_drain() == 8);  // looks behind the first, second, fourth and eighth
  CHECK(jobs.is_idle());
}

TEST_CASE("where short jobs of a serial executor become long, no more than four turns of them go by unmeasured") {
  int max_count = 0;
  for (int short_ones = 0; short_ones < 10 * 64; ++short_ones) {
    measured jobs;
    jobs.post_jobs(short_ones, 0us);
    jobs.post_jobs(6 * 64, serial_executor::max_drain);
    int unmeasured = -short_ones;
    for (int ran = jobs.run_drain(); ran > 2; ran = jobs.run_drain()) unmeasured += ran;
    max_count = std::max(max_count, unmeasured);
    while (!jobs.is_idle()) CHECK(jobs.run_drain() <= 2);
  }
  CHECK(max_count == 4 * 64);
}

TEST_CASE_FIXTURE(watched,
                  "with workers without number no two jobs of a serial executor run at once, nor out of order") {
  for (const auto chosen : {scheduler::work_stealing, scheduler::least_loaded, scheduler::shared_queue}) {
    pool where({.workers = 3, .scheduler = chosen});
    std::vector<int> order;  // no lock
    {
      serial_executor one(where);
      for (int i = 0; i < 1'000; ++i) REQUIRE(post(one, [&order, i] { order.push_back(i); }));
    }
    CHECK(order.size() == 1'000);
    CHECK(std::is_sorted(order.begin(), order.end()));
  }
}

TEST_CASE_FIXTURE(watched, "a serial executor holds up nobody but itself") {
  pool where({.workers = 2});
  serial_executor one(where);
  serial_executor other(where);
  std::latch opened(1);
  auto blocked = spawn(one, [&opened] { opened.wait(); });
  CHECK(spawn(other, [] { return 1; }).get() == 1);
  CHECK(spawn(where, [] { return 2; }).get() == 2);
  opened.count_down();
  blocked.get();
}

TEST_CASE("a job knows that its executor is current, also inside of another one") {
  manual_executor where;
  serial_executor outer(where);
  inline_executor in_place;
  serial_executor inner(in_place);
  bool both = false;
  REQUIRE(post(outer, [&] {
    CHECK_FALSE(inner.is_current());
    CHECK(post(inner, [&] { both = outer.is_current() && inner.is_current(); }));
    CHECK_FALSE(inner.is_current());
  }));
  where.run();
  CHECK(both);
  CHECK_FALSE(outer.is_current());
}

TEST_CASE_FIXTURE(watched,
                  "a job that would wait for its own executor is told so; one that waits for the pool is not") {
  pool where({.workers = 1});
  serial_executor one(where);
  auto own = spawn(one, [&] { return failure_code(spawn(one, [] {})); });
  auto others = spawn(one, [&] { return spawn(where, [] { return 3; }).get(); });
  CHECK(own.get() == errc::would_deadlock);
  CHECK(others.get() == 3);
}

TEST_CASE("what a job throws goes to the executor's report, and the others go on") {
  std::vector<std::string> heard;
  inline_executor where([&heard](const std::exception_ptr& error) { heard.push_back(braid::testing::text_of(error)); });
  serial_executor one(where);
  REQUIRE(post(one, [] { throw std::runtime_error("sour"); }));
  REQUIRE(post(one, [&heard] { heard.emplace_back("ran"); }));
  CHECK(heard == std::vector<std::string>{"sour", "ran"});
}

TEST_CASE("a serial executor over a closed executor refuses, from then on") {
  manual_executor where;
  serial_executor one(where);
  where.close();
  const auto captured = std::make_shared<int>(0);
  CHECK(post(one, [held = captured] {}).error() == errc::closed);
  CHECK(post(one, [held = captured] {}).error() == errc::closed);
  CHECK(failure_code(spawn(one, [held = captured] {})) == errc::closed);
  CHECK(captured.use_count() == 1);
}

TEST_CASE("what was accepted behind a job that is refused is dropped") {
  struct slow_to_refuse final : braid::executor {
    auto try_post(braid::job& /*work*/) noexcept -> bool override { return meanwhile(), false; }
    [[nodiscard]] auto is_current() const noexcept -> bool override { return false; }
    std::function<void()> meanwhile = [] {};
  } where;
  serial_executor one(where);
  std::optional<future<void>> behind;
  where.meanwhile = [&] { behind = spawn(one, [] {}); };
  CHECK(failure_code(spawn(one, [] {})) == errc::closed);
  CHECK(failure_code(*behind) == errc::dropped);
}

TEST_CASE("where the executor drops the turn all that waits is dropped") {
  manual_executor where;
  serial_executor one(where);
  auto first = spawn(one, [] {});
  auto second = spawn(one, [] {});
  where.drop();
  CHECK(failure_code(first) == errc::dropped);
  CHECK(failure_code(second) == errc::dropped);
  CHECK(failure_code(spawn(one, [] {})) == errc::closed);
}

TEST_CASE("where the executor closes in the middle of a turn, what was accepted runs, and no more is accepted") {
  const braid::manual_clock clock;
  braid::detail::shared_timers timers(clock);
  manual_executor where;
  serial_executor one(where, timers);
  std::size_t ran = 0;
  std::size_t refused = 0;
  for (std::size_t i = 0; i < 2 * serial_executor::max_consecutive; ++i)
    REQUIRE(post(one, [&] {
      if (++ran == 1) where.close();
      if (ran > serial_executor::max_consecutive && !post(one, [] {})) ++refused;
    }));
  where.run();
  CHECK(ran == 2 * serial_executor::max_consecutive);
  CHECK(refused == serial_executor::max_consecutive);
  CHECK(where.pending() == 0);
}

TEST_CASE_FIXTURE(watched, "the destructor waits for the jobs, also on the only worker") {
  pool where({.workers = 1});
  auto ran = spawn(where, [&where] {
    int count = 0;
    {
      serial_executor one(where);
      for (int i = 0; i < 100; ++i) static_cast<void>(post(one, [&count] { ++count; }));
    }
    return count;
  });
  CHECK(ran.get() == 100);

  std::optional<serial_executor> outside(std::in_place, where);
  std::latch opened(1);
  braid::atomic<bool> passed{false};
  REQUIRE(post(*outside, [&] {
    opened.wait();
    passed.store(true, relaxed);
  }));
  sleeper destroying([&] { outside.reset(); });
  CHECK(destroying.falls_asleep());
  CHECK_FALSE(passed.load(relaxed));
  opened.count_down();
  CHECK(eventually([&] { return destroying.returned(); }));
  CHECK(passed.load(relaxed));
}

TEST_CASE("work that asks for a token gets that of the executor below") {
  inline_executor where;
  serial_executor one(where);
  CHECK(one.stop_token() == where.stop_token());
}
