// tests/task/scheduled_task_test.cpp: scheduled work is cancelled at every moment of its life, and says what became of
// it.
#include <braid/task/scheduled.hpp>

#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/deaths.hpp>
#include <tests/support/eventually.hpp>
#include <tests/support/scheduled_scene.hpp>

#include <chrono>
#include <cstdint>
#include <latch>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

using braid::cancellation;
using braid::post_after;
using braid::post_every;
using braid::schedule_status;
using braid::scheduled_task;
using braid::testing::beat;
using braid::testing::deaths;
using braid::testing::eventually;
using braid::testing::mortal;
using braid::testing::scheduled_scene;
using namespace std::chrono_literals;

TEST_CASE("a task that is cancelled before its time does not run, and its captures are gone at once") {
  scheduled_scene s;
  deaths ended;
  const auto task = post_after(s.where, s.timers, 1h, [guard = mortal(ended)] { FAIL("it must not run"); });
  CHECK(task->cancel() == cancellation::done);
  CHECK(ended.count == 1);
  CHECK(task->status() == schedule_status::cancelled);
  CHECK(task->cancel() == cancellation::too_late);
  CHECK(s.timers.run_once() == std::nullopt);  // the timer is gone, too
}

TEST_CASE("a task that is cancelled while it waits for a worker does not run, and its captures are gone at once") {
  scheduled_scene s;
  deaths ended;
  auto task =
      post_every(s.where, s.timers, {.interval = 1 * beat}, [guard = mortal(ended)] { FAIL("it must not run"); });
  s.timers.run_once();
  REQUIRE(s.where.pending() == 1);
  CHECK(task->cancel() == cancellation::done);
  CHECK(ended.count == 1);
  CHECK(task->status() == schedule_status::cancelled);
  task = scheduled_task();  // what is left lies in the queue
  s.where.run_all();
  s.advance(10);
  CHECK(s.where.pending() == 0);
}

TEST_CASE("a cancelled task may also be dropped by its executor") {
  scheduled_scene s;
  deaths ended;
  const auto task = post_after(s.where, s.timers, 0s, [guard = mortal(ended)] {});
  s.timers.run_once();
  CHECK(task->cancel() == cancellation::done);
  s.where.drop();
  CHECK(ended.count == 1);
  CHECK(task->status() == schedule_status::cancelled);
}

TEST_CASE("a function can end its own series, and its captures live until it returns") {
  scheduled_scene s;
  deaths ended;
  int calls = 0;
  auto fn = [&, guard = mortal(ended)](const scheduled_task& self) {
    CHECK(self.runs() == static_cast<std::uint64_t>(++calls));
    if (calls < 3) return;
    CHECK(self.cancel() == cancellation::after_run);
    CHECK(self.cancel() == cancellation::after_run);
    CHECK(self.is_active());
    CHECK(ended.count == 0);
  };
  const auto task = post_every(s.where, s.timers, {.interval = 5 * beat}, std::move(fn));
  s.advance(100);
  CHECK(calls == 3);
  CHECK(ended.count == 1);
  CHECK(task->status() == schedule_status::cancelled);
  CHECK(s.timers.run_once() == std::nullopt);
}

TEST_CASE("a function that runs once and cancels itself is just done") {
  scheduled_scene s;
  std::optional<cancellation> how;
  const auto task = post_after(s.where, s.timers, 0s, [&](const scheduled_task& self) { how = self.cancel(); });
  s.settle();
  CHECK(how == cancellation::after_run);
  CHECK(task->status() == schedule_status::done);
}

TEST_CASE("a handle among the captures may be the one that cancels, and the last one") {
  scheduled_scene s;
  deaths ended;
  auto own = std::make_shared<scheduled_task>();
  auto task = post_after(s.where, s.timers, 1h, [own, guard = mortal(ended)] {});
  *own = *std::move(task);
  task = scheduled_task();
  const std::weak_ptr<scheduled_task> watched = own;
  const scheduled_task* handle = own.get();
  own.reset();
  CHECK_FALSE(watched.expired());
  CHECK(handle->cancel() == cancellation::done);
  CHECK(watched.expired());
  CHECK(ended.count == 1);
}

TEST_CASE("captures that cancel their own task as they are destroyed come too late") {
  struct canceller {
    scheduled_task* handle;
    std::vector<cancellation>* seen;
    canceller(scheduled_task* task, std::vector<cancellation>* list) : handle(task), seen(list) {}
    canceller(canceller&& other) noexcept : handle(std::exchange(other.handle, nullptr)), seen(other.seen) {}
    auto operator=(canceller&&) -> canceller& = delete;
    ~canceller() {
      if (handle != nullptr) seen->push_back(handle->cancel());
    }
  };
  scheduled_scene s;
  scheduled_task task;
  std::vector<cancellation> seen;
  const auto post = [&](auto fn) { task = *post_every(s.where, s.timers, {.interval = 5 * beat}, std::move(fn)); };
  post([guard = canceller(&task, &seen)] {});
  CHECK(task.cancel() == cancellation::done);
  post([guard = canceller(&task, &seen)] {});
  s.timers.run_once();
  s.where.drop();
  post([guard = canceller(&task, &seen)](const scheduled_task& self) { self.cancel(); });
  s.settle();
  CHECK(seen == std::vector{cancellation::too_late, cancellation::too_late, cancellation::after_run});
}

TEST_CASE("dropping the handle detaches") {
  scheduled_scene s;
  deaths ended;
  int once = 0;
  int often = 0;
  REQUIRE(post_after(s.where, s.timers, 5 * beat, [&once, guard = mortal(ended)] { ++once; }));
  REQUIRE(post_every(s.where, s.timers, {.interval = 5 * beat}, [&often, guard = mortal(ended)] { ++often; }));
  s.advance(50);
  CHECK(once == 1);
  CHECK(often == 11);  // at once, and then every five beats
  CHECK(ended.count == 1);
  CHECK(s.timers.close().value() == 1);
  CHECK(ended.count == 2);
}

TEST_CASE("copies of a handle mean the same task, and a handle without one is never active") {
  scheduled_scene s;
  const auto task = post_after(s.where, s.timers, 1h, [] {});
  scheduled_task copy = *task;
  scheduled_task moved = std::move(copy);
  CHECK(moved.is_active());
  CHECK(moved.cancel() == cancellation::done);
  CHECK_FALSE(task->is_active());
  const scheduled_task none;
  CHECK_FALSE(none.is_active());
  CHECK(none.runs() == 0);
  CHECK(none.cancel() == cancellation::too_late);
}

TEST_CASE("cancel from another thread waits for no run, and no run begins after it") {
  braid::pool workers({.workers = 1});
  braid::timer_thread timers;
  deaths ended;
  std::latch entered(1);
  std::latch may_leave(1);
  const auto task = post_every(workers, timers, {.interval = 1ms}, [&, guard = mortal(ended)] {
    entered.count_down();
    may_leave.wait();
  });
  entered.wait();
  CHECK(task->cancel() == cancellation::after_run);
  CHECK(ended.count == 0);
  CHECK(task->is_active());
  may_leave.count_down();
  CHECK(eventually([&] { return !task->is_active(); }));
  CHECK(task->status() == schedule_status::cancelled);
  CHECK(task->runs() == 1);
  CHECK(ended.count == 1);
}
