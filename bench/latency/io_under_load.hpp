// bench/latency/io_under_load.hpp: how long I/O and timers wait while tasks fill all workers, for any system that waits
// and computes.
//
// A system is made with a number of workers and has
//   listen()         serves echo by TCP on the loopback from now on, and gives the port
//   keep_time(late)  lets a task of its own sleep a millisecond again and again, as long as `late.fired` says
//   post(fn)         runs fn on a worker, some time
#pragma once

#include <bench/harness/constant_load.hpp>
#include <bench/harness/io_peer.hpp>
#include <bench/harness/moment.hpp>
#include <bench/harness/percentiles.hpp>
#include <bench/harness/posting.hpp>
#include <bench/harness/program.hpp>
#include <bench/harness/tally.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace bench {

/// How late timers of a millisecond fire, one after the other. Must stay where it is until it has ended.
class lateness {
 public:
  static constexpr std::chrono::milliseconds span{1};

  lateness() { late_us_.reserve(100'000); }

  /// One that was armed then has fired; whether the next is to be armed. From one thread at a time.
  auto fired(std::int64_t armed_ns) -> bool {
    const phase now = phase_.load(std::memory_order_relaxed);
    if (now != phase::not_yet) late_us_.push_back(static_cast<double>(now_ns() - armed_ns) / 1e3 - 1e3);
    if (now != phase::over) return true;
    ended_.has_come();
    return false;
  }

  /// What fires from now on counts.
  void begin() { phase_.store(phase::counted, std::memory_order_relaxed); }

  /// Sleeps until the last one has fired.
  void end() {
    phase_.store(phase::over, std::memory_order_relaxed);
    static_cast<void>(ended_.await_ns());
  }

  /// Of those that have fired; requires the end.
  [[nodiscard]] auto late_us(double part) const -> double { return percentile(late_us_, part); }
  [[nodiscard]] auto min_us() const -> double { return *std::ranges::min_element(late_us_); }

 private:
  enum class phase : std::uint8_t { not_yet, counted, over };

  std::vector<double> late_us_;
  std::atomic<phase> phase_{phase::not_yet};  // written by the measuring thread
  moment ended_;
};

/// A peer beside the system talks to it, while tasks of so many microseconds, if any, fill the workers.
template <typename System>
auto io_under_load(const parameters& given) -> sample {
  const std::uint64_t task_us = given.number("task_us", 100);
  const unsigned workers = given.workers();
  const std::uint64_t steps = steps_of(task_us * 1'000);
  lateness timers;
  System system(workers);
  const std::uint16_t port = system.listen();
  system.keep_time(timers);
  const constant_load<System> tasks(system, task_us == 0 ? 0 : workers * tasks_per_worker, steps);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));

  timers.begin();
  peer_result seen;
  const std::uint64_t before = tally::sum();
  sample measured = timed(1, true, [&] {
    seen = asked_by_peer(given, port);
    return seen.is_right;
  });
  const auto ran = static_cast<double>(tally::sum() - before);
  timers.end();

  if (timers.min_us() < 0 || (task_us != 0 && ran == 0)) measured.is_right = false;
  measured.extra = {{"io_p50_us", seen.p50_us},
                    {"io_p99_us", seen.p99_us},
                    {"io_p999_us", seen.p999_us},
                    {"io_longest_us", seen.max_us},
                    {"timer_p50_us", timers.late_us(0.5)},
                    {"timer_p99_us", timers.late_us(0.99)},
                    {"timer_longest_us", timers.late_us(1)},
                    {"peer_goes_first", seen.goes_first}};
  if (ran == 0) return measured;
  measured.items = ran;
  const double workers_us = measured.wall_ns / 1e3 * workers;
  measured.extra["per_task_us"] = workers_us / ran;
  measured.extra["computed_percent"] = ran * static_cast<double>(task_us) / workers_us * 100;
  return measured;
}

}  // namespace bench
