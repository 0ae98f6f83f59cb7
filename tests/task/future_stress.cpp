// tests/task/future_stress.cpp: fulfilling, attaching, waiting, stealing the value and dropping race; nothing is lost.
#include <braid/task/future.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>
#include <braid/task/when_all.hpp>

#include <braid/base/random.hpp>

#include <doctest/doctest.h>

#include <tests/support/busy.hpp>
#include <tests/support/chosen_pool.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/seed.hpp>
#include <tests/support/watchdog.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using braid::acq_rel;
using braid::acquire;
using braid::errc;
using braid::future;
using braid::promise;
using braid::relaxed;
using braid::release;
using braid::testing::failure;
using braid::testing::scaled;
using namespace std::chrono_literals;

namespace {

braid::atomic<int> alive{0};

/// A value that cannot be copied, is counted, and knows whether it was moved away.
class payload {
 public:
  explicit payload(int number) : number_(number) { alive.fetch_add(1, relaxed); }
  payload(payload&& other) noexcept : number_(std::exchange(other.number_, -1)) { alive.fetch_add(1, relaxed); }
  auto operator=(payload&&) -> payload& = delete;
  ~payload() {
    number_ = -2;
    alive.fetch_sub(1, relaxed);
  }
  [[nodiscard]] auto number() const -> int { return number_; }

 private:
  int number_;
};

/// Two threads that begin each round together.
class starting_line {
 public:
  void meet() {
    const unsigned mine = round_.load(relaxed);
    if (arrived_.fetch_add(1, acq_rel) == 1) {
      arrived_.store(0, relaxed);
      round_.fetch_add(1, release);
      return;
    }
    braid::testing::wait_until([&] { return round_.load(acquire) != mine; });
  }

 private:
  braid::atomic<unsigned> arrived_{0};
  braid::atomic<unsigned> round_{0};
};

enum class give { value, failure, nothing };
enum class expectation { met, unmet };

auto met(bool holds) -> expectation { return holds ? expectation::met : expectation::unmet; }

void pause(braid::random_source& random) {
  static braid::atomic<int> anything{0};
  for (auto spins = random.below(60); spins > 0; --spins) anything.load(relaxed);
}

/// Whether the future ends as what was given.
template <typename Future, typename Number>
auto ends_with(Future&& from, give what, Number number) -> expectation {
  try {
    const int got = number(from.get());
    return met(what == give::value && got == 7);
  } catch (const std::system_error& error) {
    return met(what == give::nothing && error.code() == errc::broken_promise);
  } catch (const std::runtime_error& error) {
    return met(what == give::failure && std::string(error.what()) == "given");
  }
}

auto as_is(int n) -> int { return n; }
auto of_payload(const payload& value) -> int { return value.number(); }

/// Fulfils the promise in one of three ways.
void fulfil(promise<payload> source, give what) {
  if (what == give::value) source.set_value(7).value();
  if (what == give::failure) source.set_exception(failure("given")).value();
}

/// What the owner of the future does with it meanwhile.
using user = expectation (*)(future<payload>, give, braid::random_source&);

constexpr std::array<user, 10> users = {
    +[](future<payload> from, give what, braid::random_source&) { return ends_with(from, what, of_payload); },
    +[](future<payload> from, give what, braid::random_source&) {
      return ends_with(std::move(from).then(of_payload), what, as_is);
    },
    +[](future<payload> from, give, braid::random_source&) {
      from.detach();
      return expectation::met;
    },
    +[](future<payload> from, give, braid::random_source&) {
      std::move(from).then(of_payload).detach();
      return expectation::met;
    },
    +[](future<payload> from, give what, braid::random_source& random) {
      auto looked = from.then(of_payload);
      pause(random);
      auto also = from.then(of_payload);
      const auto taken = ends_with(from, what, of_payload);
      return met(taken == expectation::met && ends_with(looked, what, as_is) == expectation::met &&
                 ends_with(also, what, as_is) == expectation::met);
    },
    +[](future<payload> from, give what, braid::random_source& random) {
      auto looked = from.then(of_payload);
      pause(random);
      auto taken = std::move(from).then([](payload value) { return value.number(); });
      return met(ends_with(taken, what, as_is) == expectation::met &&
                 ends_with(looked, what, as_is) == expectation::met);
    },
    +[](future<payload> from, give what, braid::random_source&) {
      while (!from.wait_for(1us)) {}
      return ends_with(from, what, of_payload);
    },
    +[](future<payload> from, give what, braid::random_source& random) {
      const auto shared = std::move(from).share();
      expectation others = expectation::unmet;
      std::thread other([&others, what, mine = shared] { others = ends_with(mine, what, of_payload); });
      pause(random);
      const auto own = ends_with(shared, what, of_payload);
      other.join();
      return met(own == expectation::met && others == expectation::met);
    },
    +[](future<payload> from, give what, braid::random_source&) {
      auto all = braid::when_all(std::move(from), braid::ready_future<void>());
      return ends_with(all, what, [](const auto& values) { return std::get<0>(values).number(); });
    },
    +[](future<payload> from, give what, braid::random_source&) {
      auto lost = braid::failed_future<int>(failure("other"));
      auto any = braid::when_any(std::move(from), std::move(lost));
      return ends_with(any, what, [](const auto& won) { return std::get<0>(won.value).number(); });
    },
};

}  // namespace

