// tests/task/pool_moments_test.cpp: the moments at which a post, a worker's look and a shutdown cross, one by one.
#include <braid/task/basic_pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/sleeper.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <latch>
#include <memory>
#include <thread>
#include <utility>

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
  std::function<void()> looked = [] {};                              ///< at the end of `empty`
  std::function<void(std::size_t)> may_parked = [](std::size_t) {};  ///< at the end of `may_park`, with the worker
  std::function<void()> closed = [] {};
};

script* running = nullptr;  // the one of the test that runs; set before its pool starts

/// A shared queue that stops where the script says, so that other threads can go on at just that point.
class scripted_queue final : public braid::scheduling_hooks {
 public:
  explicit scripted_queue(const braid::worker_list& workers) noexcept : queue_(workers) {}

  [[nodiscard]] auto place(braid::job& work, braid::worker* poster) noexcept -> braid::placement override {
    const braid::placement placed = queue_.place(work, poster);
    running->placed();
    return placed;
  }
  [[nodiscard]] auto refill(braid::worker& self, braid::search why) noexcept -> braid::found_job override {
    braid::found_job found = queue_.refill(self, why);
    running->refilled();
    return found;
  }
  [[nodiscard]] auto may_park(braid::worker& self) noexcept -> bool override {
    const bool nothing = queue_.may_park(self);
    running->may_parked(self.index);
    return nothing;
  }
  [[nodiscard]] auto empty() noexcept -> bool override {
    const bool nothing = queue_.empty();
    running->looked();
    return nothing;
  }
  void close() noexcept override {
    queue_.close();
    running->closed();
  }
  void drop_all() noexcept override { queue_.drop_all(); }

 private:
  braid::shared_queue queue_;
};

using scripted_pool = braid::basic_pool<scripted_queue>;

/// Workers that go to sleep at once when they find nothing.
auto prompt(braid::pool::options options) -> braid::pool::options {
  options.stay_awake = 0us;
  return options;
}

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

/// Says when the pool hands out a permit, and when the worker has it.
class telling_driver final : public braid::driver {
 public:
  explicit telling_driver(
      std::function<void()> about_to_wake, std::function<void()> woken = [] {})
      : about_to_wake_(std::move(about_to_wake)), woken_(std::move(woken)) {}
  void park() noexcept override {
    inner_.park();
    woken_();
  }
  [[nodiscard]] auto park_until(braid::time_point deadline) noexcept -> bool override {
    return inner_.park_until(deadline);
  }
  void unpark() noexcept override {
    about_to_wake_();
    inner_.unpark();
  }

 private:
  std::function<void()> about_to_wake_;
  std::function<void()> woken_;
  braid::parking_driver inner_;
};

// What the jobs of a test use is declared before its pool, which ends before it: a job may still stand in a latch that
// another one has counted down.
struct fixture {
  fixture() { running = &steps; }

  script steps;
  braid::atomic<int> ran{0};
  braid::testing::watchdog dog{60s};
};

}  // namespace

TEST_CASE_FIXTURE(fixture, "a post after a worker's second look wakes that worker") {
  stop_once after_look;
  steps.may_parked = [&](std::size_t) { after_look(); };
  scripted_pool where(prompt({.workers = 1}));
  after_look.wait_until_reached();
  CHECK(post(where, [this] { ran.fetch_add(1, relaxed); }));
  after_look.release();
  CHECK(eventually([this] { return ran.load(relaxed) == 1; }));
}

TEST_CASE_FIXTURE(fixture, "a post that finds no worker announced is found by the worker's second look") {
  stop_once after_refill;
  steps.refilled = [&] { after_refill(); };
  scripted_pool where(prompt({.workers = 1}));
  after_refill.wait_until_reached();
  CHECK(post(where, [this] { ran.fetch_add(1, relaxed); }));
  after_refill.release();
  CHECK(eventually([this] { return ran.load(relaxed) == 1; }));
}

TEST_CASE_FIXTURE(fixture, "a post that comes just after a woken worker has looked for more wakes another worker") {
  stop_once after_look;
  braid::atomic<bool> armed{false};
  steps.looked = [&] {
    if (armed.load(relaxed) && braid::detail::current_worker() != nullptr) after_look();
  };
  std::latch second_ran(1);
  scripted_pool where(prompt({.workers = 2}));
  REQUIRE(eventually([&] { return where.statistics().sleeps == 2; }));
  armed.store(true, relaxed);
  CHECK(post(where, [&] {
    second_ran.wait();
    ran.fetch_add(1, relaxed);
  }));
  after_look.wait_until_reached();
  CHECK(post(where, [&] { second_ran.count_down(); }));
  after_look.release();
  CHECK(eventually([this] { return ran.load(relaxed) == 1; }));
}

