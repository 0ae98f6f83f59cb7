// tests/task/spare_threads_test.cpp: jobs that wait do not keep each other from going on.
#include <braid/task/detail/spare_threads.hpp>

#include <braid/task/fork_join.hpp>
#include <braid/task/future.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>
#include <braid/task/when_all.hpp>
#include <braid/task/worker.hpp>
#include <braid/thread/this_thread.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <latch>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace braid;
using testing::eventually;
using testing::watchdog;

namespace {

constexpr std::array with_threads = {scheduler::work_stealing, scheduler::least_loaded, scheduler::shared_queue};

template <typename Scene>
void with_each_scheduler(unsigned workers, Scene&& scene) {
  const watchdog dog(300s);
  for (const scheduler chosen : with_threads) {
    CAPTURE(static_cast<int>(chosen));
    pool where({.workers = workers, .scheduler = chosen});
    scene(where);
  }
}

}  // namespace

TEST_CASE("a fork may wait for what another of the same join makes, on one worker too") {
  with_each_scheduler(1, [](pool& where) {
    promise<int> made;
    auto ahead = made.get_future();
    int seen = 0;
    run_in(where, [&] { fork_join([&] { seen = ahead.get(); }, [&] { REQUIRE(made.set_value(7).has_value()); }); });
    CHECK(seen == 7);
    CHECK(where.statistics().spare_threads == 1);
  });
}

TEST_CASE("what a fork has forked is run although each of them waits") {
  constexpr int depth = 40;  // more than the stolen forks that one stack may hold
  with_each_scheduler(1, [](pool& where) {
    std::array<promise<int>, depth> made;
    std::array<future<int>, depth> ahead;
    for (int i = 0; i < depth; ++i) ahead[i] = made[i].get_future();
    std::array<int, depth> seen{};
    const auto descend = [&](const auto& self, int level) -> void {
      if (level < depth)
        fork_join([&] { seen[level] = ahead[level].get(); }, [&] { self(self, level + 1); });
      else
        for (int i = 0; i < depth; ++i) static_cast<void>(made[i].set_value(i + 1));
    };
    run_in(where, [&] { descend(descend, 0); });
    for (int i = 0; i < depth; ++i) CHECK(seen[i] == i + 1);
  });
}

TEST_CASE("a job goes on although one that waits for it was begun while it waited") {
  with_each_scheduler(1, [](pool& where) {
    promise<void> from_outside;
    promise<int> first_half;
    std::atomic<bool> waits{false};
    auto half = first_half.get_future().share();
    auto a = spawn(where, [&, open = from_outside.get_future()]() mutable {
      waits = true;
      open.get();
      static_cast<void>(first_half.set_value(1));
    });
    auto b = spawn(where, [&] { return half.get() + 1; });
    REQUIRE(eventually([&] { return waits.load() && where.statistics().jobs == 2; }));
    static_cast<void>(from_outside.set_value());
    CHECK(b.get() == 2);
    a.get();
    CHECK(where.statistics().spare_threads >= 1);
  });
}

TEST_CASE("two jobs of one worker that wait for halves of each other both end") {
  with_each_scheduler(1, [](pool& where) {
    promise<int> of_a;
    promise<int> of_b;
    auto half_a = of_a.get_future();
    auto half_b = of_b.get_future();
    auto a = spawn(where, [&] {
      const int got = half_b.get();
      static_cast<void>(of_a.set_value(got + 1));
      return got;
    });
    auto b = spawn(where, [&] {
      static_cast<void>(of_b.set_value(1));
      return half_a.get();
    });
    CHECK(a.get() == 1);
    CHECK(b.get() == 2);
  });
}

TEST_CASE("three jobs in a ring on two workers end") {
  with_each_scheduler(2, [](pool& where) {
    for (int round = 0; round < 200; ++round) {
      std::array<promise<int>, 3> made;
      std::array<shared_future<int>, 3> seen;
      for (std::size_t i = 0; i < 3; ++i) seen[i] = made[i].get_future().share();
      std::vector<future<int>> all;
      for (std::size_t i = 0; i < 3; ++i)
        all.push_back(spawn(where, [&, i] {
          if (i != 0)
            static_cast<void>(made[i].set_value(seen[i - 1].get() + 1));
          else
            static_cast<void>(made[0].set_value(0));
          return seen[(i + 1) % 3].get() + seen[2].get();
        }));
      int sum = 0;
      for (auto& each : all) sum += each.get();
      CHECK(sum == 1 + 2 + 0 + 3 * 2);
    }
  });
}

