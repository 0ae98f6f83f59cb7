// bench/loop/event.cpp: libevent. Like libuv it has no queue for other threads: a list under a lock, and an event that
// wakes the loop. Timers of one length share a queue, as its authors advise where there are many.
#include <bench/harness/moment.hpp>
#include <bench/loop/cases.hpp>
#include <bench/loop/task_list.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/thread.h>

namespace {

using bench::now_ns;
using bench::timers_result;

using event_base_pointer = std::unique_ptr<event_base, decltype(&event_base_free)>;

auto made_base() -> event_base_pointer {
  const std::unique_ptr<event_config, decltype(&event_config_free)> wanted(event_config_new(), &event_config_free);
  event_config_set_flag(wanted.get(), EVENT_BASE_FLAG_PRECISE_TIMER);
  return {event_base_new_with_config(wanted.get()), &event_base_free};
}

struct inbox {
  explicit inbox(std::uint64_t expected) : tasks(expected) {}

  void run_all() {
    if (tasks.run_all()) event_del(&wake);
  }

  bench::task_list tasks;
  event wake{};
};

struct timed_timer {
  event timer{};
  std::int64_t due_ns = 0;
  timers_result* result = nullptr;
};

auto post_all(unsigned producers, std::size_t each) -> std::uint64_t {
  const event_base_pointer base = made_base();
  inbox box(producers * each);
  const timeval never{.tv_sec = 3'600, .tv_usec = 0};  // pending, so that the loop stays
  event_assign(
      &box.wake, base.get(), -1, EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<inbox*>(self)->run_all(); }, &box);
  event_add(&box.wake, &never);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < producers; ++i)
    threads.emplace_back([&box, each] {
      for (std::size_t n = 0; n < each; ++n)
        box.tasks.post([](std::uint64_t& count) { ++count; }, [&box] { event_active(&box.wake, EV_READ, 0); });
    });
  event_base_dispatch(base.get());
  for (std::thread& thread : threads) thread.join();
  return box.tasks.ran();
}