TEST_CASE_FIXTURE(fixture, "a worker that was picked in vain calls another before it runs what was posted meanwhile") {
  stop_once at_wake;
  stop_once first_found_nothing;
  stop_once second_found_nothing;
  braid::atomic<bool> armed{false};
  steps.refilled = [&] {
    const std::size_t self = braid::detail::current_worker()->index;
    if (self == 0) first_found_nothing();
    if (self == 1 && armed.load(relaxed)) second_found_nothing();
  };
  auto options = prompt({.workers = 3});
  options.make_driver = [&](std::size_t index) {
    return std::make_unique<telling_driver>([] {},
                                            [&, index] {
                                              if (index == 1) at_wake();
                                            });
  };
  std::latch last_ran(1);
  std::latch taken(1);
  scripted_pool where(std::move(options));
  first_found_nothing.wait_until_reached();
  REQUIRE(eventually([&] { return where.statistics().sleeps == 2; }));
  armed.store(true, relaxed);
  CHECK(post(where, [&] {
    taken.count_down();
    last_ran.wait();
  }));
  at_wake.wait_until_reached();
  first_found_nothing.release();  // this one takes the job that the other was woken for
  taken.wait();
  at_wake.release();
  second_found_nothing.wait_until_reached();
  CHECK(post(where, [&] {
    last_ran.wait();
    ran.fetch_add(1, relaxed);
  }));
  CHECK(post(where, [&] { last_ran.count_down(); }));
  second_found_nothing.release();
  CHECK(eventually([this] { return ran.load(relaxed) == 1; }));
}

TEST_CASE_FIXTURE(fixture, "a worker that has moved jobs to its own seat calls another before it runs one of them") {
  stop_once found_nothing;
  braid::atomic<bool> held_up{false};
  steps.refilled = [&] {
    braid::worker& self = *braid::detail::current_worker();
    if (self.index != 0) return;
    if (held_up.load(relaxed)) self.idle.should_wake_peer = true;
    found_nothing();
  };
  braid::atomic<int> placed{0};
  steps.placed = [&] {
    placed.fetch_add(1, relaxed);
    while (held_up.load(relaxed)) std::this_thread::yield();  // before it wakes anybody
  };
  std::latch second_ran(1);
  scripted_pool where(prompt({.workers = 2}));
  found_nothing.wait_until_reached();
  REQUIRE(eventually([&] { return where.statistics().sleeps == 1; }));
  held_up.store(true, relaxed);
  sleeper poster([&] {
    static_cast<void>(post(where, [&] {
      second_ran.wait();
      ran.fetch_add(1, relaxed);
    }));
  });
  REQUIRE(eventually([&] { return placed.load(relaxed) == 1; }));
  sleeper other([&] { static_cast<void>(post(where, [&] { second_ran.count_down(); })); });
  REQUIRE(eventually([&] { return placed.load(relaxed) == 2; }));
  found_nothing.release();
  CHECK(eventually([this] { return ran.load(relaxed) == 1; }));
  held_up.store(false, relaxed);
}

TEST_CASE_FIXTURE(fixture, "a job that is placed between the last look of a worker and the shutdown is run") {
  stop_once after_look;
  stop_once after_place;
  stop_once at_wake;
  steps.may_parked = [&](std::size_t index) {
    if (index == 1) after_look();
  };
  steps.placed = [&] { after_place(); };
  auto options = prompt({.workers = 2});
  // A shutdown wakes the first worker before the second one, and is held up there: the second decides by itself.
  options.make_driver = [&](std::size_t index) {
    return std::make_unique<telling_driver>([&, index] {
      if (index == 0) at_wake();
    });
  };
  scripted_pool where(std::move(options));
  after_look.wait_until_reached();
  REQUIRE(eventually([&] { return where.statistics().sleeps == 1; }));
  sleeper poster([&] { static_cast<void>(post(where, [this] { ran.fetch_add(1, relaxed); })); });
  after_place.wait_until_reached();  // the poster is held up before it picks
  sleeper stopper([&] { static_cast<void>(where.shutdown(shutdown_mode::drain)); });
  at_wake.wait_until_reached();
  after_look.release();
  CHECK(eventually([&] { return ran.load(relaxed) == 1; }));
  at_wake.release();
  after_place.release();
  CHECK(eventually([&] { return stopper.returned(); }));
}

TEST_CASE_FIXTURE(fixture, "a worker whose second look came before the shutdown is woken by it") {
  stop_once after_look;
  steps.may_parked = [&](std::size_t) { after_look(); };
  scripted_pool where(prompt({.workers = 1}));
  after_look.wait_until_reached();
  sleeper stopper([&] { static_cast<void>(where.shutdown(shutdown_mode::drain)); });
  CHECK(stopper.falls_asleep());
  after_look.release();
  CHECK(eventually([&] { return stopper.returned(); }));
}