TEST_CASE("what a job waits for and has spawned itself is run on its own thread") {
  with_each_scheduler(1, [](pool& where) {
    const auto tree = [&](auto& self, int depth) -> int {
      if (depth == 0) return 1;
      auto left = spawn(where, [&, depth] { return self(self, depth - 1); });
      auto right = spawn(where, [&, depth] { return self(self, depth - 1); });
      return left.get() + right.get();
    };
    const int leaves = spawn(where, [&] { return tree(tree, 5); }).get();
    CHECK(leaves == 32);
    CHECK(where.statistics().spare_threads == 0);
  });
}

TEST_CASE("jobs run in the order in which one posted them that waits meanwhile") {
  for (const int count : {20, 64, 65, 300}) {
    for (const scheduler chosen : with_threads) {
      CAPTURE(count);
      CAPTURE(static_cast<int>(chosen));
      const watchdog dog(300s);
      pool where({.workers = 1, .scheduler = chosen});
      std::vector<int> ran;
      spawn(where, [&] {
        promise<void> never;
        const auto open = never.get_future();
        for (int i = 0; i < count; ++i) REQUIRE(post(where, [&ran, i] { ran.push_back(i); }));
        CHECK_FALSE(open.wait_for(200us));
      }).get();
      REQUIRE(where.wait_idle());
      CHECK(ran.size() == static_cast<std::size_t>(count));
      CHECK(std::ranges::is_sorted(ran));
    }
  }
}

TEST_CASE("the numbers of spare threads that have ended are used again") {
  const watchdog dog(300s);
  std::atomic<std::size_t> highest{0};
  {
    pool where({.workers = 1, .on_worker_start = [&](std::size_t index) {
                  for (std::size_t seen = highest; seen < index && !highest.compare_exchange_weak(seen, index);) {}
                }});
    for (int round = 0; round < 30; ++round) {
      promise<void> from_outside;
      const auto open = from_outside.get_future().share();
      std::vector<future<void>> all;
      for (int i = 0; i < 10; ++i) all.push_back(spawn(where, [&] { open.wait(); }));
      spawn(where, [&] { static_cast<void>(from_outside.set_value()); }).get();
      for (auto& each : all) each.get();
    }
  }
  CHECK(highest <= 2 * 64);  // those that end keep theirs for a moment
}

TEST_CASE("jobs that wait in a deep row end, whatever the limit of spare threads is") {
  const watchdog dog(300s);
  for (const unsigned max_count : {0U, 1U, 4U, 64U}) {
    CAPTURE(max_count);
    pool where({.workers = 1, .max_spare_threads = max_count});
    const auto deep = [&](auto& self, int depth) -> int {
      return depth == 0 ? 0 : spawn(where, [&, depth] { return self(self, depth - 1); }).get() + 1;
    };
    const int reached = spawn(where, [&] { return deep(deep, 200); }).get();
    CHECK(reached == 200);
    CHECK(where.statistics().spare_threads <= max_count);
  }
}

TEST_CASE("a pool ends in every way while spare threads work") {
  const watchdog dog(300s);
  for (const shutdown_mode mode : {shutdown_mode::drain, shutdown_mode::drop_pending, shutdown_mode::stop_now}) {
    for (int round = 0; round < 50; ++round) {
      promise<void> opens;
      auto open = opens.get_future().share();
      pool where({.workers = 2});
      std::atomic<int> waiting{0};
      std::vector<future<void>> all;
      for (int i = 0; i < 6; ++i)
        all.push_back(spawn(where, [&] {
          ++waiting;
          open.wait();
        }));
      REQUIRE(eventually([&] { return waiting.load() == 6; }));
      std::thread ends([&] { static_cast<void>(where.shutdown(mode)); });
      static_cast<void>(opens.set_value());
      ends.join();
      for (auto& each : all) each.get();
    }
  }
}

TEST_CASE("a pool is not idle while a job of it waits") {
  with_each_scheduler(1, [](pool& where) {
    promise<void> opens;
    auto open = opens.get_future().share();
    std::atomic<int> begun{0};
    std::atomic<bool> idle{false};
    for (int i = 0; i < 3; ++i)
      REQUIRE(post(where, [&] {
        ++begun;
        open.wait();
      }));
    std::thread waits([&] {
      static_cast<void>(where.wait_idle());
      idle = true;
    });
    REQUIRE(eventually([&] { return begun.load() == 3; }));
    CHECK(!idle);
    static_cast<void>(opens.set_value());
    waits.join();
    CHECK(idle);
  });
}

