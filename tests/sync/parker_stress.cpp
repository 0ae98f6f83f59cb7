// tests/sync/parker_stress.cpp: no permit is lost between threads that park and unpark as fast as they can.
#include <braid/sync/detail/parker.hpp>

#include <braid/base/random.hpp>

#include <doctest/doctest.h>

#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <sys/prctl.h>

using braid::relaxed;
using braid::detail::parker;
using braid::testing::scaled;
using namespace std::chrono_literals;

TEST_CASE("two threads that wake each other in turn never both sleep") {
  const std::size_t rounds = scaled(60'000);
  const braid::testing::watchdog dog(200s);
  parker ping;
  parker pong;
  std::size_t ball = 0;  // plain: the permits carry it to and fro
  std::thread other([&] {
    for (std::size_t i = 0; i < rounds; ++i) {
      ping.park();
      ++ball;
      pong.unpark();
    }
  });
  bool in_step = true;
  for (std::size_t i = 0; i < rounds; ++i) {
    in_step = in_step && ball == i;
    ping.unpark();
    pong.park();
  }
  other.join();
  CHECK(in_step);
  CHECK(ball == rounds);
}

namespace {

/// Several threads bring work and unpark; the owner takes it all and parks, now and then with a deadline.
struct crowd {
  void produce(std::uint64_t seed, std::size_t count) {
    braid::random_source random(seed);
    for (std::size_t i = 0; i < count; ++i) {
      pending.fetch_add(1, relaxed);
      place.unpark();
      for (std::uint64_t pause = random.below(300); pause > 0; --pause) pending.load(relaxed);
    }
  }

  auto consume(std::uint64_t seed, std::size_t total) -> std::size_t {
    braid::random_source random(seed);
    std::size_t taken = 0;
    while ((taken += pending.exchange(0, relaxed)) < total) {
      if (random.below(2) == 0)
        place.park();
      else
        static_cast<void>(place.park_until(braid::steady_time().now() + braid::duration(random.below(100'000))));
    }
    return taken;
  }

  parker place;
  braid::atomic<std::size_t> pending{0};  // relaxed throughout: only the permit says that there is something
};

}  // namespace

TEST_CASE("work announced by an unpark is found, whatever the parks before it ended with") {
  const std::uint64_t seed = braid::testing::printed_seed();
  const std::size_t each = scaled(150'000);
  const braid::testing::watchdog dog(200s);
  for (std::size_t producers = 1; producers <= 3; ++producers) {
    crowd all;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < producers; ++i) threads.emplace_back([&, i] { all.produce(seed + i, each); });
    CHECK(all.consume(seed + 100, producers * each) == producers * each);
    for (std::thread& thread : threads) thread.join();
  }
}

TEST_CASE("a permit that comes just as the deadline passes is taken or kept") {
  const std::uint64_t seed = braid::testing::printed_seed();
  const std::size_t rounds = scaled(40'000);
  const braid::testing::watchdog dog(200s);
  parker request;
  parker answer;
  std::thread other([&] {
    braid::random_source random(seed);
    for (std::size_t i = 0; i < rounds; ++i) {
      for (std::uint64_t pause = random.below(4'000); pause > 0; --pause) static_cast<void>(random());
      request.unpark();
      answer.park();
    }
  });
  ::prctl(PR_SET_TIMERSLACK, 1);  // deadlines of a few microseconds are meant as such
  braid::random_source random(seed + 1);
  std::size_t timeouts = 0;
  for (std::size_t i = 0; i < rounds; ++i) {
    // One permit a round: were it lost, neither thread would ever move again.
    while (!request.park_until(braid::steady_time().now() + braid::duration(random.below(3'000)))) ++timeouts;
    answer.unpark();
  }
  other.join();
  CHECK(timeouts > 0);  // else the deadlines were too far away to test anything
}