auto run_timers(std::size_t count) -> timers_result {
  const event_base_pointer base = made_base();
  const timeval wanted{.tv_sec = 0, .tv_usec = 1'000};
  const timeval* const shared = event_base_init_common_timeout(base.get(), &wanted);
  timers_result result;
  std::vector<timed_timer> all(count);
  const auto fire = [](evutil_socket_t, short, void* self) {
    const auto& mine = *static_cast<timed_timer*>(self);
    ++mine.result->fired;
    if (now_ns() < mine.due_ns) ++mine.result->early;
  };
  for (timed_timer& each : all) {
    each.result = &result;
    each.due_ns = now_ns() + 1'000'000;
    evtimer_assign(&each.timer, base.get(), fire, &each);
    evtimer_add(&each.timer, shared);
  }
  event_base_dispatch(base.get());
  return result;
}

auto rearm(const bench::parameters& given) -> bench::sample {
  const std::size_t pending = given.number("pending", 1'000'000);
  const event_base_pointer base = made_base();
  std::vector<event> all(pending);
  const auto arm = [](event& each, std::chrono::microseconds due) {
    const timeval in{.tv_sec = due.count() / 1'000'000, .tv_usec = due.count() % 1'000'000};
    evtimer_add(&each, &in);
  };
  for (std::size_t i = 0; i < pending; ++i) {
    evtimer_assign(&all[i], base.get(), [](evutil_socket_t, short, void*) {}, nullptr);
    arm(all[i], bench::rearm_due(i));
  }
  const bench::sample measured = bench::timed_rearm(pending, [&](std::size_t i, std::chrono::microseconds due) {
    evtimer_del(&all[i]);
    arm(all[i], due);
  });
  for (event& each : all) evtimer_del(&each);
  return measured;
}

class event_wheel {
 public:
  explicit event_wheel(event_base& base) : all_(bench::timers_armed_at_once) {
    for (event& each : all_) evtimer_assign(&each, &base, [](evutil_socket_t, short, void*) {}, nullptr);
  }

  void arm(std::size_t i, std::chrono::microseconds due) { add(all_[i], due); }
  void disarm(std::size_t i) { evtimer_del(&all_[i]); }
  [[nodiscard]] auto armed() const -> std::size_t {
    return static_cast<std::size_t>(
        std::ranges::count_if(all_, [](const event& each) { return evtimer_pending(&each, nullptr) != 0; }));
  }
  static void rest() {}

  static void add(event& each, std::chrono::microseconds due) {
    const timeval in{.tv_sec = due.count() / 1'000'000, .tv_usec = due.count() % 1'000'000};
    evtimer_add(&each, &in);
  }

 private:
  std::vector<event> all_;
};

auto arm(const bench::parameters& given) -> bench::sample {
  const event_base_pointer base = made_base();
  std::vector<event> others(given.number("pending", 1'000'000));
  for (std::size_t i = 0; i < others.size(); ++i) {
    evtimer_assign(&others[i], base.get(), [](evutil_socket_t, short, void*) {}, nullptr);
    event_wheel::add(others[i], bench::arm_due(i));
  }
  event_wheel wheel(*base);
  const bench::sample measured = bench::timed_arms(wheel);
  for (event& each : others) evtimer_del(&each);
  return measured;
}

/// A loop on a thread of its own; one that is busy has a timer that is due at once, again and again.
class hopping_loop {
 public:
  explicit hopping_loop(bench::loop_is state) : steps_(bench::steps_of(bench::busy_job_ns)) {
    const timeval never{.tv_sec = 3'600, .tv_usec = 0};  // pending, so that the loop stays
    event_assign(
        &wake_, base_.get(), -1, EV_PERSIST,
        [](evutil_socket_t, short, void* self) { static_cast<hopping_loop*>(self)->run_all(); }, this);
    event_add(&wake_, &never);
    evtimer_assign(
        &busy_, base_.get(), [](evutil_socket_t, short, void* self) { static_cast<hopping_loop*>(self)->run_once(); },
        this);
    if (state == bench::loop_is::busy) evtimer_add(&busy_, &at_once);
    thread_ = std::thread([this] { event_base_dispatch(base_.get()); });
  }
  hopping_loop(const hopping_loop&) = delete;
  auto operator=(const hopping_loop&) -> hopping_loop& = delete;
  ~hopping_loop() {
    post(nullptr);
    thread_.join();
  }

  void post(bench::moment* start) {
    tasks_.post(start, [this] { event_active(&wake_, EV_READ, 0); });
  }

 private:
  static constexpr timeval at_once{};

  void run_once() {
    bench::work_for(steps_);
    evtimer_add(&busy_, &at_once);
  }
  void run_all() {
    if (!tasks_.run_all()) return;
    event_del(&wake_);
    event_del(&busy_);
  }

  std::uint64_t steps_;
  event_base_pointer base_ = made_base();
  event wake_{};
  event busy_{};
  bench::moment_list tasks_;
  std::thread thread_;
};

auto hop(const bench::parameters& given) -> bench::sample {
  const bench::loop_is state = bench::loop_state(given);
  hopping_loop other(state);
  return bench::timed_hops(given, state, [&](bench::moment& start) { other.post(&start); });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  using bench::parameters;
  evthread_use_pthreads();
  const bench::contender who{.name = "libevent", .kind = bench::kind::rival, .version = event_get_version()};
  return bench::run_program(
      count, arguments, "loop",
      {{"post", who, [](const parameters& given) { return bench::timed_posts(given, post_all); }},
       {"timers", who, [](const parameters& given) { return bench::timed_timers(given, run_timers); }},
       {"rearm", who, rearm},
       {"arm", who, arm},
       {"hop", who, hop}});
}
