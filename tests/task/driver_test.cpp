// tests/task/driver_test.cpp: a parking driver passes permits on, and a worker sleeps in what it was given.
#include <braid/task/worker.hpp>

#include <braid/base/clock.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>

using braid::relaxed;
using namespace std::chrono_literals;

namespace {

struct counts {
  braid::atomic<int> unparks{0};
  braid::atomic<int> polls{0};
  braid::atomic<int> parked{0};  // of the drivers, at the moment
};

class counting_driver final : public braid::driver {
 public:
  explicit counting_driver(counts& all) : all_(all) {}
  void park() noexcept override { static_cast<void>(park_until(braid::time_point::max())); }
  [[nodiscard]] auto park_until(braid::time_point deadline) noexcept -> bool override {
    all_.parked.fetch_add(1, relaxed);
    const bool unparked = inner_.park_until(deadline);
    all_.parked.fetch_sub(1, relaxed);
    return unparked;
  }
  void unpark() noexcept override {
    all_.unparks.fetch_add(1, relaxed);
    inner_.unpark();
  }
  void poll() noexcept override { all_.polls.fetch_add(1, relaxed); }

 private:
  counts& all_;
  braid::parking_driver inner_;
};

}  // namespace

TEST_CASE("a permit ends one park") {
  braid::parking_driver place;
  place.unpark();
  place.park();
  CHECK_FALSE(place.park_until(braid::time_point{}));
  place.unpark();
  CHECK(place.park_until(braid::time_point{}));
  place.poll();
}

TEST_CASE("a polling driver passes permits on, too, also to a thread that waits") {
  braid::polling_driver place;
  place.unpark();
  place.unpark();
  place.park();
  CHECK_FALSE(place.park_until(braid::time_point{}));
  place.unpark();
  CHECK(place.park_until(braid::time_point{}));
  braid::atomic<bool> passed{false};
  std::thread parked([&] {
    place.park();
    passed.store(true, relaxed);
  });
  CHECK_FALSE(passed.load(relaxed));
  place.unpark();
  parked.join();
  CHECK(passed.load(relaxed));
}

TEST_CASE("a pool whose workers poll does all that a pool does") {
  const braid::testing::watchdog dog(60s);
  braid::atomic<int> ran{0};
  braid::pool where(
      {.workers = 2, .make_driver = [](std::size_t) { return std::make_unique<braid::polling_driver>(); }});
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 5; ++i) REQUIRE(post(where, [&ran] { ran.fetch_add(1, relaxed); }));
    REQUIRE(where.wait_idle());
    REQUIRE(ran.load(relaxed) == 5 * (round + 1));
  }
  CHECK(where.shutdown_for(1h));
}

TEST_CASE("the workers of a pool sleep in the drivers that they were given, and poll them while they are busy") {
  counts all;
  {
    braid::pool where(
        {.workers = 2, .make_driver = [&](std::size_t) { return std::make_unique<counting_driver>(all); }});
    for (int i = 0; i < 1'000; ++i) REQUIRE(post(where, [] {}));
    REQUIRE(where.wait_idle());
    CHECK(all.polls.load(relaxed) >= 1'000 / 64 / 2);
    CHECK(braid::testing::eventually([&] { return all.parked.load(relaxed) == 2; }));
  }
  CHECK(all.unparks.load(relaxed) >= 1);  // one slept until the shutdown, the other one may have looked just then
}
