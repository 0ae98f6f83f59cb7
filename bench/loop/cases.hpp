// bench/loop/cases.hpp: what loops of all libraries are measured by.
#pragma once

#include <bench/harness/program.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>

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

}  // namespace bench