TEST_CASE("spare threads are called like workers, have their hooks, and are used again") {
  const watchdog dog(300s);
  std::mutex guard;
  std::set<std::size_t> begun;
  std::set<std::size_t> ended;
  {
    pool where({.workers = 1,
                .name = "named",
                .on_worker_start =
                    [&](std::size_t index) {
                      const std::lock_guard lock(guard);
                      begun.insert(index);
                    },
                .on_worker_stop =
                    [&](std::size_t index) {
                      const std::lock_guard lock(guard);
                      ended.insert(index);
                    }});
    for (int round = 0; round < 20; ++round) {
      promise<void> opens;
      auto a = spawn(where, [open = opens.get_future()]() mutable { open.get(); });
      auto b = spawn(where, [] { return this_thread::name(); });
      CHECK(b.get() == "named-1");
      static_cast<void>(opens.set_value());
      a.get();
    }
    CHECK(where.statistics().spare_threads == 1);
  }
  CHECK(begun == std::set<std::size_t>{0, 1});
  CHECK(ended == begun);
}

TEST_CASE("spare threads that nobody needs any more end") {
  const watchdog dog(300s);
  std::atomic<int> alive{0};
  pool where({.workers = 1,
              .on_worker_start = [&](std::size_t) { ++alive; },
              .on_worker_stop = [&](std::size_t) { --alive; }});
  promise<void> opens;
  auto open = opens.get_future().share();
  std::atomic<int> begun{0};
  for (int i = 0; i < 10; ++i)
    REQUIRE(post(where, [&] {
      ++begun;
      open.wait();
    }));
  REQUIRE(eventually([&] { return begun == 10; }));
  CHECK(where.statistics().spare_threads == 9);
  static_cast<void>(opens.set_value());
  REQUIRE(where.wait_idle());
  CHECK(eventually([&] { return alive == 2; }));
}

TEST_CASE("a thousand pools with spare threads leave nothing behind") {
  const watchdog dog(300s);
  std::atomic<int> alive{0};
  for (int round = 0; round < 1000; ++round) {
    pool where({.workers = 1,
                .on_worker_start = [&](std::size_t) { ++alive; },
                .on_worker_stop = [&](std::size_t) { --alive; }});
    promise<void> opens;
    auto a = spawn(where, [open = opens.get_future()]() mutable { open.get(); });
    auto b = spawn(where, [&] { static_cast<void>(opens.set_value()); });
    a.get();
    b.get();
    CHECK(where.shutdown(round % 2 == 0 ? shutdown_mode::drain : shutdown_mode::stop_now));
    CHECK(alive == 0);
  }
}

TEST_CASE("what a job has forked is for others while it waits for what is no job") {
  with_each_scheduler(2, [](pool& where) {
    pool other({.workers = 1});
    std::latch held(1);
    std::latch opens(1);
    std::atomic<bool> forked{false};
    const bool was_run = run_in(where, [&] {
      REQUIRE(post(where, [&] {  // from here on nobody asks for forks
        held.count_down();
        opens.wait();
      }));
      held.wait();
      fork_join([] {}, [] {});  // answers earlier requests of thieves
      const auto wait = [&] {
        CHECK(braid::detail::current_worker()->forks.private_size() == 1);
        opens.count_down();
        return run_in(other, [&] { return eventually([&] { return forked.load(); }); });
      };
      const auto [ran, nothing] = fork_join(wait, [&] { forked = true; });
      return ran;
    });
    CHECK(was_run);
    CHECK(where.wait_idle());  // the posted job no longer looks at the latch
  });
}

TEST_CASE("a job forks, waits and joins at a seat where others do the same") {
  with_each_scheduler(2, [](pool& where) {
    for (int round = 0; round < 100; ++round) {
      promise<int> opens;
      auto open = opens.get_future().share();
      std::vector<future<int>> all;
      for (int i = 0; i < 6; ++i)
        all.push_back(spawn(where, [&] {
          const auto [left, right] = fork_join([&] { return open.get(); }, [] { return 10; });
          task_group group(where);
          std::atomic<int> sum{0};
          group.run([&] { sum += left; });
          group.run([&] { sum += right + open.get(); });
          REQUIRE(group.wait());
          return sum.load();
        }));
      all.push_back(spawn(where, [&] {
        static_cast<void>(opens.set_value(1));
        return 12;
      }));
      const std::vector<int> sums = when_all(std::move(all)).get();
      CHECK(std::ranges::count(sums, 12) == 7);
    }
  });
}
