// tests/task/timer_service_test.cpp: code written against the interface works with any service behind it.
#include <braid/task/executor.hpp>

#include <doctest/doctest.h>

#include <tests/support/deaths.hpp>

#include <chrono>
#include <memory>

using namespace std::chrono_literals;

namespace {

/// The smallest service: a wheel and a clock that the test turns.
class manual_service final : public braid::timer_service {
 public:
  explicit manual_service(braid::testing::deaths& in) : guard_(in), wheel_(clock_.now()) {}

  void arm(braid::timer& item, braid::time_point when) noexcept override { wheel_.arm(item, when); }
  void disarm(braid::timer& item) noexcept override { wheel_.disarm(item); }
  [[nodiscard]] auto now() const noexcept -> braid::time_point override { return clock_.now(); }

  void advance(braid::duration by) {
    clock_.advance(by);
    braid::intrusive_list<braid::timer> due;
    wheel_.advance(clock_.now(), due);
    while (braid::timer* item = due.pop_front()) item->fire();
  }

 private:
  braid::testing::mortal guard_;
  braid::manual_clock clock_;
  braid::timer_wheel wheel_;
};

/// Counts how often it fires, and asks for more until it has enough.
struct heartbeat : braid::timer {
  explicit heartbeat(braid::timer_service& in) : timer(&beat), service(in) {}
  static void beat(braid::timer& self) noexcept {
    auto& mine = static_cast<heartbeat&>(self);
    if (++mine.beats < 3) mine.service.arm(mine, mine.service.now() + 1s);
  }
  braid::timer_service& service;
  int beats = 0;
};

}  // namespace

TEST_CASE("a timer armed through the interface fires once it is due, and can be armed again as it fires") {
  braid::testing::deaths ended;
  manual_service turned(ended);
  heartbeat heart(turned);
  turned.arm(heart, turned.now() + 1s);
  turned.advance(999ms);
  CHECK(heart.beats == 0);
  for (int second = 0; second < 5; ++second) turned.advance(1s);
  CHECK(heart.beats == 3);
  CHECK_FALSE(heart.is_armed());
}

TEST_CASE("a timer taken back through the interface does not fire") {
  braid::testing::deaths ended;
  manual_service turned(ended);
  heartbeat heart(turned);
  turned.arm(heart, turned.now() + 1s);
  turned.disarm(heart);
  turned.disarm(heart);
  turned.advance(1h);
  CHECK(heart.beats == 0);
}

TEST_CASE("a service can be destroyed through its base") {
  braid::testing::deaths ended;
  std::unique_ptr<braid::timer_service> service = std::make_unique<manual_service>(ended);
  service.reset();
  CHECK(ended.count == 1);
}
