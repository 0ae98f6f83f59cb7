// bench/loop/uv.cpp: libuv. It has no queue of its own for other threads: the usual one is a list under a lock.
#include <bench/harness/moment.hpp>
#include <bench/loop/contenders.hpp>

#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <uv.h>

namespace bench {
namespace {

using task = void (*)(std::uint64_t&);

struct inbox {
  std::mutex mutex;
  std::vector<task> tasks;
  uv_async_t wake{};
  std::uint64_t ran = 0;
  std::uint64_t expected = 0;

  void post(task work) {
    bool is_first = false;
    {
      const std::lock_guard lock(mutex);
      is_first = tasks.empty();
      tasks.push_back(work);
    }
    if (is_first) uv_async_send(&wake);
  }

  void run_all() {
    std::vector<task> now;
    {
      const std::lock_guard lock(mutex);
      now.swap(tasks);
    }
    for (const task work : now) work(ran);
    if (ran == expected) uv_close(reinterpret_cast<uv_handle_t*>(&wake), nullptr);
  }
};

struct timed {
  uv_timer_t timer{};
  std::int64_t due_ns = 0;
  timers_result* result = nullptr;
};

}  // namespace

auto post_by_uv(unsigned producers, std::size_t each) -> std::uint64_t {
  uv_loop_t loop;
  uv_loop_init(&loop);
  inbox box;
  box.expected = producers * each;
  box.wake.data = &box;
  uv_async_init(&loop, &box.wake, [](uv_async_t* self) { static_cast<inbox*>(self->data)->run_all(); });
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < producers; ++i)
    threads.emplace_back([&box, each] {
      for (std::size_t n = 0; n < each; ++n) box.post([](std::uint64_t& count) { ++count; });
    });
  uv_run(&loop, UV_RUN_DEFAULT);
  for (std::thread& thread : threads) thread.join();
  uv_loop_close(&loop);
  return box.ran;
}

auto timers_by_uv(std::size_t count) -> timers_result {
  uv_loop_t loop;
  uv_loop_init(&loop);
  timers_result result;
  std::vector<timed> all(count);
  for (timed& each : all) {
    each.result = &result;
    each.due_ns = now_ns() + 1'000'000;
    each.timer.data = &each;
    uv_timer_init(&loop, &each.timer);
    const auto fire = [](uv_timer_t* self) {
      const auto& mine = *static_cast<timed*>(self->data);
      ++mine.result->fired;
      if (now_ns() < mine.due_ns) ++mine.result->early;
    };
    uv_timer_start(&each.timer, fire, 1, 0);
  }
  uv_run(&loop, UV_RUN_DEFAULT);
  for (timed& each : all) uv_close(reinterpret_cast<uv_handle_t*>(&each.timer), nullptr);
  uv_run(&loop, UV_RUN_DEFAULT);
  uv_loop_close(&loop);
  return result;
}

}  // namespace bench
