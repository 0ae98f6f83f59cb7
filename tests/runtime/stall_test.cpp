// tests/runtime/stall_test.cpp: stalled loops and workers are reported once, and healthy ones not at all.
#include <braid/runtime/detail/stall_watch.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/when_all.hpp>
#include <braid/io/loop.hpp>
#include <braid/runtime/default_runtime.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/task/spawn.hpp>

#include <tests/support/eventually.hpp>
#include <tests/support/pipes.hpp>
#include <tests/support/running_clock.hpp>
#include <tests/support/sanitizer.hpp>

#include <doctest/doctest.h>

#include <latch>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace braid;
using testing::eventually;
using testing::running_clock;

namespace {

constexpr auto shapes = {runtime_shape::separate, runtime_shape::merged};

/// Collects reports from another thread.
class reports {
 public:
  void add(const runtime::stall& one) {
    const std::lock_guard lock(mutex_);
    all_.push_back(one);
  }
  [[nodiscard]] auto all() const -> std::vector<runtime::stall> {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<runtime::stall> all_;
};

/// Blocks until it is let go.
struct gate {
  std::latch reached{1};
  std::latch open{1};
  void pass() {
    reached.count_down();
    open.wait();
  }
};

[[gnu::noinline]] void stalls_here(gate& at) {
  at.pass();
  asm volatile("");  // so that this is no tail call
}

/// In an iteration of its loop, also where a worker has begun it.
auto waits(gate& at) -> task<void> {
  co_await sleep_for(1us);
  stalls_here(at);
  co_return;
}

using targets = std::vector<detail::stall_target>;

auto workers_of(const runtime& made) -> targets {
  targets found = detail::stall_targets_of(made);
  std::erase_if(found, [](const detail::stall_target& each) { return each.of_worker == nullptr; });
  return found;
}

auto loops_of(const runtime& made) -> targets {
  targets found = detail::stall_targets_of(made);
  std::erase_if(found, [](const detail::stall_target& each) { return each.of_worker != nullptr; });
  return found;
}

/// Waits until each of the targets was seen without a job.
void let_settle(const targets& watched) {
  for (const detail::stall_target& each : watched) REQUIRE(eventually([&] { return !detail::is_busy(each); }));
}
void let_settle(const runtime& made) { let_settle(detail::stall_targets_of(made)); }

/// A watchdog whose clock the test advances. The time of the clock does not depend on the progress of threads: a loop
/// that gets no CPU in an iteration stalls. So tests look at workers alone, or let loops settle between two looks.
struct turned_watch {
  running_clock clock;
  std::vector<runtime::stall> seen;
  detail::stall_watch watch;

  explicit turned_watch(targets watched)
      : watch(std::move(watched), 1s, [this](const runtime::stall& one) { seen.push_back(one); }, clock) {}

  void look_after(duration span) {
    clock.advance(span);
    watch.look();
  }
};

}  // namespace

TEST_CASE("a loop that does not come back is reported once, with its thread and its functions") {
  for (const auto shape : shapes) {
    reports seen;
    gate held;
    const auto mine = runtime::create({.workers = 1,
                                       .name = "mine",
                                       .shape = shape,
                                       .stall_limit = 1ms,
                                       .on_stall = [&](const runtime::stall& one) { seen.add(one); }})
                          .value();
    auto stalled = spawn(*mine, waits(held));
    const auto found = [&]() -> std::optional<runtime::stall> {
      for (const runtime::stall& each : seen.all())
        if (each.where == runtime::stall::place::loop) return each;
      return std::nullopt;
    };
    CHECK(eventually([&] { return found().has_value(); }));
    const auto counted = [&] {
      for (const metric& each : metrics(*mine))
        if (each.name == "braid_stalls") return each.value;
      return -1.0;
    };
    CHECK(counted() >= 1);
    held.open.count_down();
    stalled.get();
    const runtime::stall first = found().value_or(runtime::stall());
    CHECK(first.thread == (shape == runtime_shape::separate ? "mine-loop" : "mine-0"));
    CHECK(first.at_least >= 1ms);
    if (braid::testing::under_thread_sanitizer) continue;
    std::string all;
    for (const std::string& each : first.functions) all += each + "\n";
    CAPTURE(all);
    CHECK(all.find("stalls_here") != std::string::npos);
    CHECK(all.find("waits(") != std::string::npos);
  }
}

TEST_CASE("a worker that does not come back is reported once, and again when it stalls again") {
  for (const auto shape : shapes) {
    const auto mine = runtime::create({.workers = 1, .name = "mine", .shape = shape}).value();
    let_settle(*mine);
    turned_watch by(workers_of(*mine));
    for (std::size_t round = 1; round <= 2; ++round) {
      gate held;
      auto stalled = spawn(mine->workers(), [&] { stalls_here(held); });
      held.reached.wait();
      by.watch.look();
      by.look_after(500ms);
      CHECK(by.seen.size() == round - 1);
      for (int i = 0; i < 20; ++i) by.look_after(500ms);
      REQUIRE(by.seen.size() == round);
      CHECK(by.seen.back().where == runtime::stall::place::worker);
      CHECK(by.seen.back().thread == "mine-0");
      CHECK(by.seen.back().at_least == 1s);
      CHECK(by.watch.count() == round);
      held.open.count_down();
      stalled.get();
      let_settle(*mine);
    }
  }
}

TEST_CASE("what sleeps, or is at another job with each look, is not reported, however much time passes") {
  for (const auto shape : shapes) {
    const auto mine = runtime::create({.workers = 1, .shape = shape}).value();
    turned_watch by(detail::stall_targets_of(*mine));
    const auto look_often = [&] {
      for (int round = 0; round < 20; ++round) {
        let_settle(*mine);
        by.look_after(500ms);
      }
    };
    look_often();
    auto sleeps = spawn(*mine, []() -> task<void> { co_await sleep_for(1h); });
    mine->run([]() -> task<void> { co_return; });
    look_often();
    for (int round = 0; round < 20; ++round) {
      gate held;
      auto at = spawn(mine->workers(), [&] { held.pass(); });
      held.reached.wait();
      let_settle(loops_of(*mine));
      by.look_after(500ms);
      held.open.count_down();
      at.get();
    }
    CHECK(by.seen.empty());
  }
}

TEST_CASE("a loop that was answered while it had jobs is not busy when it waits") {
  for (const auto shape : shapes) {
    const auto mine = runtime::create({.workers = 1, .shape = shape}).value();
    const testing::ends pipe = testing::ends::of_pipe();
    bool is_read = false;
    const auto reads = [&]() -> task<void> {
      CHECK(co_await readable(mine->io(), pipe.first.number()));
      is_read = true;
    };
    const auto keeps_loop_from_waiting = [&]() -> task<void> {
      testing::write_byte(pipe.second);
      while (!is_read) co_await yield();
    };
    mine->run([&]() -> task<void> {
      auto reading = reads();
      auto yielding = keeps_loop_from_waiting();
      co_await when_all(std::move(reading), std::move(yielding));
    });
    let_settle(*mine);
  }
}

TEST_CASE("of the time in which the watchdog was late itself no more counts than between two looks") {
  const auto mine = runtime::create({.workers = 1}).value();
  let_settle(*mine);
  turned_watch by(workers_of(*mine));
  gate held;
  auto stalled = spawn(mine->workers(), [&] { held.pass(); });
  held.reached.wait();
  by.watch.look();
  by.look_after(1h);
  CHECK(by.seen.empty());
  by.look_after(1h);
  CHECK(by.seen.size() == 1);
  held.open.count_down();
  stalled.get();
}
