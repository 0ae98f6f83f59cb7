// tests/base/timer_wheel_test.cpp: timers fire in order, never early, at most a tick late, at every distance.
#include <braid/base/timer_wheel.hpp>

#include <braid/base/random.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

using braid::duration;
using braid::time_point;
using braid::timer_wheel;

namespace {

constexpr std::int64_t tick_ns = std::int64_t{1} << timer_wheel::tick_bits;

auto at(std::int64_t ns) -> time_point { return time_point{duration{ns}}; }

struct probe : braid::timer {
  explicit probe(int number = 0) : timer(&on_fire), id(number) {}
  static void on_fire(braid::timer& self) noexcept { ++static_cast<probe&>(self).fired; }

  int id;
  int fired = 0;
};

/// Advances and fires; gives the ids in the order of firing.
auto fire(timer_wheel& wheel, time_point now) -> std::vector<int> {
  braid::intrusive_list<braid::timer> due;
  wheel.advance(now, due);
  std::vector<int> ids;
  while (braid::timer* item = due.pop_front()) {
    item->fire();
    ids.push_back(static_cast<probe*>(item)->id);
  }
  return ids;
}

using ids = std::vector<int>;

/// As many timers as fit into the list of few timers, armed for the end of time.
struct crowd {
  explicit crowd(timer_wheel& in) : wheel(in) {
    for (probe& each : timers) wheel.arm(each, time_point::max());
  }
  crowd(const crowd&) = delete;
  auto operator=(const crowd&) -> crowd& = delete;
  ~crowd() {
    for (probe& each : timers) wheel.disarm(each);
  }

  timer_wheel& wheel;
  std::array<probe, timer_wheel::max_few> timers;
};

}  // namespace

TEST_CASE("a deadline is rounded up to its tick and the time down, so that nothing fires early") {
  for (const std::int64_t offset : {std::int64_t{0}, std::int64_t{1}, tick_ns / 2, tick_ns - 1}) {
    timer_wheel wheel(at(0));
    probe one(1);
    const std::int64_t deadline = 10 * tick_ns + offset;
    wheel.arm(one, at(deadline));
    const std::int64_t due = offset == 0 ? deadline : 11 * tick_ns;
    CHECK(fire(wheel, at(deadline - 1)).empty());
    CHECK(fire(wheel, at(due - 1)).empty());
    CHECK(one.is_armed());
    CHECK(fire(wheel, at(due)) == ids{1});
    CHECK(one.fired == 1);
    CHECK_FALSE(one.is_armed());
    CHECK(wheel.empty());
  }
}

