// tests/task/scheduled_model.cpp: under no schedule does scheduled work run twice at once, run after a cancel, keep its
// captures, or get lost.
#include <braid/task/detail/scheduled_state.hpp>

#include <braid/sync/detail/futex.hpp>
#include <braid/task/executor.hpp>

#include <doctest/doctest.h>

#include <tests/support/executor_slots.hpp>
#include <tests/support/model.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

using braid::atomic;
using braid::cancellation;
using braid::duration;
using braid::job;
using braid::relaxed;
using braid::schedule_status;
using braid::time_point;
using braid::timer;
using braid::detail::scheduled_state;
using braid::detail::tick_rule;
namespace model = braid::model;

namespace {

/// Work whose function uses its captures, as plain data.
class work final : public scheduled_state {
 public:
  using scheduled_state::scheduled_state;
  ~work() override = default;

  model::run* explored = nullptr;
  model::shared<int> captures{0};  // how often they were used; negative once destroyed
  model::shared<bool> freed{false};
  atomic<int> destroyed{0};
  atomic<int> running{0};
  atomic<int> cancelled{0};  // a cancel has said that no run begins any more

 private:
  void call() override {
    explored->check(running.fetch_add(1, relaxed) == 0, "runs do not overlap");
    explored->check(cancelled.fetch_add(0, relaxed) == 0, "no run begins after a cancel");
    explored->check(captures >= 0, "a run has its captures");
    captures = captures + 1;
    running.fetch_sub(1, relaxed);
  }
  void destroy_captures() noexcept override {
    explored->check(destroyed.fetch_add(1, relaxed) == 0, "captures are destroyed once");
    captures = -1 - captures;
  }
  void free() noexcept override {
    explored->check(captures < 0, "captures are destroyed before the work is freed");
    captures = -100;  // ordered after every use
    freed = true;
  }
};

enum class fault : std::uint8_t { none, retract_does_not_wait, retract_misses_it };

/// Timers with room for one, under a lock that the explorer sees. What is armed is due. Nobody calls `retract` from a
/// function of the timer.
template <fault Fault>
class small_timers final : public braid::detail::timer_keeper {
 public:
  auto try_arm(timer& item, time_point /*when*/) noexcept -> bool override {
    check_alive(item);
    const std::scoped_lock held(lock_);
    if (closed_) return false;
    pending_ = &item;
    return true;
  }

  auto retract(timer& item) noexcept -> bool override {
    check_alive(item);
    bool was_pending = false;
    while (true) {
      std::uint32_t ends = 0;
      {
        const std::scoped_lock held(lock_);
        ends = ends_.load(relaxed);
        if (pending_ == &item && Fault != fault::retract_misses_it) {
          was_pending = true;
          pending_ = nullptr;
        }
        if (handed_ != &item || Fault == fault::retract_does_not_wait) return was_pending;
      }
      braid::detail::futex_wait(ends_, ends);
    }
  }

