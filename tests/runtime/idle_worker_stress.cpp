// tests/runtime/idle_worker_stress.cpp: no worker of a merged runtime sleeps beside a job, or beside a task of its own
// loop that could go on, for longer than docs/pools.md says. BRAID_STRESS=100 looks for some minutes.
#include <braid/runtime/runtime.hpp>

#include <braid/base/random.hpp>
#include <braid/coro/bridge.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/task.hpp>

#include <doctest/doctest.h>

#include <tests/support/idle_monitor.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

using braid::relaxed;
using braid::runtime;
using braid::runtime_shape;
using braid::scheduler;
using braid::testing::idle_chance;
using braid::testing::idle_monitor;
using braid::testing::scaled;
using braid::testing::work_board;
using namespace std::chrono_literals;

namespace {

constexpr unsigned workers = 3;

struct scene {
  runtime& on;
  work_board& board;
  idle_chance chance;
  std::array<braid::async_event, idle_chance::max_items> events;
  std::array<braid::atomic<int>, idle_chance::max_items> homes;  // the thread of each task; 0 until it has begun
};

/// Waits at home, and then goes on as an item.
auto act(scene& in, std::size_t index, std::chrono::microseconds length) -> braid::task<void> {
  in.homes[index].store(braid::testing::own_thread_number(), relaxed);
  co_await in.events[index];
  in.board.leaf(index, length);
}

/// Tasks on all loops, which are resumed one by one from outside.
auto resume_tasks(scene& in) -> std::size_t {
  const std::size_t count = in.chance.count();
  for (std::size_t i = 0; i < count; ++i) {
    in.events[i].reset();
    in.homes[i].store(0, relaxed);
    braid::loop& home = *in.on.loops()[in.chance.random.below(workers)];
    static_cast<void>(braid::spawn(home, act(in, i, in.chance.length())));
  }
  for (std::size_t i = 0; i < count; ++i)
    while (in.homes[i].load(relaxed) == 0) std::this_thread::sleep_for(100us);
  in.chance.pause();
  for (std::size_t i = 0; i < count; ++i) {
    in.events[i].set();
    in.board.offer(i, in.homes[i].load(relaxed));
    if (in.chance.random.below(4) == 0) in.chance.pause();
  }
  return count;
}

auto post_jobs(scene& in) -> std::size_t {
  const std::size_t count = in.chance.count();
  for (std::size_t i = 0; i < count; ++i) {
    work_board& board = in.board;
    static_cast<void>(
        braid::post(in.on.workers(), [&board, i, length = in.chance.length()] { board.leaf(i, length); }));
    board.offer(i);
    if (in.chance.random.below(4) == 0) in.chance.pause();
  }
  return count;
}

void check(const char* name, std::size_t (*round)(scene&), std::chrono::microseconds limit) {
  const std::uint64_t seed = braid::testing::printed_seed();
  const braid::testing::watchdog dog(120s);
  for (const scheduler each : {scheduler::work_stealing, scheduler::least_loaded, scheduler::shared_queue}) {
    work_board board(idle_chance::max_items);
    const auto on =
        runtime::create({.workers = workers, .name = "idle", .scheduler = each, .shape = runtime_shape::merged})
            .value();
    idle_monitor monitor(board, {.threads = "idle", .workers = workers, .limit = limit});
    scene all{.on = *on, .board = board, .chance = {.random = braid::random_source(seed)}, .events = {}, .homes = {}};
    for (std::size_t left = scaled(12); left > 0; --left) {
      board.finish_round(round(all));
      all.chance.pause();
    }
    monitor.stop();
    monitor.print(std::string(name) + ", scheduler " + std::to_string(static_cast<int>(each)));
    CHECK(monitor.violations() == 0);
  }
}

}  // namespace

TEST_CASE("no worker with a loop sleeps beside a task of its own that could go on") {
  check("tasks of merged workers", resume_tasks, 2ms);
}

TEST_CASE("no worker with a loop sleeps beside posts from outside") {
  check("posts to merged workers", post_jobs, 5ms);
}