TEST_CASE("a deadline that has passed is due at once, however long ago it was") {
  timer_wheel wheel(at(1'000 * tick_ns + 5));
  probe now(1);
  probe earlier(2);
  probe ages_ago(3);
  wheel.arm(now, at(1'000 * tick_ns));
  wheel.arm(earlier, at(7));
  wheel.arm(ages_ago, time_point::min());
  CHECK_FALSE(wheel.empty());
  CHECK(wheel.next_event().value() <= at(1'000 * tick_ns + 5));
  CHECK(fire(wheel, at(1'000 * tick_ns + 5)) == ids{1, 2, 3});
  CHECK_FALSE(wheel.next_event().has_value());
}

TEST_CASE("a timer is not due in the tick in which it was armed unless its time has come") {
  timer_wheel wheel(at(100 * tick_ns));
  probe soon(1);
  wheel.arm(soon, at(100 * tick_ns + 1));
  CHECK(fire(wheel, at(100 * tick_ns + 1)).empty());
  CHECK(fire(wheel, at(101 * tick_ns)) == ids{1});
}

TEST_CASE("timers fire by tick, and within a tick in the order of arming, whatever level they came from") {
  timer_wheel wheel(at(0));
  probe far(1);
  probe near(2);
  probe same_as_far(3);
  probe late_comer(4);
  wheel.arm(far, at(5'000 * tick_ns));
  wheel.arm(near, at(3 * tick_ns));
  wheel.arm(same_as_far, at(5'000 * tick_ns - 7));
  CHECK(fire(wheel, at(4'990 * tick_ns)) == ids{2});
  wheel.arm(late_comer, at(5'000 * tick_ns));
  wheel.arm(near, at(4'999 * tick_ns));
  CHECK(fire(wheel, at(6'000 * tick_ns)) == ids{2, 1, 3, 4});
}

TEST_CASE("from every level a timer comes down to its tick, in at most one step a level") {
  for (unsigned bit = 14; bit < 63; ++bit) {
    for (const std::int64_t offset : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{12'345}}) {
      constexpr std::int64_t start = 987'654'321;
      timer_wheel wheel(at(start));
      const crowd others(wheel);  // so many that the wheel has slots
      probe one(1);
      const std::int64_t deadline = (std::int64_t{1} << bit) + start + offset * tick_ns;
      wheel.arm(one, at(deadline));
      int steps = 0;
      time_point now = at(start);
      for (; one.fired == 0 && steps < 12; ++steps) {
        const auto next = wheel.next_event();
        REQUIRE(next.has_value());
        REQUIRE((*next > now || deadline <= start));  // else nothing would ever move
        now = std::max(now, *next);
        fire(wheel, now);
      }
      CHECK(steps <= 10);
      CHECK(one.fired == 1);
      CHECK(now >= at(deadline));
      CHECK(now < at(std::max(deadline, start)) + duration(tick_ns));
    }
  }
}

TEST_CASE("few timers are kept in order without slots, and in the same order once there are more") {
  for (const std::size_t more : {std::size_t{0}, std::size_t{1}, std::size_t{20}}) {
    CAPTURE(more);
    timer_wheel wheel(at(0));
    std::vector<std::unique_ptr<probe>> timers;
    ids expected;
    for (int id = 0; id < static_cast<int>(timer_wheel::max_few + more); ++id) {
      timers.push_back(std::make_unique<probe>(id));
      wheel.arm(*timers.back(), at((100 - id / 2) * tick_ns));  // two timers of each tick, the later ticks first
    }
    for (int id = static_cast<int>(timers.size()) - 1; id >= 0; --id) expected.push_back(id ^ 1);
    if (timers.size() % 2 != 0) expected[0] = static_cast<int>(timers.size()) - 1;
    CHECK(wheel.next_event().value() <= at((100 - expected[0] / 2) * tick_ns));
    CHECK(fire(wheel, at(100 * tick_ns)) == expected);
    CHECK(wheel.empty());
    CHECK_FALSE(wheel.next_event().has_value());
  }
}

TEST_CASE("the time of the next event is exact while there are few timers") {
  timer_wheel wheel(at(0));
  probe first(1);
  probe second(2);
  wheel.arm(second, at(70'000 * tick_ns));
  wheel.arm(first, at(5'000 * tick_ns));
  CHECK(wheel.next_event() == at(5'000 * tick_ns));
  wheel.disarm(first);
  CHECK(wheel.next_event() == at(70'000 * tick_ns));
  wheel.disarm(second);
  CHECK(wheel.empty());
}

TEST_CASE("the last representable time can be waited for") {
  timer_wheel wheel(at(1'000'000'000));
  const crowd others(wheel);
  probe never(1);
  probe soon(2);
  wheel.arm(never, time_point::max());
  CHECK(wheel.next_event().value() > at(std::int64_t{1} << 62));
  wheel.arm(soon, at(2'000'000'000));
  CHECK(fire(wheel, at(std::int64_t{1} << 62)) == ids{2});
  CHECK(fire(wheel, at(std::int64_t{3} << 61)).empty());
  CHECK(wheel.next_event().value() <= time_point::max());
  CHECK(never.is_armed());
  wheel.disarm(never);
}

TEST_CASE("a disarmed timer does not fire, and leaves nothing behind") {
  timer_wheel wheel(at(0));
  probe one(1);
  probe two(2);
  wheel.disarm(one);
  for (const std::int64_t deadline : {std::int64_t{-5}, std::int64_t{3}, std::int64_t{900}, std::int64_t{1} << 40}) {
    wheel.arm(one, at(deadline * tick_ns));
    wheel.disarm(one);
    CHECK(wheel.empty());
    CHECK_FALSE(wheel.next_event().has_value());
  }
  wheel.arm(one, at(700 * tick_ns));
  wheel.arm(two, at(700 * tick_ns));
  wheel.disarm(one);
  CHECK(fire(wheel, at(800 * tick_ns)) == ids{2});
}

TEST_CASE("a timer that is due and has not fired can be disarmed or moved") {
  timer_wheel wheel(at(0));
  probe first(1);
  probe second(2);
  probe third(3);
  for (probe* one : {&first, &second, &third}) wheel.arm(*one, at(5 * tick_ns));
  braid::intrusive_list<braid::timer> due;
  wheel.advance(at(6 * tick_ns), due);
  CHECK(first.is_armed());
  wheel.disarm(first);
  wheel.arm(third, at(9 * tick_ns));
  CHECK(due.pop_front() == &second);
  CHECK(due.empty());
  CHECK(fire(wheel, at(9 * tick_ns)) == ids{3});
  CHECK(first.fired == 0);
}

TEST_CASE("arming again moves the timer, earlier or later") {
  timer_wheel wheel(at(0));
  probe one(1);
  wheel.arm(one, at(100 * tick_ns));
  wheel.arm(one, at(50 * tick_ns));
  CHECK(fire(wheel, at(50 * tick_ns)) == ids{1});
  wheel.arm(one, at(60 * tick_ns));
  wheel.arm(one, at(90'000 * tick_ns));
  CHECK(fire(wheel, at(89'999 * tick_ns)).empty());
  CHECK(fire(wheel, at(90'000 * tick_ns)) == ids{1});
}

TEST_CASE("a time that lies behind the wheel changes nothing") {
  timer_wheel wheel(at(500 * tick_ns));
  probe one(1);
  wheel.arm(one, at(510 * tick_ns));
  CHECK(fire(wheel, at(400 * tick_ns)).empty());
  CHECK(fire(wheel, at(509 * tick_ns)).empty());
  CHECK(fire(wheel, at(510 * tick_ns)) == ids{1});
}

TEST_CASE("a timer can be armed again from what it does when it fires") {
  struct periodic : braid::timer {
    explicit periodic(timer_wheel& in) : timer(&on_fire), wheel(in) {}
    static void on_fire(braid::timer& self) noexcept {
      auto& mine = static_cast<periodic&>(self);
      if (++mine.fired < 4) mine.wheel.arm(mine, at(mine.fired * 100 * tick_ns + 100 * tick_ns));
    }
    timer_wheel& wheel;
    std::int64_t fired = 0;
  };
  timer_wheel wheel(at(0));
  periodic beat(wheel);
  wheel.arm(beat, at(100 * tick_ns));
  for (std::int64_t step = 1; step <= 6; ++step) {
    braid::intrusive_list<braid::timer> due;
    wheel.advance(at(step * 100 * tick_ns), due);
    while (braid::timer* item = due.pop_front()) item->fire();
    CHECK(beat.fired == std::min<std::int64_t>(step, 4));
  }
  CHECK(wheel.empty());
}

#if defined(BRAID_CHECKED)
TEST_CASE("checked builds refuse to destroy an armed timer") {
  const auto end = braid::testing::run_in_child([] {
    timer_wheel wheel(at(0));
    const auto one = std::make_unique<probe>();
    wheel.arm(*one, at(tick_ns));
  });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("must leave its list") != std::string::npos);
}
#endif

namespace {

/// What a wheel must do, by the book: all pending timers in a sorted map.
class oracle {
 public:
  void arm(int id, std::int64_t deadline) {
    disarm(id);
    const std::int64_t tick = (std::max<std::int64_t>(deadline, 0) + tick_ns - 1) / tick_ns;
    const bool late = tick <= elapsed_;
    // Those that were late when armed fire first, in the order of arming.
    pending_.emplace(std::pair(late ? -1 : tick, ++armed_), id);
  }

  void disarm(int id) {
    std::erase_if(pending_, [id](const auto& entry) { return entry.second == id; });
  }

  auto advance(std::int64_t now) -> ids {
    ids due;
    while (!pending_.empty() && pending_.begin()->first.first <= now / tick_ns) {
      due.push_back(pending_.begin()->second);
      pending_.erase(pending_.begin());
    }
    elapsed_ = std::max(elapsed_, now / tick_ns);
    return due;
  }

  /// The first time at which something is due; nothing where nothing is pending.
  [[nodiscard]] auto first_due() const -> std::optional<std::int64_t> {
    if (pending_.empty()) return std::nullopt;
    return std::max(pending_.begin()->first.first, elapsed_) * tick_ns;
  }

  void start(std::int64_t now) { elapsed_ = now / tick_ns; }

 private:
  std::map<std::pair<std::int64_t, int>, int> pending_;  // by tick, then by order of arming
  std::int64_t elapsed_ = 0;
  int armed_ = 0;
};

/// A wheel and its oracle, which get the same random calls.
struct duel {
  explicit duel(std::uint64_t seed) : random(seed), wheel(at(now)) {
    expected.start(now);
    for (int id = 0; id < 40; ++id) timers.push_back(std::make_unique<probe>(id));
  }
  ~duel() {
    for (const auto& one : timers) wheel.disarm(*one);
  }

  /// A distance of any magnitude up to 2^`bits` ns.
  auto distance(unsigned bits) -> std::int64_t {
    return static_cast<std::int64_t>(random() >> (64 - random.below(bits) - 1));
  }

  void arm() {
    probe& one = *timers[random.below(timers.size())];
    const std::int64_t deadline = now + distance(48) - distance(18);
    wheel.arm(one, at(deadline));
    expected.arm(one.id, deadline);
  }

  void disarm() {
    probe& one = *timers[random.below(timers.size())];
    wheel.disarm(one);
    expected.disarm(one.id);
  }

  void advance() {
    if (random.below(2) == 0 && wheel.next_event())
      now = std::max<std::int64_t>(now, wheel.next_event()->time_since_epoch().count());
    else
      now += distance(random.below(8) == 0 ? 47 : 22);
    REQUIRE(fire(wheel, at(now)) == expected.advance(now));
  }

  void check_next_event() const {
    const auto next = wheel.next_event();
    const auto first = expected.first_due();
    REQUIRE(next.has_value() == first.has_value());
    REQUIRE(wheel.empty() == !next.has_value());
    if (!next) return;
    REQUIRE(*next <= at(*first));
    REQUIRE((*next > at(now) || *first <= now));
  }

  braid::random_source random;
  std::int64_t now = 1'000'000'000;
  timer_wheel wheel;
  oracle expected;
  std::vector<std::unique_ptr<probe>> timers;
};

}  // namespace

TEST_CASE("random calls give the same timers in the same order as a sorted map") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    duel both(seed);
    for (int step = 0; step < 400; ++step) {
      switch (both.random.below(6)) {
        case 0: both.disarm(); break;
        case 1:
        case 2: both.advance(); break;
        default: both.arm();
      }
      both.check_next_event();
    }
  }
}

TEST_CASE("all timers can be taken out, due or not, and the wheel is used on") {
  timer_wheel wheel(at(100 * tick_ns));
  const ids expected{1, 2, 3, 4, 5};
  std::vector<std::unique_ptr<probe>> items;
  for (const int id : expected) items.push_back(std::make_unique<probe>(id));
  wheel.arm(*items[4], time_point::max());
  wheel.arm(*items[3], at(3'600'000'000'000));
  wheel.arm(*items[2], at(110 * tick_ns));
  wheel.arm(*items[1], at(105 * tick_ns));
  wheel.arm(*items[0], at(7));
  braid::intrusive_list<braid::timer> pending;
  wheel.take_all(pending);
  CHECK(wheel.empty());
  CHECK(wheel.next_event() == std::nullopt);
  wheel.disarm(*items[1]);  // they still count as armed
  wheel.arm(*items[2], at(120 * tick_ns));
  ids taken;
  while (braid::timer* item = pending.pop_front()) taken.push_back(static_cast<probe*>(item)->id);
  CHECK(taken == ids{1, 4, 5});
  CHECK(fire(wheel, at(119 * tick_ns)).empty());
  CHECK(fire(wheel, at(120 * tick_ns)) == ids{3});
}

TEST_CASE("a timer that is dropped calls its other function, where it has one") {
  struct droppable : braid::droppable_timer {
    droppable()
        : droppable_timer([](timer&) noexcept {}, [](timer& self) noexcept { ++static_cast<droppable&>(self).drops; }) {
    }
    int drops = 0;
  } with;
  with.drop();
  CHECK(with.drops == 1);
  probe without;
  without.drop();
  CHECK(without.fired == 0);
}
