// tests/shared/plugin/plugin.cpp: a shared object with hidden symbols that uses the program's braid.
#include <tests/shared/plugin/plugin.hpp>

#include <braid/runtime/default_runtime.hpp>
#include <braid/coro.hpp>
#include <braid/task.hpp>
#include <braid/thread/registry.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

namespace braid::testing {
namespace {

std::unique_ptr<registered_thread> held;

bool sees(const thread_registry& registry) { return default_registry() == registry; }

bool start_thread(const char* tag) {
  auto started = registered_thread::create({.label = {.tag = tag, .name = "of a plug-in"}}, [](std::stop_token stop) {
    while (!stop.stop_requested()) std::this_thread::yield();
  });
  if (started) held = std::make_unique<registered_thread>(std::move(*started));
  return held != nullptr;
}

void end_thread() { held.reset(); }

std::size_t count(const char* tag) { return default_registry().where<&thread_entry::tag>(tag).count(); }

std::size_t post_jobs(pool& where, std::size_t count, atomic<std::size_t>& ran) {
  std::size_t accepted = 0;
  for (std::size_t i = 0; i < count; ++i) {
    auto job = [&where, &ran, text = std::string(100, 'x')] {
      if (where.is_current() && text.size() == 100) ran.fetch_add(1, relaxed);
    };
    if (post(where, std::move(job))) ++accepted;
  }
  return accepted;
}

bool post_failure(pool& where) {
  return post(where, [] { throw std::out_of_range("thrown by a plug-in"); }).has_value();
}

runtime* process_runtime() { return &default_runtime(); }

task<int> nap() {
  co_await sleep_for(std::chrono::microseconds(1));
  co_return 1;
}

task<int> elsewhere() {
  auto square = [] { return 7 * 7; };
  auto computed = offload(default_runtime().workers(), std::move(square));
  co_return co_await std::move(computed);
}

bool on_own_pool() {
  pool own({.workers = 1});
  return spawn(own, [] { return 1; }).get() == 1;
}

bool sums() {
  atomic<int> sum{0};
  parallel_for(0, 100, [&sum](int i) { sum.fetch_add(i, relaxed); });
  return sum.load(relaxed) == 4950;
}

bool at_a_time() {
  timer_thread timers;
  return spawn_after(default_runtime().workers(), timers, std::chrono::microseconds(1), [] { return 1; }).get() == 1 &&
         spawn_after(default_runtime().workers(), std::chrono::microseconds(1), [] { return 1; }).get() == 1;
}

constexpr int ways = 8;

bool work(int way) {
  switch (way) {
    case 0: return spawn([] { return 1; }).get() == 1;
    case 1: return spawn(default_runtime().blocking(), [] { return 1; }).get() == 1;
    case 2: return spawn(nap()).get() == 1;
    case 3: return on_own_pool();
    case 4: return default_runtime().run(nap()) == 1;
    case 5: return at_a_time();
    case 6: return sums() && spawn([] { return 1; }).then([](int one) { return one + 1; }).get() == 2;
    case 7: return spawn(elsewhere()).get() == 49;
    default: return false;
  }
}

#if defined(__clang__)
constexpr const char* compiler = "clang";
#else
constexpr const char* compiler = "g++";
#endif

}  // namespace
}  // namespace braid::testing

auto braid_test_plugin() -> const braid::testing::plugin_functions* {
  using namespace braid::testing;
  static constexpr plugin_functions all{compiler,  sees,         start_thread,    end_thread, count,
                                        post_jobs, post_failure, process_runtime, work,       ways};
  return &all;
}
