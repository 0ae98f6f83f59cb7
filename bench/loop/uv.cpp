// bench/loop/uv.cpp: libuv. It has no queue of its own for other threads: the usual one is a list under a lock.
#include <bench/harness/moment.hpp>
#include <bench/loop/cases.hpp>
#include <bench/loop/task_list.hpp>

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

}  // namespace

auto main(int count, char** arguments) -> int {
  using bench::parameters;
  const bench::contender who{.name = "libuv", .kind = bench::kind::rival, .version = uv_version_string()};
  return bench::run_program(
      count, arguments, "loop",
      {{"post", who, [](const parameters& given) { return bench::timed_posts(given, post_all); }},
       {"timers", who, [](const parameters& given) { return bench::timed_timers(given, run_timers); }},
       {"rearm", who, rearm}});
}
