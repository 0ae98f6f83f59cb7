// examples/06_timers.cpp: functions that run on a pool at their time, once or
// again and again, and are stopped.
#include <braid/task/pool.hpp>
#include <braid/task/scheduled.hpp>

#include <chrono>
#include <cstdio>
#include <latch>
#include <memory>
#include <utility>

using namespace std::chrono_literals;

struct announces_end {
  ~announces_end() { std::puts("captures destroyed"); }
};

// [program]
int main() {
  std::latch three_beats(3);
  braid::pool workers({.workers = 1});
  braid::timer_thread timers;  // below the pool, so that it ends first

  const auto beat = braid::post_every(
      workers, timers, {.interval = 2ms},
      [&](const braid::scheduled_task& self) {
        std::printf("beat %d\n", static_cast<int>(self.runs()));
        if (self.runs() == 3) self.cancel();  // this run is the last one
        three_beats.count_down();
      });
  if (!beat) return 1;
  three_beats.wait();

  auto reminder =
      braid::spawn_after(workers, timers, 5ms, [] { return "reminded"; });
  std::puts(reminder.get());

  auto data = std::make_unique<announces_end>();
  auto tomorrow = braid::spawn_after(
      workers, timers, 24h, [held = std::move(data)] { std::puts("never"); });
  tomorrow.request_stop();
  if (tomorrow.is_ready()) std::puts("stopped");

  const auto refused = braid::post_every(workers, timers, {.interval = 0s},
                                         [] { std::puts("never"); });
  if (!refused)
    std::printf("no interval: %s\n", refused.error().message().c_str());
}
// [/program]
