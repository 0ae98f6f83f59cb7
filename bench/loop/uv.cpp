// bench/loop/uv.cpp: libuv. It has no queue of its own for other threads: the usual one is a list under a lock.
#include <bench/harness/moment.hpp>
#include <bench/loop/cases.hpp>
#include <bench/loop/task_list.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <uv.h>

namespace {

using bench::now_ns;
using bench::timers_result;

struct inbox {
  explicit inbox(std::uint64_t expected) : tasks(expected) {}

  void run_all() {
    if (tasks.run_all()) uv_close(reinterpret_cast<uv_handle_t*>(&wake), nullptr);
  }

  bench::task_list tasks;
  uv_async_t wake{};
};

struct timed_timer {
  uv_timer_t timer{};
  std::int64_t due_ns = 0;
  timers_result* result = nullptr;
};

auto post_all(unsigned producers, std::size_t each) -> std::uint64_t {
  uv_loop_t loop;
  uv_loop_init(&loop);
  inbox box(producers * each);
  box.wake.data = &box;
  uv_async_init(&loop, &box.wake, [](uv_async_t* self) { static_cast<inbox*>(self->data)->run_all(); });
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < producers; ++i)
    threads.emplace_back([&box, each] {
      for (std::size_t n = 0; n < each; ++n)
        box.tasks.post([](std::uint64_t& count) { ++count; }, [&box] { uv_async_send(&box.wake); });
    });
  uv_run(&loop, UV_RUN_DEFAULT);
  for (std::thread& thread : threads) thread.join();
  uv_loop_close(&loop);
  return box.tasks.ran();
}

auto run_timers(std::size_t count) -> timers_result {
  uv_loop_t loop;
  uv_loop_init(&loop);
  timers_result result;
  std::vector<timed_timer> all(count);
  for (timed_timer& each : all) {
    each.result = &result;
    each.due_ns = now_ns() + 1'000'000;
    each.timer.data = &each;
    uv_timer_init(&loop, &each.timer);
    const auto fire = [](uv_timer_t* self) {
      const auto& mine = *static_cast<timed_timer*>(self->data);
      ++mine.result->fired;
      if (now_ns() < mine.due_ns) ++mine.result->early;
    };
    uv_timer_start(&each.timer, fire, 1, 0);
  }
  uv_run(&loop, UV_RUN_DEFAULT);
  for (timed_timer& each : all) uv_close(reinterpret_cast<uv_handle_t*>(&each.timer), nullptr);
  uv_run(&loop, UV_RUN_DEFAULT);
  uv_loop_close(&loop);
  return result;
}

auto rearm(const bench::parameters& given) -> bench::sample {
  const std::size_t pending = given.number("pending", 1'000'000);
  uv_loop_t loop;
  uv_loop_init(&loop);
  std::vector<uv_timer_t> all(pending);
  const auto arm = [](uv_timer_t& each, std::chrono::microseconds due) {
    uv_timer_start(&each, [](uv_timer_t*) {}, static_cast<std::uint64_t>(due.count()) / 1'000, 0);
  };
  for (std::size_t i = 0; i < pending; ++i) {
    uv_timer_init(&loop, &all[i]);
    arm(all[i], bench::rearm_due(i));
  }
  const bench::sample measured = bench::timed_rearm(pending, [&](std::size_t i, std::chrono::microseconds due) {
    uv_timer_stop(&all[i]);
    arm(all[i], due);
  });
  for (uv_timer_t& each : all) uv_close(reinterpret_cast<uv_handle_t*>(&each), nullptr);
  uv_run(&loop, UV_RUN_DEFAULT);
  uv_loop_close(&loop);
  return measured;
}

class uv_wheel {
 public:
  explicit uv_wheel(uv_loop_t& loop) : all_(bench::timers_armed_at_once) {
    for (uv_timer_t& each : all_) uv_timer_init(&loop, &each);
  }

  void arm(std::size_t i, std::chrono::microseconds due) { start(all_[i], due); }
  void disarm(std::size_t i) { uv_timer_stop(&all_[i]); }
  [[nodiscard]] auto armed() const -> std::size_t {
    return static_cast<std::size_t>(std::ranges::count_if(
        all_, [](const uv_timer_t& each) { return uv_is_active(reinterpret_cast<const uv_handle_t*>(&each)) != 0; }));
  }
  static void rest() {}

  static void start(uv_timer_t& each, std::chrono::microseconds due) {
    uv_timer_start(&each, [](uv_timer_t*) {}, static_cast<std::uint64_t>(due.count()) / 1'000, 0);
  }
  void close() {
    for (uv_timer_t& each : all_) uv_close(reinterpret_cast<uv_handle_t*>(&each), nullptr);
  }

 private:
  std::vector<uv_timer_t> all_;
};

auto arm(const bench::parameters& given) -> bench::sample {
  uv_loop_t loop;
  uv_loop_init(&loop);
  std::vector<uv_timer_t> others(given.number("pending", 1'000'000));
  for (std::size_t i = 0; i < others.size(); ++i) {
    uv_timer_init(&loop, &others[i]);
    uv_wheel::start(others[i], bench::arm_due(i));
  }
  uv_wheel wheel(loop);
  const bench::sample measured = bench::timed_arms(wheel);
  wheel.close();
  for (uv_timer_t& each : others) uv_close(reinterpret_cast<uv_handle_t*>(&each), nullptr);
  uv_run(&loop, UV_RUN_DEFAULT);
  uv_loop_close(&loop);
  return measured;
}

/// A loop on a thread of its own; one that is busy has an idle handle, as the library calls it, which runs in each
/// turn.
class hopping_loop {
 public:
  explicit hopping_loop(bench::loop_is state) : steps_(bench::steps_of(bench::busy_job_ns)) {
    uv_loop_init(&loop_);
    uv_async_init(&loop_, &wake_, [](uv_async_t* self) { static_cast<hopping_loop*>(self->data)->run_all(); });
    uv_idle_init(&loop_, &busy_);
    wake_.data = this;
    busy_.data = this;
    if (state == bench::loop_is::busy)
      uv_idle_start(&busy_, [](uv_idle_t* self) { bench::work_for(static_cast<hopping_loop*>(self->data)->steps_); });
    thread_ = std::thread([this] { uv_run(&loop_, UV_RUN_DEFAULT); });
  }
  hopping_loop(const hopping_loop&) = delete;
  auto operator=(const hopping_loop&) -> hopping_loop& = delete;
  ~hopping_loop() {
    post(nullptr);
    thread_.join();
    uv_loop_close(&loop_);
  }

  void post(bench::moment* start) {
    tasks_.post(start, [this] { uv_async_send(&wake_); });
  }

 private:
  void run_all() {
    if (!tasks_.run_all()) return;
    uv_close(reinterpret_cast<uv_handle_t*>(&wake_), nullptr);
    uv_close(reinterpret_cast<uv_handle_t*>(&busy_), nullptr);
  }

  std::uint64_t steps_;
  uv_loop_t loop_{};
  uv_async_t wake_{};
  uv_idle_t busy_{};
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
  const bench::contender who{.name = "libuv", .kind = bench::kind::rival, .version = uv_version_string()};
  return bench::run_program(
      count, arguments, "loop",
      {{"post", who, [](const parameters& given) { return bench::timed_posts(given, post_all); }},
       {"timers", who, [](const parameters& given) { return bench::timed_timers(given, run_timers); }},
       {"rearm", who, rearm},
       {"arm", who, arm},
       {"hop", who, hop}});
}
