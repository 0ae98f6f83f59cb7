// tests/sync/event_count_model.cpp: under no schedule does a sleeper miss a notify, though its condition is relaxed.
#include <braid/sync/detail/event_count.hpp>

#include <doctest/doctest.h>

#include <tests/support/model.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

using braid::acquire;
using braid::atomic;
using braid::relaxed;
using braid::seq_cst;
using braid::detail::event_count;
namespace model = braid::model;

namespace {

template <typename Events>
void wait_for(Events& events, atomic<int>& condition, int value) {
  while (true) {
    const auto key = events.prepare();
    if (condition.load(relaxed) >= value) return events.cancel();
    events.wait(key);
  }
}

/// One sleeper, one notify.
template <typename Events>
void one_sleeper(model::run& r) {
  Events events;
  atomic<int> condition{0};
  r.thread([&] { wait_for(events, condition, 1); });
  r.thread([&] {
    condition.store(1, relaxed);
    events.notify_one();
  });
  r.join();
}

/// Two sleepers, one notify for both.
template <typename Events>
void two_sleepers(model::run& r) {
  Events events;
  atomic<int> condition{0};
  for (int i = 0; i < 2; ++i) r.thread([&] { wait_for(events, condition, 1); });
  r.thread([&] {
    condition.store(1, relaxed);
    events.notify_all();
  });
  r.join();
}

/// Two notifies, of which the sleeper needs both, and which also bring a plain value each.
template <typename Events>
void two_notifiers(model::run& r) {
  Events events;
  atomic<int> condition{0};
  r.thread([&] { wait_for(events, condition, 2); });
  for (int i = 0; i < 2; ++i)
    r.thread([&] {
      condition.fetch_add(1, relaxed);
      events.notify_one();
    });
  r.join();
}

/// A wait that ended by a notify has seen what came before it, although nobody looks again.
template <typename Events>
void notified(model::run& r) {
  Events events;
  model::shared<int> value{0};
  atomic<int> condition{0};
  r.thread([&] {
    const auto key = events.prepare();
    if (condition.load(relaxed) == 1) return events.cancel();
    events.wait(key);
    r.check(value == 1, "the notify came after the value");
  });
  r.thread([&] {
    value = 1;
    condition.store(1, relaxed);
    events.notify_one();
  });
  r.join();
}

/// A wait with a deadline says true only after a notify, and the next one still works.
template <typename Events>
void deadline(model::run& r) {
  Events events;
  model::shared<int> value{0};
  atomic<int> condition{0};
  r.thread([&] {
    if (events.wait_until(events.prepare(), braid::time_point{})) r.check(value == 1, "it says true after a notify");
    wait_for(events, condition, 1);
  });
  r.thread([&] {
    value = 1;
    condition.store(1, relaxed);
    events.notify_one();
  });
  r.join();
}

enum class fault : std::uint8_t { none, announces_late, epoch_after_look, looks_for_waiters_first, wakes_one };

/// An event count with a fault.
template <fault Fault>
class faulty_events {
 public:
  auto prepare() -> std::uint32_t {
    if (Fault == fault::announces_late) {
      const std::uint32_t early = epoch_.load(seq_cst);
      waiters_.fetch_add(1, relaxed);
      return early;
    }
    waiters_.fetch_add(1, seq_cst);
    return epoch_.load(seq_cst);
  }

  void cancel() { waiters_.fetch_sub(1, relaxed); }

  void wait(std::uint32_t key) {
    if (Fault == fault::epoch_after_look) key = epoch_.load(seq_cst);
    while (epoch_.load(acquire) == key) braid::detail::futex_wait(epoch_, key);
    cancel();
  }

  void notify_one() { notify(1); }
  void notify_all() { notify(Fault == fault::wakes_one ? 1 : 2); }

 private:
  void notify(int count) {
    const bool nobody = waiters_.load(seq_cst) == 0;
    if (Fault == fault::looks_for_waiters_first && nobody) return;
    epoch_.fetch_add(1, seq_cst);
    if (waiters_.load(seq_cst) != 0) braid::detail::futex_wake(epoch_, count);
  }

  atomic<std::uint32_t> epoch_{0};
  atomic<std::uint32_t> waiters_{0};
};

const std::vector<model::body> bodies = {one_sleeper<event_count>, two_sleepers<event_count>,
                                         two_notifiers<event_count>};

auto failure_of(void (*body)(model::run&)) -> std::string { return model::explore_all({}, body).failure; }

}  // namespace

TEST_CASE("no notify is lost, under every schedule within the bounds") {
  for (const auto body : bodies) {
    const model::report all = model::explore_all({}, body);
    CHECK(all.failure == "");
    CHECK(all.complete);
  }
}

TEST_CASE("no notify is lost, under random schedules") {
  for (const auto body : bodies)
    CHECK(model::explore({.seeds = 40'000, .preemptions = 6, .surprises = 4}, body).failure == "");
}

TEST_CASE("what comes before the notify that ends a wait is visible after it") {
  CHECK(failure_of(notified<event_count>) == "");
  CHECK(failure_of(deadline<event_count>) == "");
}

TEST_CASE("every order of the event count is needed, but for one that another makes up for") {
  const std::string not_needed = model::orders_not_needed(
      "event_count.hpp", {}, {one_sleeper<event_count>, notified<event_count>, deadline<event_count>});
  // The loop of wait_until: the load behind it observes the same edge.
  CHECK_MESSAGE(std::count(not_needed.begin(), not_needed.end(), ' ') == 1, not_needed);
}

TEST_CASE("faults of an event count are found") {
  CHECK(failure_of(one_sleeper<faulty_events<fault::none>>) == "");
  CHECK(failure_of(one_sleeper<faulty_events<fault::announces_late>>).starts_with("deadlock"));
  CHECK(failure_of(one_sleeper<faulty_events<fault::epoch_after_look>>).starts_with("deadlock"));
  CHECK(failure_of(one_sleeper<faulty_events<fault::looks_for_waiters_first>>).starts_with("deadlock"));
  CHECK(failure_of(two_sleepers<faulty_events<fault::wakes_one>>).starts_with("deadlock"));
}
