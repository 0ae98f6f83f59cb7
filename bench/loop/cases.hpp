// bench/loop/cases.hpp: what loops of all libraries are measured by.
#pragma once

#include <bench/harness/moment.hpp>
#include <bench/harness/percentiles.hpp>
#include <bench/harness/posting.hpp>
#include <bench/harness/program.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace bench {

/// What a run with timers gives: how many have fired, and how many of them early.
struct timers_result {
  std::uint64_t fired = 0;
  std::uint64_t early = 0;
};

/// `post(producers, each)` runs so many empty tasks from each of so many threads in one loop, and gives how many ran.
template <typename Post>
auto timed_posts(const parameters& given, Post post) -> sample {
  const auto producers = static_cast<unsigned>(given.number("producers", 1));
  const std::size_t each = given.number("tasks", 1'000'000) / producers;
  return timed(static_cast<double>(producers * each), std::uint64_t{producers * each},
               [&] { return std::uint64_t{post(producers, each)}; });
}

/// `run(count)` arms so many timers of a millisecond at once and runs the loop until all have fired. How many were
/// early is told.
template <typename Run>
auto timed_timers(const parameters& given, Run run) -> sample {
  const std::uint64_t count = given.number("timers", 10'000);
  timers_result result;
  sample measured = timed(static_cast<double>(count), count, [&] {
    result = run(count);
    return result.fired;
  });
  measured.extra = {{"early_timers", static_cast<double>(result.early)}};
  return measured;
}

/// How long after the start the i-th timer of `rearm` is due: from ten milliseconds to a minute.
inline auto rearm_due(std::size_t i) -> std::chrono::microseconds {
  return std::chrono::microseconds(10'000 + i * 7 % 60'000'000);
}

/// `rearm(i, due)` disarms the i-th of so many timers, all of which are pending, and arms it again.
template <typename Rearm>
auto timed_rearm(std::size_t pending, Rearm rearm) -> sample {
  constexpr std::size_t turns = 100'000;
  return timed(static_cast<double>(turns), turns, [&] {
    for (std::size_t i = 0; i < turns; ++i) rearm(i * 7919 % pending, rearm_due(i));
    return turns;
  });
}

/// How long after the start the i-th timer of `arm` is due: from a second to a minute, all over it.
inline auto arm_due(std::size_t i) -> std::chrono::microseconds {
  return std::chrono::microseconds(1'000'000 + i * 7'919'011 % 59'000'000);
}

constexpr std::size_t timers_armed_at_once = 1'000;

/// What it takes to arm a timer and to disarm it, while others are pending. A wheel is what a library has for timers,
/// on a loop that does not turn meanwhile; it has
///   arm(i, due)  the i-th of `timers_armed_at_once`, none of which is armed before
///   disarm(i)
///   armed()      how many of those are armed
///   rest()       whatever the library leaves to be done later
template <typename Wheel>
auto timed_arms(Wheel& wheel) -> sample {
  constexpr std::size_t rounds = 100;
  constexpr std::size_t all = rounds * timers_armed_at_once;
  std::int64_t arm_ns = 0;
  std::int64_t disarm_ns = 0;
  std::size_t right = 0;
  sample measured = timed(static_cast<double>(all), 2 * all, [&] {
    for (std::size_t round = 0; round < rounds; ++round) {
      const std::int64_t begin_ns = now_ns();
      for (std::size_t i = 0; i < timers_armed_at_once; ++i) wheel.arm(i, arm_due(round * timers_armed_at_once + i));
      const std::int64_t armed_ns = now_ns();
      right += wheel.armed();
      const std::int64_t again_ns = now_ns();
      for (std::size_t i = 0; i < timers_armed_at_once; ++i) wheel.disarm(i * 7 % timers_armed_at_once);
      disarm_ns += now_ns() - again_ns;
      arm_ns += armed_ns - begin_ns;
      right += timers_armed_at_once - wheel.armed();
      wheel.rest();
    }
    return right;
  });
  measured.extra = {{"arm_ns", static_cast<double>(arm_ns) / all}, {"disarm_ns", static_cast<double>(disarm_ns) / all}};
  return measured;
}

/// What the loop is doing when a job comes: it computes in jobs of a microsecond; it has had a job five microseconds
/// before; it has slept for a while.
enum class loop_is : std::uint8_t { busy, waiting, asleep };

constexpr std::uint64_t busy_job_ns = 1'000;

inline auto loop_state(const parameters& given) -> loop_is {
  const std::string state = given.word("state", "asleep");
  if (state == "busy") return loop_is::busy;
  return state == "waiting" ? loop_is::waiting : loop_is::asleep;
}

/// From a post by this thread to the start of the job in a loop on another, which is as `state` says. `post(moment)`
/// posts a job that calls `has_come`.
template <typename Post>
auto timed_hops(const parameters& given, loop_is state, Post post) -> sample {
  const std::uint64_t posts = given.number("posts", 1'000);
  std::vector<moment> starts(posts);
  std::vector<double> took_us;
  sample measured = timed(static_cast<double>(posts), posts, [&] {
    std::uint64_t ran = 0;
    for (moment& start : starts) {
      const std::int64_t begin_ns = now_ns();
      post(start);
      const std::int64_t at_ns = state == loop_is::asleep ? start.await_ns() : start.watch_ns();
      took_us.push_back(static_cast<double>(at_ns - begin_ns) / 1e3);
      if (state == loop_is::asleep)
        std::this_thread::sleep_for(std::chrono::microseconds(300 + ran * 131 % 400));
      else
        while (now_ns() < at_ns + 5'000) continue;
      ++ran;
    }
    return ran;
  });
  measured.extra = {{"p50_us", percentile(took_us, 0.5)}, {"p99_us", percentile(took_us, 0.99)}};
  return measured;
}

}  // namespace bench
