// tests/task/task_group_test.cpp: whatever a group was given has ended when it was waited for.
#include <braid/task/fork_join.hpp>

#include <braid/task/detail/default_pool.hpp>
#include <braid/task/inline_executor.hpp>
#include <braid/task/manual_executor.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/worker.hpp>

#include <doctest/doctest.h>

#include <tests/support/chosen_pool.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/stolen.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <latch>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <thread>

using braid::acquire;
using braid::errc;
using braid::relaxed;
using braid::release;
using braid::run_in;
using braid::task_group;
using braid::testing::begun;
using namespace std::chrono_literals;

namespace {

using pool = braid::testing::chosen_pool;

/// Ends the program when a test of this file hangs.
struct watched {
  braid::testing::watchdog dog{100s};
};

/// Counts calls, from any thread.
class tally {
 public:
  void add() { calls_.fetch_add(1, relaxed); }
  [[nodiscard]] auto calls() const -> int { return calls_.load(relaxed); }

 private:
  braid::atomic<int> calls_{0};
};

/// A tree of functions that all belong to one group.
void grow(task_group& group, tally& count, int height) {
  count.add();
  if (height == 0) return;
  for (int i = 0; i < 3; ++i) group.run([&group, &count, height] { grow(group, count, height - 1); });
}

}  // namespace

TEST_CASE_FIXTURE(watched, "a wait returns when all functions have ended, and the group goes on") {
  for (const unsigned workers : {1U, 2U, 3U}) {
    pool where({.workers = workers});
    run_in(where, [] {
      task_group group;
      tally count;
      for (int round = 1; round <= 3; ++round) {
        for (int i = 0; i < 1000; ++i) group.run([&count] { count.add(); });
        CHECK(group.wait());
        CHECK(count.calls() == 1000 * round);
      }
    });
  }
}

TEST_CASE_FIXTURE(watched, "functions of a group give it more functions") {
  for (const unsigned workers : {1U, 2U, 3U}) {
    pool where({.workers = workers});
    run_in(where, [] {
      task_group group;
      tally count;
      grow(group, count, 7);
      CHECK(group.wait());
      CHECK(count.calls() == 3280);  // 1 + 3 + 9 + ... + 3^7
    });
  }
}

TEST_CASE_FIXTURE(watched, "the destructor waits") {
  pool where({.workers = 2});
  run_in(where, [] {
    tally count;
    {
      task_group group;
      for (int i = 0; i < 100; ++i) group.run([&count] { count.add(); });
    }
    CHECK(count.calls() == 100);
  });
}

TEST_CASE_FIXTURE(watched, "functions can be run from forks, below and above the group") {
  pool where({.workers = 2});
  run_in(where, [] {
    tally count;
    task_group group;
    for (int i = 0; i < 200; ++i) {
      const auto [left, right] = braid::fork_join(
          [&] {
            group.run([&count] { count.add(); });
            return 1;
          },
          [&] {
            for (int k = 0; k < 3; ++k) group.run([&count] { count.add(); });
            return 2;
          });
      CHECK(left + right == 3);
    }
    CHECK(group.wait());
    CHECK(count.calls() == 800);
  });
}

TEST_CASE_FIXTURE(watched, "a wait runs all that its worker has forked for the group before it helps elsewhere" *
                               braid::testing::needs_threads()) {
  pool where({.workers = 2});
  braid::atomic<bool> is_offered{false};
  braid::atomic<bool> own_ran{false};
  braid::atomic<bool> other_ran{false};
  bool own_was_first = false;
  const auto offers_a_fork = [&] {
    braid::fork_join(
        [&] {
          braid::detail::current_worker()->forks.ask();
          braid::fork_join([] {}, [] {});   // its push answers the question: the fork below is shared
          is_offered.store(true, release);  // edge task_group_test.offer: publish
          while (!own_ran.load(relaxed) && !other_ran.load(relaxed)) std::this_thread::yield();
        },
        [&] {
          own_was_first = own_ran.load(relaxed);
          other_ran.store(true, relaxed);
        });
  };
  run_in(where, [&] {
    REQUIRE(braid::post(where, offers_a_fork));
    while (!is_offered.load(acquire)) std::this_thread::yield();  // edge task_group_test.offer: observe
    task_group group;
    braid::fork_join([&] { group.run([] {}); },  // the second lies further down than the first did
                     [&] { group.run([&] { own_ran.store(true, relaxed); }); });
    CHECK(group.wait());
  });
  CHECK(where.wait_idle());
  CHECK(own_was_first);
}

TEST_CASE_FIXTURE(watched, "a group may be waited for in a fork while others wait further out") {
  pool where({.workers = 2});
  run_in(where, [] {
    tally count;
    task_group outer;
    for (int i = 0; i < 10; ++i) outer.run([&count] { count.add(); });
    braid::fork_join(
        [&] {
          task_group inner;
          for (int i = 0; i < 10; ++i) inner.run([&count] { count.add(); });
          CHECK(inner.wait());
          CHECK(outer.wait());
          CHECK(count.calls() >= 20);
        },
        [&] { outer.run([&count] { count.add(); }); });
    CHECK(outer.wait());
    CHECK(count.calls() == 21);
  });
}

