// tests/sync/parker_model.cpp: under no schedule does a parker lose a permit, or what was written before it.
#include <braid/sync/detail/parker.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>

#include <string>
#include <string_view>
#include <vector>

using braid::acquire;
using braid::atomic;
using braid::relaxed;
using braid::release;
using braid::detail::parker;
namespace model = braid::model;

namespace {

/// The owner waits for two values, each announced by one thread.
template <typename Parker>
void two_unparkers(model::run& r) {
  Parker place;
  atomic<int> announced{0};
  r.thread([&] {
    while (announced.load(relaxed) < 2) place.park();
  });
  for (int i = 0; i < 2; ++i)
    r.thread([&] {
      announced.fetch_add(1, relaxed);
      place.unpark();
    });
  r.join();
}

/// A plain value goes to the owner and back, carried by the permits of two parkers.
template <typename Parker>
void ball(model::run& r) {
  Parker ping;
  Parker pong;
  model::shared<int> value{0};
  r.thread([&] {
    ping.park();
    value = value + 1;
    pong.unpark();
  });
  r.thread([&] {
    value = 1;
    ping.unpark();
    pong.park();
    r.check(value == 2, "the ball came back");
  });
  r.join();
}

/// As two_unparkers with one, except that the owner may give up, and then begins anew.
template <typename Parker>
void deadline(model::run& r) {
  Parker place;
  model::shared<int> value{0};
  bool taken = false;
  r.thread([&] {
    taken = place.park_until(braid::time_point{});
    if (!taken) place.park();
    r.check(value == 1, "what was written before the permit");
    r.check(!place.park_until(braid::time_point{}), "one permit lets one park through");
  });
  r.thread([&] {
    value = 1;
    place.unpark();
  });
  r.join();
}

enum class fault { none, wakes_nobody, waits_without_announcing, forgets_permit_on_timeout };

/// A parker with a fault, to see that the bodies above find it.
template <fault Fault>
class faulty_parker {
 public:
  void park() {
    if (announce()) return;
    do braid::detail::futex_wait(state_, Fault == fault::waits_without_announcing ? empty : parked);
    while (!take());
  }

  auto park_until(braid::time_point until) -> bool {
    if (announce()) return true;
    while (!take()) {
      if (braid::detail::futex_wait(state_, parked, until) == braid::detail::futex_wait_status::timed_out) {
        const bool permitted = state_.exchange(empty, acquire) == permit;
        return permitted && Fault != fault::forgets_permit_on_timeout;
      }
    }
    return true;
  }

  void unpark() {
    const std::uint32_t before = state_.exchange(permit, release);
    if (before == parked && Fault != fault::wakes_nobody) braid::detail::futex_wake(state_, 1);
  }

 private:
  static constexpr std::uint32_t empty = 0;
  static constexpr std::uint32_t permit = 1;
  static constexpr std::uint32_t parked = 2;

  auto announce() -> bool {
    std::uint32_t seen = empty;
    const std::uint32_t asleep = Fault == fault::waits_without_announcing ? empty : parked;
    if (state_.compare_exchange_strong(seen, asleep, relaxed, relaxed)) return false;
    state_.exchange(empty, acquire);
    return true;
  }

  auto take() -> bool {
    std::uint32_t seen = permit;
    return state_.compare_exchange_strong(seen, empty, acquire, relaxed);
  }

  atomic<std::uint32_t> state_{empty};
};

auto failure_of(void (*body)(model::run&)) -> std::string { return model::explore_all({}, body).failure; }

}  // namespace

TEST_CASE("no permit of two unparkers is lost") {
  const model::report all = model::explore_all({.preemptions = 3}, two_unparkers<parker>);
  CHECK(all.failure == "");
  CHECK(all.complete);
  CHECK(model::explore({.seeds = 40'000, .preemptions = 6, .surprises = 4}, two_unparkers<parker>).failure == "");
}

TEST_CASE("what is written before an unpark is visible after the park, with and without a deadline") {
  for (const auto body : {ball<parker>, deadline<parker>}) {
    const model::report all = model::explore_all({.preemptions = 3}, body);
    CHECK(all.failure == "");
    CHECK(all.complete);
    CHECK(model::explore({.seeds = 40'000, .preemptions = 6, .surprises = 4}, body).failure == "");
  }
}

// [model_test]
TEST_CASE("a permit carries what was written before it") {
  const auto body = [](model::run& r) {
    parker place;
    model::shared<int> value{0};
    r.thread([&] {
      place.park();
      r.check(value == 1, "the value came with the permit");
    });
    r.thread([&] {
      value = 1;
      place.unpark();
    });
    r.join();
  };
  const model::report all = model::explore_all({.preemptions = 3}, body);
  CHECK(all.failure == "");
  CHECK(all.complete);
}
// [/model_test]

TEST_CASE("every order of the parker is needed") {
  CHECK(model::orders_not_needed("parker.hpp", {}, {ball<parker>, deadline<parker>}) == "");
}

TEST_CASE("faults of a parker are found") {
  CHECK(failure_of(two_unparkers<faulty_parker<fault::none>>) == "");
  CHECK(failure_of(ball<faulty_parker<fault::none>>) == "");
  CHECK(failure_of(deadline<faulty_parker<fault::none>>) == "");
  CHECK(failure_of(two_unparkers<faulty_parker<fault::wakes_nobody>>).starts_with("deadlock"));
  CHECK(failure_of(two_unparkers<faulty_parker<fault::waits_without_announcing>>).starts_with("deadlock"));
  CHECK(failure_of(deadline<faulty_parker<fault::forgets_permit_on_timeout>>).starts_with("deadlock"));
}