TEST_CASE("whatever the owner does while the promise is fulfilled or dropped, the result is right and dies once") {
  const std::uint64_t seed = braid::testing::printed_seed();
  const std::size_t rounds = scaled(60'000);
  const braid::testing::watchdog dog(250s);
  braid::random_source choices(seed);
  starting_line line;
  std::vector<promise<payload>> given(1);
  give what = give::value;
  std::size_t unmet = 0;
  std::thread other([&, random = braid::random_source(seed + 1)]() mutable {
    for (std::size_t round = 0; round < rounds; ++round) {
      line.meet();
      pause(random);
      fulfil(std::move(given[0]), what);
      line.meet();
    }
  });
  for (std::size_t round = 0; round < rounds; ++round) {
    given[0] = promise<payload>();
    what = static_cast<give>(choices.below(3));
    auto mine = given[0].get_future();
    const auto use = users[choices.below(users.size())];
    line.meet();
    pause(choices);
    if (use(std::move(mine), what, choices) == expectation::unmet) ++unmet;
    line.meet();
  }
  other.join();
  CHECK(unmet == 0);
  CHECK(alive.load(relaxed) == 0);
}

TEST_CASE("futures settle once and right while their pool is shut down in the middle") {
  using pool = braid::testing::chosen_pool;
  const std::uint64_t seed = braid::testing::printed_seed();
  const std::size_t rounds = scaled(300);
  const braid::testing::watchdog dog(250s);
  braid::random_source random(seed);
  std::size_t wrong = 0;
  for (std::size_t round = 0; round < rounds; ++round) {
    pool workers({.workers = 2});
    std::vector<future<int>> futures;
    std::thread producer([&] {
      for (int i = 0; i < 300; ++i)
        futures.push_back(braid::spawn(workers, [] {
                            return payload(7);
                          }).then([](payload value) {
                              return value;
                            }).then([&workers](payload value) {
          return braid::spawn(workers, [inner = std::move(value)] { return inner.number(); });
        }));
    });
    braid::testing::busy_for(std::chrono::microseconds(random.below(100)));
    const auto mode = random.below(2) == 0 ? braid::shutdown_mode::drain : braid::shutdown_mode::drop_pending;
    CHECK(workers.shutdown(mode));
    producer.join();
    for (auto& one : futures) {
      try {
        if (!one.is_ready() || one.get() != 7) ++wrong;
      } catch (const std::system_error& error) {
        if (error.code() != errc::dropped && error.code() != errc::closed) ++wrong;
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(alive.load(relaxed) == 0);
}