TEST_CASE_FIXTURE(watched,
                  "a stolen function of an inner group may wait for an outer one" * braid::testing::needs_threads()) {
  pool where({.workers = 2});
  run_in(where, [] {
    tally count;
    task_group outer;
    outer.run([&count] { count.add(); });
    task_group inner;
    begun there;
    inner.run([&] {
      there.raise();
      CHECK(outer.wait());
      count.add();
    });
    there.await();
    CHECK(inner.wait());
    CHECK(count.calls() == 2);
  });
}

TEST_CASE_FIXTURE(watched, "what a posted job has run for a group that lives elsewhere is run") {
  pool where({.workers = 2});
  tally count;
  task_group group(where);
  for (int i = 0; i < 50; ++i)
    REQUIRE(braid::post(where, [&] {
      for (int k = 0; k < 4; ++k) group.run([&count] { count.add(); });
    }));
  CHECK(where.wait_idle());
  CHECK(group.wait());
  CHECK(count.calls() == 200);
}

TEST_CASE_FIXTURE(watched, "a thread that is no worker posts its functions and waits for them") {
  pool where({.workers = 2});
  tally count;
  task_group group(where);
  for (int i = 0; i < 500; ++i)
    group.run([&] {
      if (where.is_current()) count.add();
    });
  CHECK(group.wait());
  CHECK(count.calls() == 500);
  task_group of_process;
  of_process.run([&] {
    if (braid::detail::default_pool().is_current()) count.add();
  });
  CHECK(of_process.wait());
  CHECK(count.calls() == 501);
}

TEST_CASE_FIXTURE(watched, "the only worker waits for what another thread has posted there for its group") {
  pool where({.workers = 1});
  run_in(where, [] {
    task_group group;
    tally count;
    std::thread([&] { group.run([&count] { count.add(); }); }).join();
    CHECK(group.wait());
    CHECK(count.calls() == 1);
  });
}

TEST_CASE_FIXTURE(watched, "a wait rethrows one of what functions threw, and the group goes on") {
  for (const unsigned workers : {1U, 2U}) {
    pool where({.workers = workers});
    run_in(where, [] {
      task_group group;
      for (int i = 0; i < 10; ++i) group.run([] { throw std::runtime_error("a function"); });
      CHECK_THROWS_WITH_AS(static_cast<void>(group.wait()), "a function", std::runtime_error);
      tally count;
      group.run([&count] { count.add(); });
      CHECK(group.wait());
      CHECK(count.calls() == 1);
    });
  }
}

TEST_CASE_FIXTURE(watched, "after a failure functions that have not begun are left out, and those that have end first" *
                               braid::testing::needs_threads()) {
  pool where({.workers = 2});
  run_in(where, [] {
    task_group group;
    begun there;
    bool ended = false;
    tally count;
    group.run([&] {
      there.raise();
      std::this_thread::sleep_for(1ms);
      ended = true;
    });
    there.await();
    group.run([&count] { count.add(); });                       // the older, so run later
    group.run([] { throw std::runtime_error("a function"); });  // the newest goes first
    CHECK_THROWS(static_cast<void>(group.wait()));
    CHECK(ended);
  });
}

TEST_CASE_FIXTURE(watched, "after a stop functions are left out, and the wait says so") {
  pool where({.workers = 2});
  run_in(where, [] {
    std::stop_source source;
    tally count;
    task_group group(source.get_token());
    group.run([&count] { count.add(); });
    CHECK(group.wait());
    source.request_stop();
    group.run([&count] { count.add(); });
    const auto stopped = group.wait();
    REQUIRE_FALSE(stopped);
    CHECK(stopped.error() == errc::stopped);
    CHECK(count.calls() == 1);
    braid::stop_flag flag;
    flag.request(errc::deadline_exceeded);
    task_group flagged(flag);
    flagged.run([] {});
    CHECK(flagged.wait() == braid::fail(errc::deadline_exceeded));
  });
}

TEST_CASE_FIXTURE(watched, "captures are gone before the wait returns") {
  pool where({.workers = 2});
  const auto held = std::make_shared<int>(0);
  task_group group(where);
  for (int i = 0; i < 50; ++i) group.run([held] {});
  CHECK(group.wait());
  CHECK(held.use_count() == 1);
}

TEST_CASE_FIXTURE(watched, "functions that a shutdown drops, or a closed pool refuses, are told" *
                               braid::testing::needs_threads()) {
  pool where({.workers = 1});
  std::latch entered(1);
  std::latch opened(1);
  task_group group(where);
  group.run([&] {
    entered.count_down();
    opened.wait();
  });
  entered.wait();
  tally count;
  const auto held = std::make_shared<int>(0);
  group.run([&count, held] { count.add(); });
  std::thread ends([&where] { CHECK(where.shutdown(braid::shutdown_mode::drop_pending)); });
  // The pool refuses jobs before it drops any: until the drop, the worker would still run what it finds.
  CHECK(braid::testing::eventually([&held] { return held.use_count() == 1; }));
  opened.count_down();
  ends.join();
  CHECK(group.wait() == braid::fail(errc::dropped));
  CHECK(count.calls() == 0);
  group.run([&count] { count.add(); });
  CHECK(group.wait() == braid::fail(errc::dropped));
}

TEST_CASE_FIXTURE(watched, "executors without threads run functions where they are run, or waited for") {
  const auto run_on = [](braid::executor& where) {
    tally count;
    run_in(where, [&] {
      task_group group(where);
      grow(group, count, 4);
      CHECK(group.wait());
    });
    CHECK(count.calls() == 121);
  };
  braid::manual_executor waits;
  run_on(waits);
  braid::inline_executor posts;
  run_on(posts);
}
