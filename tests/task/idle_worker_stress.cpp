// tests/task/idle_worker_stress.cpp: no worker sleeps beside work that it could run for longer than docs/pools.md says,
// whatever the work is. BRAID_STRESS=100 looks for a quarter of an hour.
#include <braid/task/detail/sleepers.hpp>

#include <braid/base/random.hpp>
#include <braid/coro/serial_executor.hpp>
#include <braid/task/executors.hpp>
#include <braid/task/fork_join.hpp>
#include <braid/task/future.hpp>
#include <braid/task/parallel.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/idle_monitor.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>
#include <vector>

using braid::pool;
using braid::priority;
using braid::scheduler;
using braid::testing::idle_chance;
using braid::testing::idle_monitor;
using braid::testing::idle_rule;
using braid::testing::scaled;
using braid::testing::work_board;
using namespace std::chrono_literals;

namespace {

// The bounds of docs/pools.md.
constexpr auto at_once = 2ms;            // what wakes a worker when it is placed: far more than a wake takes
constexpr auto behind_a_long_job = 5ms;  // two intervals of the monitor of the pool for each of two halvings

/// A pool, what it is given, and chance.
struct scene {
  pool& on;
  work_board& board;
  idle_chance chance;
  std::size_t workers;
};

/// One round: gives the pool items, from 0 on, and returns how many.
using form = std::size_t (*)(scene&);

constexpr scheduler every_scheduler[] = {scheduler::work_stealing, scheduler::least_loaded, scheduler::shared_queue};
constexpr const char* scheduler_names[] = {"work_stealing", "least_loaded", "shared_queue"};

void check(const char* name, form round, std::chrono::microseconds limit, idle_rule rule = idle_rule::parked_thread) {
  const std::uint64_t seed = braid::testing::printed_seed();
  const braid::testing::watchdog dog(120s);
  for (const scheduler each : every_scheduler) {
    for (const std::size_t workers : {2U, 5U}) {
      work_board board(idle_chance::max_items);
      pool on({.workers = static_cast<unsigned>(workers), .name = "idle", .scheduler = each});
      idle_monitor monitor(board, {.threads = "idle", .workers = workers, .limit = limit, .rule = rule});
      scene all{.on = on, .board = board, .chance = {.random = braid::random_source(seed)}, .workers = workers};
      for (std::size_t left = scaled(8); left > 0; --left) {
        board.finish_round(round(all));
        all.chance.pause();
      }
      monitor.stop();
      monitor.print(std::string(name) + ", " + scheduler_names[static_cast<int>(each)] + ", " +
                    std::to_string(workers));
      CHECK(monitor.violations() == 0);
    }
  }
}

/// Posts an item, in some lane.
void post(scene& in, std::size_t index, priority level) {
  const auto length = in.chance.length();
  work_board& board = in.board;
  static_cast<void>(braid::post(in.on, level, [&board, index, length] { board.leaf(index, length); }));
  in.board.offer(index);
}

void tree(scene& in, std::size_t first, std::size_t last, const std::vector<std::chrono::microseconds>& lengths) {
  if (last - first == 1) return in.board.leaf(first, lengths[first]);
  const std::size_t middle = first + (last - first) / 2;
  braid::fork_join(
      [&, first, middle] {
        in.board.offer(middle);
        tree(in, first, middle, lengths);
      },
      [&, middle, last] { tree(in, middle, last, lengths); });
}

auto list_lengths(scene& in) -> std::vector<std::chrono::microseconds> {
  std::vector<std::chrono::microseconds> all(in.chance.count());
  for (auto& each : all) each = in.chance.length();
  return all;
}

}  // namespace

TEST_CASE("the monitor proves that a worker sleeps beside work that is never posted") {
  const braid::testing::watchdog dog(60s);
  work_board board(2);
  const pool on({.workers = 2, .name = "idle"});
  idle_monitor monitor(board, {.threads = "idle", .workers = 2, .limit = at_once});
  board.offer(1);
  CHECK(braid::testing::eventually([&] { return monitor.violations() != 0; }));
}

TEST_CASE("the monitor proves that a worker is missing where threads wait within jobs") {
  const braid::testing::watchdog dog(60s);
  work_board board(2);
  const pool on({.workers = 2, .name = "idle"});
  idle_monitor monitor(board, {.threads = "idle", .workers = 2, .limit = at_once, .rule = idle_rule::missing_thread});
  board.offer(1);
  CHECK(braid::testing::eventually([&] { return monitor.violations() != 0; }));
}

