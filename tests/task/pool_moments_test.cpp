// tests/task/pool_moments_test.cpp: the moments at which a post, a worker's look and a shutdown cross, one by one.
#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/sleeper.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <functional>
#include <latch>

using braid::post;
using braid::relaxed;
using braid::shutdown_mode;
using braid::testing::eventually;
using braid::testing::sleeper;
using namespace std::chrono_literals;

namespace {

/// What a scripted queue does at the end of its calls, after its lock has been given back.
struct script {
  std::function<void()> placed = [] {};
  std::function<void()> refilled = [] {};
  std::function<void()> looked = [] {};      ///< at the end of `empty`
  std::function<void()> may_parked = [] {};  ///< at the end of `may_park`
  std::function<void()> closed = [] {};
};

script* running = nullptr;  // the one of the test that runs; set before its pool starts

/// A shared queue that stops where the script says, so that other threads can go on at just that point.
class scripted_queue {
 public:
  static constexpr bool watches = false;

  explicit scripted_queue(std::size_t /*workers*/) noexcept {}

  [[nodiscard]] auto place(braid::job& work, const braid::worker* poster) noexcept -> braid::placement {
    const braid::placement placed = queue_.place(work, poster);
    running->placed();
    return placed;
  }
  [[nodiscard]] auto refill(braid::worker& self, braid::search why) noexcept -> braid::job* {
    braid::job* found = queue_.refill(self, why);
    running->refilled();
    return found;
  }
  [[nodiscard]] auto tick(braid::worker& self) noexcept -> braid::job* { return queue_.tick(self); }
  [[nodiscard]] auto may_park(const braid::worker& self) noexcept -> bool {
    const bool nothing = queue_.may_park(self);
    running->may_parked();
    return nothing;
  }
  [[nodiscard]] auto empty() noexcept -> bool {
    const bool nothing = queue_.empty();
    running->looked();
    return nothing;
  }
  void close() noexcept {
    queue_.close();
    running->closed();
  }
  [[nodiscard]] auto take_all() noexcept -> braid::intrusive_queue<braid::job> { return queue_.take_all(); }

 private:
  braid::shared_queue queue_;
};

using scripted_pool = braid::basic_pool<scripted_queue>;

/// Holds the first call until it is released; the later ones pass.
class stop_once {
 public:
  void operator()() {
    if (passed_.exchange(true, relaxed)) return;
    reached_.count_down();
    released_.wait();
  }
  void wait_until_reached() { reached_.wait(); }
  void release() { released_.count_down(); }

 private:
  braid::atomic<bool> passed_{false};
  std::latch reached_{1};
  std::latch released_{1};
};

struct fixture {
  fixture() { running = &steps; }

  script steps;
  braid::atomic<int> ran{0};
  braid::testing::watchdog dog{60s};
};

}  // namespace

TEST_CASE_FIXTURE(fixture, "a post after a worker's second look wakes that worker") {
  stop_once after_look;
  steps.may_parked = [&] { after_look(); };
  scripted_pool where({.workers = 1});
  after_look.wait_until_reached();
  CHECK(post(where, [this] { ran.fetch_add(1, relaxed); }));
  after_look.release();
  CHECK(eventually([this] { return ran.load(relaxed) == 1; }));
}

TEST_CASE_FIXTURE(fixture, "a post that finds no worker announced is found by the worker's second look") {
  stop_once after_refill;
  steps.refilled = [&] { after_refill(); };
  scripted_pool where({.workers = 1});
  after_refill.wait_until_reached();
  CHECK(post(where, [this] { ran.fetch_add(1, relaxed); }));
  after_refill.release();
  CHECK(eventually([this] { return ran.load(relaxed) == 1; }));
}

TEST_CASE_FIXTURE(fixture, "a post that comes just after a woken worker has looked for more wakes another worker") {
  stop_once after_look;
  braid::atomic<bool> armed{false};
  steps.looked = [&] {
    if (armed.load(relaxed) && braid::current_worker() != nullptr) after_look();
  };
  scripted_pool where({.workers = 2});
  REQUIRE(where.wait_idle());
  armed.store(true, relaxed);
  std::latch second_ran(1);
  CHECK(post(where, [&] {
    second_ran.wait();
    ran.fetch_add(1, relaxed);
  }));
  after_look.wait_until_reached();
  CHECK(post(where, [&] { second_ran.count_down(); }));
  after_look.release();
  CHECK(eventually([this] { return ran.load(relaxed) == 1; }));
}

namespace {

/// Says on behalf of a thread that it has ended.
struct obituary {
  braid::atomic<bool>* ended = nullptr;
  ~obituary() {
    if (ended != nullptr) ended->store(true, relaxed);
  }
};

thread_local obituary at_end;

}  // namespace

TEST_CASE_FIXTURE(fixture, "a job that is placed between the last look of the last worker and the shutdown is run") {
  stop_once after_look;
  stop_once after_place;
  braid::atomic<bool> worker_ended{false};
  braid::atomic<int> closes{0};
  steps.may_parked = [&] {
    at_end.ended = &worker_ended;
    after_look();
  };
  steps.placed = [&] { after_place(); };
  steps.closed = [&] {
    if (closes.fetch_add(1, relaxed) != 1) return;
    // The pool is stopping, and has not picked anybody yet: the worker decides by itself.
    after_look.release();
    CHECK(eventually([&] { return ran.load(relaxed) == 1 || worker_ended.load(relaxed); }));
  };
  scripted_pool where({.workers = 1});
  after_look.wait_until_reached();
  sleeper poster([&] { static_cast<void>(post(where, [this] { ran.fetch_add(1, relaxed); })); });
  after_place.wait_until_reached();  // the poster is held up before it picks
  CHECK(where.shutdown(shutdown_mode::drain));
  CHECK(ran.load(relaxed) == 1);
  after_place.release();
}

TEST_CASE_FIXTURE(fixture, "a worker whose second look came before the shutdown is woken by it") {
  stop_once after_look;
  steps.may_parked = [&] { after_look(); };
  scripted_pool where({.workers = 1});
  after_look.wait_until_reached();
  sleeper stopper([&] { static_cast<void>(where.shutdown(shutdown_mode::drain)); });
  CHECK(stopper.falls_asleep());
  after_look.release();
  CHECK(eventually([&] { return stopper.returned(); }));
}
