// tests/sync/asymmetric_barrier_stress.cpp: two threads that raise flags on either side of a barrier see each other.
#include <braid/sync/detail/asymmetric_barrier.hpp>

#include <braid/base/random.hpp>

#include <doctest/doctest.h>

#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>

using braid::acquire;
using braid::relaxed;
using braid::release;
using braid::detail::asymmetric_barrier;
using braid::detail::barrier_kind;
using braid::testing::scaled;
using namespace std::chrono_literals;

namespace {

struct alignas(braid::cache_line) cell {
  braid::atomic<std::uint64_t> value{0};
};

/// Two threads that begin each round together, as nearly as spinning makes it.
class rounds {
 public:
  explicit rounds(barrier_kind kind) : barrier_(kind) {}

  void frequent(std::uint64_t count, std::uint64_t seed) {
    braid::random_source random(seed);
    for (std::uint64_t round = 1; round <= count; ++round) {
      meet(0, round);
      dawdle(random);
      raised_[0].value.store(round, relaxed);
      barrier_.light();
      alone_[0] = raised_[1].value.load(relaxed) != round;
      meet(2, round);
    }
  }

  /// How many rounds there were in which neither saw the other.
  auto rare(std::uint64_t count, std::uint64_t seed) -> std::uint64_t {
    braid::random_source random(seed);
    std::uint64_t blind = 0;
    for (std::uint64_t round = 1; round <= count; ++round) {
      meet(1, round);
      dawdle(random);
      raised_[1].value.store(round, relaxed);
      barrier_.heavy();
      const bool alone = raised_[0].value.load(relaxed) != round;
      meet(3, round);
      if (alone && alone_[0]) ++blind;
    }
    return blind;
  }

 private:
  /// Places 0 and 1 wait for each other, and so do 2 and 3.
  void meet(std::size_t place, std::uint64_t round) {
    at_[place].value.store(round, release);
    for (int spins = 0; at_[place ^ 1].value.load(acquire) < round; ++spins)
      if (spins % 256 == 255) std::this_thread::yield();
  }

  void dawdle(braid::random_source& random) {
    for (std::uint64_t pause = random.below(20); pause > 0; --pause) static_cast<void>(at_[0].value.load(relaxed));
  }

  asymmetric_barrier barrier_;
  std::array<cell, 4> at_;
  std::array<cell, 2> raised_;
  std::array<bool, 1> alone_{};
};

}  // namespace

TEST_CASE("in no round are both sides blind") {
  const std::uint64_t seed = braid::testing::printed_seed();
  const std::uint64_t count = scaled(10'000);
  const braid::testing::watchdog dog(200s);
  for (const barrier_kind kind : {asymmetric_barrier::best_kind(), barrier_kind::symmetric}) {
    rounds all(kind);
    std::thread other([&] { all.frequent(count, seed); });
    CHECK(all.rare(count, seed + 1) == 0);
    other.join();
  }
}
