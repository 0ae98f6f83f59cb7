// tests/task/priority_test.cpp: urgent jobs go first, patient ones last, and neither waits for ever.
#include <braid/task/executor.hpp>

#include <braid/base/clock.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <latch>
#include <string>
#include <system_error>
#include <vector>

using braid::post;
using braid::priority;
using braid::scheduler;
using namespace std::chrono_literals;

namespace {

/// A pool with one worker that runs nothing until all is posted.
struct fixture {
  explicit fixture(scheduler chosen) : where({.workers = 1, .scheduler = chosen}) {
    REQUIRE(post(where, priority::high, [this] { opened.wait(); }));
  }

  void run() {
    opened.count_down();
    REQUIRE(where.wait_idle());
  }

  void post_to(priority level, char name, int count) {
    for (int i = 0; i < count; ++i) REQUIRE(post(where, level, [this, name] { order += name; }));
  }

  std::latch opened{1};
  std::string order;
  braid::testing::watchdog dog{60s};
  braid::pool where;
};

constexpr auto with_threads = {scheduler::work_stealing, scheduler::least_loaded, scheduler::shared_queue};

}  // namespace

TEST_CASE("urgent jobs run before those that came earlier, patient ones but one after those that came later") {
  for (const scheduler chosen : with_threads) {
    fixture f(chosen);
    f.post_to(priority::low, 'b', 2);
    f.post_to(priority::normal, 'n', 2);
    f.post_to(priority::high, 'l', 2);
    f.run();
    // How often the worker has looked while it had nothing to do decides whether one of these looks is a patient one's.
    const std::size_t early = f.order.find('b');
    if (early < f.order.rfind('n')) std::rotate(f.order.begin() + early, f.order.begin() + early + 1, f.order.end());
    CHECK(f.order == "llnnbb");
  }
}

TEST_CASE("a job of the normal lane starts after sixteen urgent ones at the latest") {
  for (const scheduler chosen : with_threads) {
    fixture f(chosen);
    f.post_to(priority::high, 'l', 100);
    f.post_to(priority::normal, 'n', 3);
    f.run();
    const std::size_t first = f.order.find('n');
    CHECK(first <= braid::detail::max_consecutive_high);
    CHECK(f.order.find('n', first + 1) <= first + 1 + braid::detail::max_consecutive_high);
    CHECK(f.order.size() == 103);
  }
}

TEST_CASE("a patient job starts although there are always others") {
  for (const scheduler chosen : with_threads) {
    fixture f(chosen);
    f.post_to(priority::normal, 'n', 1'000);
    f.post_to(priority::low, 'b', 2);
    f.run();
    CHECK(f.order.find('b') <= braid::detail::polls_between_low);
    CHECK(f.order.rfind('b') <= std::size_t{2} * braid::detail::polls_between_low);
  }
}

TEST_CASE("two jobs that post each other for ever keep no third from running, whichever lane they use") {
  for (const scheduler chosen : with_threads) {
    for (const priority level : {priority::normal, priority::high, priority::low}) {
      struct {
        void play() {
          if (!over) static_cast<void>(post(where, level, [this] { play(); }));
        }
        braid::pool where;
        priority level;
        bool over = false;  // the one worker alone touches it
      } game{.where = braid::pool({.workers = 1, .scheduler = chosen}), .level = level};
      const braid::testing::watchdog dog(60s);
      for (int i = 0; i < 2; ++i) REQUIRE(post(game.where, level, [&game] { game.play(); }));
      for (const priority third : {priority::normal, priority::high, priority::low}) {
        std::latch ran(1);
        REQUIRE(post(game.where, third, [&ran] { ran.count_down(); }));
        ran.wait();
      }
      REQUIRE(post(game.where, [&game] { game.over = true; }));
      CHECK(game.where.wait_idle());
    }
  }
}

TEST_CASE("what others post waits for few of the jobs that a worker posts itself, however long these are") {
  constexpr std::size_t posted = 50;
  const auto compute_for = [](braid::duration time) {
    const braid::time_point over = braid::steady_time().now() + time;
    while (braid::steady_time().now() < over) {}
  };
  for (const scheduler chosen : with_threads) {
    std::vector<int> begun_at;  // how many of the worker's own jobs had begun before each that was posted from here
    int begun = 0;
    std::latch opened(1);
    const braid::testing::watchdog dog(60s);
    braid::pool where({.workers = 1, .scheduler = chosen});
    std::function<void()> again = [&] {
      ++begun;
      compute_for(150us);
      if (begun_at.size() < posted) static_cast<void>(post(where, again));
    };
    REQUIRE(post(where, [&] {
      opened.wait();
      compute_for(1ms);  // jobs are known to be long from the start
      for (int i = 0; i < 2; ++i) static_cast<void>(post(where, again));
    }));
    for (std::size_t i = 0; i < posted; ++i) REQUIRE(post(where, [&] { begun_at.push_back(begun); }));
    opened.count_down();
    REQUIRE(where.wait_idle());
    REQUIRE(begun_at.size() == posted);
    CHECK(begun_at.front() <= 2);
    std::size_t rows = 1;
    for (std::size_t i = 1; i < begun_at.size(); ++i) {
      CHECK(begun_at[i] - begun_at[i - 1] <= 2);
      if (begun_at[i] != begun_at[i - 1]) ++rows;
    }
    CHECK(rows < posted);
  }
}

TEST_CASE("a shutdown runs or drops what is in every lane, and every lane refuses afterwards") {
  for (const auto mode : {braid::shutdown_mode::drain, braid::shutdown_mode::drop_pending}) {
    braid::pool where({.workers = 2});
    std::atomic<int> left = 3;  // two workers destroy captures
    struct token {
      explicit token(std::atomic<int>& count) : count_(&count) {}
      token(token&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
      ~token() {
        if (count_ != nullptr) --*count_;
      }
      std::atomic<int>* count_;
    };
    std::latch opened(1);
    for (int i = 0; i < 2; ++i) REQUIRE(post(where, [&opened] { opened.wait(); }));
    for (const priority level : {priority::normal, priority::high, priority::low})
      REQUIRE(post(where, level, [held = token(left)] {}));
    if (mode == braid::shutdown_mode::drain) opened.count_down();
    std::thread stopper([&] { CHECK(where.shutdown(mode)); });
    if (mode == braid::shutdown_mode::drop_pending) opened.count_down();
    stopper.join();
    CHECK(left == 0);
    for (const priority level : {priority::normal, priority::high, priority::low})
      CHECK(post(where, level, [] {}).error() == braid::errc::closed);
  }
}

TEST_CASE("spawned work has a priority, too") {
  fixture f(scheduler::shared_queue);
  const auto note = [&f](char name) { f.order += name; };
  const auto last = spawn(f.where, priority::low, note, 'b');
  const auto first = spawn(f.where, priority::high, note, 'l');
  f.run();
  CHECK(f.order == "lb");
  CHECK((last.is_ready() && first.is_ready()));
  REQUIRE(f.where.shutdown(braid::shutdown_mode::drain));
  CHECK_THROWS_AS(spawn(f.where, priority::high, note, 'x').get(), std::system_error);
}
