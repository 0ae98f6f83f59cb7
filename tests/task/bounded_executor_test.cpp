// tests/task/bounded_executor_test.cpp: a bounded number of jobs waits, and what comes beyond that is told or waits.
#include <braid/task/executors.hpp>
#include <braid/task/future.hpp>
#include <braid/task/manual_executor.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <tests/support/eventually.hpp>
#include <tests/support/watchdog.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

using namespace braid;
using testing::eventually;
using namespace std::chrono_literals;

namespace {

/// A pool whose only worker is held, and a bounded way into it.
struct scene {
  explicit scene(bounded_executor::options options, scheduler chosen = scheduler::work_stealing)
      : where({.workers = 1, .scheduler = chosen}), entrance(where, options) {
    std::latch begun(1);
    REQUIRE(post(where, [this, &begun] {
      begun.count_down();
      held.wait();
    }));
    begun.wait();
  }
  ~scene() { release(); }

  void release() {
    if (!held.try_wait()) held.count_down();
  }

  testing::watchdog dog{60s};
  std::latch held{1};
  std::atomic<int> ran = 0;
  pool where;
  bounded_executor entrance;
};

auto code_of(future<void>& failed) -> std::error_code {
  try {
    failed.get();
  } catch (const std::system_error& thrown) {
    return thrown.code();
  }
  return {};
}

constexpr auto with_threads = {scheduler::work_stealing, scheduler::least_loaded, scheduler::shared_queue};

}  // namespace

TEST_CASE("what comes beyond the bound is refused, and says that it is full") {
  for (const scheduler chosen : with_threads) {
    scene s({.capacity = 2, .full = when_full::refuse}, chosen);
    const auto count = [&s] { ++s.ran; };
    CHECK(post(s.entrance, count));
    auto second = spawn(s.entrance, count);
    CHECK(s.entrance.pending() == 2);
    CHECK(post(s.entrance, count).error() == errc::full);
    auto third = spawn(s.entrance, count);
    CHECK(code_of(third) == errc::full);
    CHECK(try_spawn(s.entrance, count).error() == errc::full);
    s.release();
    second.get();
    CHECK(eventually([&s] { return s.entrance.pending() == 0; }));
    CHECK(post(s.entrance, count));
    REQUIRE(s.where.wait_idle());
    CHECK(s.ran == 3);
    REQUIRE(s.where.shutdown(shutdown_mode::drain));
    CHECK(post(s.entrance, count).error() == errc::closed);
    CHECK(s.entrance.pending() == 0);
  }
}

TEST_CASE("or the caller runs it, and what that throws is reported as of the others") {
  testing::watchdog dog(60s);
  std::atomic<int> reported = 0;
  std::latch held(1);
  pool where({.workers = 1,
              .on_error = [&reported](const std::exception_ptr&, const error_callback::origin&) { ++reported; }});
  bounded_executor entrance(where, {.capacity = 1, .full = when_full::run_inline});
  CHECK(post(where, [&held] { held.wait(); }));
  CHECK(post(entrance, [] {}));
  std::thread::id by;
  CHECK(post(entrance, [&by] { by = std::this_thread::get_id(); }));
  CHECK(by == std::this_thread::get_id());
  CHECK(post(entrance, [] { throw std::runtime_error("here"); }));
  CHECK(reported == 1);
  CHECK(spawn(entrance, [] { return 7; }).get() == 7);
  held.count_down();
}

TEST_CASE("or the caller waits until half of the room is free, and those that come later wait behind it") {
  for (const scheduler chosen : with_threads) {
    std::size_t longest = 0;  // without a lock: one worker runs the jobs
    scene s({.capacity = 4}, chosen);
    std::vector<std::thread> producers;
    std::atomic<int> posted = 0;
    for (int i = 0; i < 3; ++i)
      producers.emplace_back([&] {
        for (int n = 0; n < 200; ++n) {
          if (post(s.entrance, [&] {
                longest = std::max(longest, s.entrance.pending());
                ++s.ran;
              }))
            ++posted;
        }
      });
    CHECK(eventually([&s] { return s.entrance.pending() == 4; }));
    CHECK(posted <= 4);
    s.release();
    for (std::thread& each : producers) each.join();
    REQUIRE(s.where.wait_idle());
    CHECK(s.ran == 600);
    CHECK(longest <= 4);
  }
}

TEST_CASE("what workers post, continuations, and values from elsewhere are not counted") {
  scene s({.capacity = 1, .full = when_full::refuse});
  promise<int> elsewhere;
  auto from_elsewhere = elsewhere.get_future().then(s.entrance, [](int value) { return value + 1; });
  auto first = spawn(s.entrance, [&s] {
    for (int i = 0; i < 10; ++i)
      if (post(s.entrance, [&s] { ++s.ran; })) continue;
    return 1;
  });
  auto next = std::move(first).then([](int value) { return 2 * value; });
  CHECK(s.entrance.pending() == 1);
  CHECK(elsewhere.set_value(5).has_value());  // while it is full
  s.release();
  CHECK(next.get() == 2);
  CHECK(from_elsewhere.get() == 6);
  REQUIRE(s.where.wait_idle());
  CHECK(s.ran == 10);
}

TEST_CASE("a shutdown that drops what waits lets those that wait for room go on, and tells them") {
  scene s({.capacity = 2});
  auto one = spawn(s.entrance, [] {});
  auto other = spawn(s.entrance, [] {});
  std::error_code refused;
  std::thread late([&] {
    auto third = spawn(s.entrance, [] {});
    refused = code_of(third);
  });
  std::thread ending([&s] { CHECK(s.where.shutdown(shutdown_mode::drop_pending)); });
  CHECK(eventually([&s] { return s.entrance.pending() == 0; }));
  CHECK(code_of(one) == errc::dropped);
  CHECK(code_of(other) == errc::dropped);
  late.join();
  CHECK((refused == errc::closed || refused == errc::dropped));
  s.release();
  ending.join();
}

TEST_CASE("where jobs run on the threads that wait for them, a post that waits runs some") {
  testing::watchdog dog(60s);
  manual_executor where;
  bounded_executor entrance(where, {.capacity = 2});
  int ran = 0;
  for (int i = 0; i < 20; ++i) CHECK(post(entrance, [&ran] { ++ran; }));
  CHECK(ran >= 18);
  CHECK(where.wait_idle());
  CHECK(ran == 20);
}

TEST_CASE("the end of a bounded executor waits until what was posted to it has begun") {
  testing::watchdog dog(60s);
  std::latch held(1);
  std::atomic<int> ran = 0;
  pool where({.workers = 1});
  CHECK(post(where, [&held] { held.wait(); }));
  std::thread opener;
  {
    bounded_executor entrance(where);
    for (int i = 0; i < 10; ++i) CHECK(post(entrance, [&ran] { ++ran; }));
    opener = std::thread([&held] { held.count_down(); });
  }
  opener.join();
  CHECK(ran >= 9);  // the last of them may be in its first steps
}