  auto now() const noexcept -> time_point override { return time_point(duration(1'000)); }

  void serve() { hand_out(&timer::fire); }

  void close() {
    {
      const std::scoped_lock held(lock_);
      closed_ = true;
    }
    hand_out(&timer::drop);
  }

  auto has(const timer& item) -> bool {
    const std::scoped_lock held(lock_);
    return pending_ == &item;
  }

 private:
  static void check_alive(timer& item) {
    auto& subject = static_cast<work&>(static_cast<scheduled_state&>(item));
    subject.explored->check(!subject.freed, "nobody touches work that has been freed");
  }

  void hand_out(void (timer::*what)() noexcept) {
    timer* item = nullptr;
    {
      const std::scoped_lock held(lock_);
      if (handed_ != nullptr || pending_ == nullptr) return;
      item = std::exchange(pending_, nullptr);
      handed_ = item;
    }
    (item->*what)();
    {
      const std::scoped_lock held(lock_);
      handed_ = nullptr;
      ends_.fetch_add(1, relaxed);
    }
    braid::detail::futex_wake(ends_, 2);
  }

  model::mutex lock_;
  timer* pending_ = nullptr;  // written under the lock, as all that follows
  timer* handed_ = nullptr;
  bool closed_ = false;
  atomic<std::uint32_t> ends_{0};  // how often a function of a timer has returned
};

/// A queue with room for one job.
class small_executor final : public braid::executor {
 public:
  explicit small_executor(model::run& r) : explored_(&r) {}

  auto try_post(job& posted) noexcept -> bool override {
    const bool taken = put(posted);
    explored_->check(gone.fetch_add(0, relaxed) == 0, "no post after a cancel that says so");
    return taken;
  }
  auto is_current() const noexcept -> bool override { return false; }

  void run() {
    if (job* item = take()) item->run();
  }

  /// Closes, and drops what is queued.
  void shut_down() {
    {
      const std::scoped_lock held(lock_);
      closed_ = true;
    }
    if (job* item = take()) item->drop();
  }

  atomic<int> gone{0};  // the timers have promised to leave it alone

 private:
  auto put(job& posted) -> bool {
    const std::scoped_lock held(lock_);
    if (!closed_) queued_ = &posted;
    return !closed_;
  }

  auto take() -> job* {
    const std::scoped_lock held(lock_);
    return std::exchange(queued_, nullptr);
  }

  model::run* explored_;
  model::mutex lock_;
  job* queued_ = nullptr;  // written under the lock, as is `closed_`
  bool closed_ = false;
};

/// What all bodies begin with: work that is pending, owned by the body.
template <fault Fault>
struct world {
  explicit world(model::run& r, duration interval = duration(10))
      : executor(r), item(executor.id(), timers, {.interval = interval}) {
    item.explored = &r;
    r.check(item.start(time_point::min(), time_point()), "open timers take work");
  }

  /// Cancels, and holds the cancel to what it says.
  void cancel(model::run& r) {
    const auto became = item.cancel();
    said_to_end = true;
    if (became == cancellation::done) {
      item.cancelled.fetch_add(1, relaxed);
      r.check(item.captures < 0, "a cancel that is done has destroyed the captures");
    }
    if (became != cancellation::after_run) executor.gone.fetch_add(1, relaxed);
  }

  /// Brings the work to its end, and looks at what is left.
  void finish(model::run& r) {
    const bool active = item.status() == schedule_status::active;
    r.check(!active || !said_to_end, "a cancel has ended it");
    r.check(active || !timers->has(item), "its timer has ended with it");
    static_cast<void>(item.cancel());
    r.check(!timers->has(item), "its timer is gone");
    executor.shut_down();
    timers->close();
    r.check(item.status() != schedule_status::active, "it has ended");
    r.check(item.captures < 0, "the captures are gone");
    r.check(!item.freed, "a handle keeps it");
    item.let_go();
    r.check(item.freed, "nobody else does");
  }

  std::shared_ptr<small_timers<Fault>> timers = std::make_shared<small_timers<Fault>>();
  small_executor executor;
  work item;
  bool said_to_end = false;  // read after the threads have joined
};

/// A cancel while the work is on its way through a run.
template <fault Fault>
void cancel_on_the_way(model::run& r) {
  world<Fault> w(r);
  r.thread([&] { w.timers->serve(); });
  r.thread([&] { w.executor.run(); });
  r.thread([&] { w.cancel(r); });
  r.join();
  w.finish(r);
}

/// The same, from the moment on at which the work is queued, into its second round.
template <fault Fault>
void cancel_around_a_run(model::run& r) {
  world<Fault> w(r);
  w.timers->serve();
  r.thread([&] {
    w.executor.run();
    w.timers->serve();
  });
  r.thread([&] { w.cancel(r); });
  r.join();
  w.finish(r);
}

/// The timers fire the second round while the first one has hardly ended.
template <fault Fault>
void two_rounds(model::run& r) {
  world<Fault> w(r);
  w.timers->serve();
  r.thread([&] { w.executor.run(); });
  r.thread([&] {
    w.timers->serve();
    w.executor.run();
  });
  r.thread([&] { w.cancel(r); });
  r.join();
  w.finish(r);
}

template <fault Fault>
void two_cancels(model::run& r) {
  world<Fault> w(r);
  w.timers->serve();
  r.thread([&] { w.executor.run(); });
  for (int i = 0; i < 2; ++i) r.thread([&] { w.cancel(r); });
  r.join();
  w.finish(r);
}

/// The timers are closed while a run ends, which would go back to them.
template <fault Fault>
void close_and_cancel(model::run& r) {
  world<Fault> w(r);
  w.timers->serve();
  r.thread([&] { w.executor.run(); });
  r.thread([&] { w.timers->close(); });
  r.thread([&] { w.cancel(r); });
  r.join();
  w.finish(r);
}

/// The executor shuts down while the timers hand the work to it.
template <fault Fault>
void shutdown_and_cancel(model::run& r) {
  world<Fault> w(r);
  r.thread([&] { w.timers->serve(); });
  r.thread([&] { w.executor.shut_down(); });
  r.thread([&] { w.cancel(r); });
  r.join();
  w.finish(r);
}

/// Work that runs once; a thread that sees that it has ended sees what its captures left.
template <fault Fault>
void once(model::run& r) {
  world<Fault> w(r, duration::zero());
  w.timers->serve();
  r.thread([&] { w.executor.run(); });
  r.thread([&] {
    if (w.item.status() == schedule_status::done) r.check(w.item.captures == -2, "captures after one run");
  });
  r.thread([&] { w.cancel(r); });
  r.join();
  w.finish(r);
}

/// The last handle goes while the work is on its way.
void detached(model::run& r) {
  small_executor executor(r);
  const auto timers = std::make_shared<small_timers<fault::none>>();
  work item(executor.id(), timers, tick_rule{.interval = duration(10)});
  item.explored = &r;
  r.check(item.start(time_point::min(), time_point()), "open timers take work");
  timers->serve();
  r.thread([&] { executor.run(); });
  r.thread([&] { timers->close(); });
  r.thread([&] { item.let_go(); });
  r.join();
  timers->close();
  executor.shut_down();
  r.check(item.freed, "it is freed");
}

const std::vector<model::body> bodies{
    cancel_on_the_way<fault::none>, cancel_around_a_run<fault::none>, two_rounds<fault::none>, two_cancels<fault::none>,
    close_and_cancel<fault::none>,  shutdown_and_cancel<fault::none>, once<fault::none>,       detached};

auto failure_of(model::body body) -> std::string { return model::explore_all({}, body).failure; }

}  // namespace

TEST_CASE("scheduled work keeps its promises under every schedule with two preemptions") {
  for (const model::body each : bodies) {
    const model::report all = model::explore_all({}, each);
    CHECK(all.failure == "");
    CHECK(all.complete);
  }
}

TEST_CASE("scheduled work keeps its promises under many schedules with more") {
  for (const model::body each : bodies)
    CHECK(model::explore({.seeds = 10'000, .preemptions = 6, .surprises = 4}, each).failure == "");
}

TEST_CASE("every order of scheduled work is needed") {
  CHECK(model::orders_not_needed("scheduled_state.cpp", {.preemptions = 1}, bodies) == "");
}

TEST_CASE("faults of timers are found in what becomes of the work") {
  CHECK(failure_of(cancel_on_the_way<fault::retract_does_not_wait>) != "");
  CHECK(failure_of(cancel_on_the_way<fault::retract_misses_it>) != "");
}