TEST_CASE("no worker sleeps beside posts from outside") {
  const form round = [](scene& in) {
    const std::size_t count = in.chance.count();
    for (std::size_t i = 0; i < count; ++i) {
      post(in, i, priority::normal);
      if (in.chance.random.below(4) == 0) in.chance.pause();
    }
    return count;
  };
  check("posts from outside", round, behind_a_long_job);
}

TEST_CASE("no worker sleeps beside what a long job has posted") {
  const form round = [](scene& in) {
    const std::size_t count = in.chance.count();
    static_cast<void>(braid::post(in.on, [&in, count] {
      in.board.run(0, [&in, count] {
        for (std::size_t i = 1; i < count; ++i) post(in, i, priority::normal);
        std::this_thread::sleep_for(10ms);
      });
    }));
    in.board.offer(0);
    in.board.wait_for(count);
    return count;
  };
  check("posted by a long job", round, behind_a_long_job);
}

TEST_CASE("no worker sleeps beside jobs of high and low priority") {
  const form round = [](scene& in) {
    const std::size_t count = in.chance.count();
    for (std::size_t i = 0; i < count; ++i) {
      post(in, i, in.chance.random.below(2) == 0 ? priority::high : priority::low);
      if (in.chance.random.below(4) == 0) in.chance.pause();
    }
    return count;
  };
  check("high and low priority", round, at_once);
}

TEST_CASE("no worker sleeps beside a serial executor that has jobs") {
  const form round = [](scene& in) {
    constexpr std::size_t jobs = 3;
    std::deque<braid::serial_executor> strands;
    const std::size_t count = 1 + in.chance.random.below(idle_chance::max_items / jobs);
    for (std::size_t i = 0; i < count; ++i) {
      braid::serial_executor& one = strands.emplace_back(in.on);
      for (std::size_t job = i * jobs; job < (i + 1) * jobs; ++job) {
        const auto length = in.chance.length();
        work_board& board = in.board;
        const bool is_last = job + 1 == (i + 1) * jobs;
        static_cast<void>(braid::post(one, [&board, job, length, is_last] {
          board.leaf(job, length);
          if (!is_last) board.offer(job + 1);
        }));
        if (job == i * jobs) board.offer(job);
      }
      if (in.chance.random.below(4) == 0) in.chance.pause();
    }
    in.board.wait_for(count * jobs);
    return count * jobs;
  };
  check("strands", round, behind_a_long_job);
}

TEST_CASE("no worker sleeps beside the forks of a tree") {
  const form round = [](scene& in) {
    const auto lengths = list_lengths(in);
    braid::run_in(in.on, [&] { tree(in, 0, lengths.size(), lengths); });
    return lengths.size();
  };
  check("a tree of forks", round, at_once);
}

TEST_CASE("no worker sleeps beside the functions of a task_group") {
  const form round = [](scene& in) {
    const auto lengths = list_lengths(in);
    braid::run_in(in.on, [&] {
      braid::task_group all;
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        all.run([&in, &lengths, i] { in.board.leaf(i, lengths[i]); });
        in.board.offer(i);
      }
      static_cast<void>(all.wait());
    });
    return lengths.size();
  };
  check("a task_group", round, at_once);
}

TEST_CASE("no worker sleeps beside the rest of a loop") {
  const form round = [](scene& in) {
    const auto lengths = list_lengths(in);
    braid::run_in(in.on, [&] {
      for (std::size_t i = 0; i < lengths.size(); ++i) in.board.offer(i);
      braid::parallel_for(std::size_t{0}, lengths.size(), [&](std::size_t i) { in.board.leaf(i, lengths[i]); });
    });
    return lengths.size();
  };
  check("a loop", round, at_once);
}

TEST_CASE("a thread takes over from a job that waits while there is work") {
  const form round = [](scene& in) {
    constexpr std::size_t children = 3;
    const std::size_t parents = 1 + in.chance.random.below(idle_chance::max_items / (children + 1));
    for (std::size_t parent = 0; parent < parents; ++parent) {
      const std::size_t first = parent * (children + 1);
      const auto length = in.chance.length();
      const auto run = [&in, first, length] {
        in.board.leaf(first, 50us);
        std::vector<braid::future<void>> all;
        for (std::size_t i = first + 1; i <= first + children; ++i) {
          all.push_back(braid::spawn(in.on, [&in, i, length] { in.board.leaf(i, length); }));
          in.board.offer(i);
        }
        for (auto& each : all) each.get();
      };
      static_cast<void>(braid::post(in.on, run));
      in.board.offer(first);
    }
    in.board.wait_for(parents * (children + 1));
    static_cast<void>(in.on.wait_idle());
    return parents * (children + 1);
  };
  check("jobs that wait for futures", round, behind_a_long_job, idle_rule::missing_thread);
}
