// bench/latency/measures.hpp: how long tasks wait, and what workers take of a core meanwhile, for any system that has
// `post` (bench/harness/posting.hpp).
#pragma once

#include <bench/harness/consumption.hpp>
#include <bench/harness/counter.hpp>
#include <bench/harness/moment.hpp>
#include <bench/harness/percentiles.hpp>
#include <bench/harness/program.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace bench {

/// From the post to the start of a task, while all workers sleep. Between two posts there is about a millisecond, never
/// quite the same. Where a post has less than one sleep, workers were awake, and its times mean little.
template <typename System>
auto wake(const parameters& given) -> sample {
  const std::uint64_t posts = given.number("posts", 200);
  System system(given.workers());
  std::minstd_rand draws(1);
  std::uniform_int_distribution<int> gap_us(700, 1300);
  std::vector<double> waits_us;
  const consumption before = consumption_of_other_threads();
  sample measured = timed(static_cast<double>(posts), posts, [&] {
    for (std::uint64_t i = 0; i < posts; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(gap_us(draws)));
      moment start;
      const std::int64_t begin_ns = now_ns();
      system.post(start.as_task());
      std::this_thread::sleep_for(std::chrono::microseconds(100));  // does not take the worker's processor away
      waits_us.push_back(static_cast<double>(start.await_ns() - begin_ns) / 1e3);
    }
    return waits_us.size();
  });
  const std::int64_t sleeps = (consumption_of_other_threads() - before).sleeps;
  measured.extra = {{"p50_us", percentile(waits_us, 0.5)},
                    {"p99_us", percentile(waits_us, 0.99)},
                    {"longest_us", percentile(waits_us, 1)},
                    {"sleeps_per_post", static_cast<double>(sleeps) / static_cast<double>(posts)}};
  return measured;
}

/// A quick task that was posted at some time.
struct quick_task {
  std::int64_t posted_ns = 0;
  moment start{};

  template <typename System>
  void post_to(System& where) {
    posted_ns = now_ns();
    where.post(start.as_task());
  }
};

constexpr std::int64_t gap_ns = 10'000'000;  ///< between two quick tasks

/// Keeps its worker busy for so long, and posts quick tasks meanwhile, if it has any.
template <typename System>
void keep_busy(System& where, std::int64_t length_ns, std::vector<quick_task>& posts) {
  const std::int64_t begin_ns = now_ns();
  std::size_t posted = 0;
  for (std::int64_t passed = 0; passed < length_ns; passed = now_ns() - begin_ns) {
    const std::int64_t due_ns = static_cast<std::int64_t>(posted + 1) * gap_ns;
    if (posted < posts.size() && passed >= due_ns) posts[posted++].post_to(where);
  }
  while (posted < posts.size()) posts[posted++].post_to(where);  // those that were due while it did not run
}

/// So many short tasks that the system takes all tasks for short; then nothing.
template <typename System>
void run_short_tasks(System& where) {
  constexpr unsigned tasks = 2'000;
  counter counts;
  for (unsigned i = 0; i < tasks; ++i) where.post(counts.as_task());
  counts.await(tasks);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

/// How long quick tasks wait that are posted behind a long one, while another worker has nothing to do.
template <typename System>
auto behind(const parameters& given) -> sample {
  const auto long_ns = static_cast<std::int64_t>(given.number("long_ms", 500)) * 1'000'000;
  const bool from_outside = given.word("poster", "outside") == "outside";
  System system(given.workers());
  std::vector<quick_task> posts(static_cast<std::size_t>(std::max<std::int64_t>(long_ns * 9 / 10 / gap_ns, 1)));
  std::vector<quick_task> none;
  moment begin;
  moment end;
  run_short_tasks(system);
  std::vector<double> waits_ms;
  sample measured = timed(static_cast<double>(posts.size()), posts.size(), [&] {
    system.post([&] {
      begin.has_come();
      keep_busy(system, long_ns, from_outside ? none : posts);
      end.has_come();
    });
    static_cast<void>(begin.await_ns());
    if (from_outside)
      for (quick_task& each : posts) {
        std::this_thread::sleep_for(std::chrono::nanoseconds(gap_ns));
        each.post_to(system);
      }
    static_cast<void>(end.await_ns());
    for (const quick_task& each : posts)
      waits_ms.push_back(static_cast<double>(each.start.await_ns() - each.posted_ns) / 1e6);
    return waits_ms.size();
  });
  measured.extra = {{"first_ms", waits_ms.front()},
                    {"median_ms", percentile(waits_ms, 0.5)},
                    {"longest_ms", percentile(waits_ms, 1)}};
  return measured;
}

/// What the other threads take of a core while `meanwhile` runs here, on workers that have done something and rest.
template <typename System, typename Meanwhile>
auto share_of_a_core(System& system, Meanwhile meanwhile) -> sample {
  moment first;
  system.post(first.as_task());
  static_cast<void>(first.await_ns());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const consumption before = consumption_of_other_threads();
  sample measured = timed(1, true, [&] {
    meanwhile();
    return true;
  });
  const consumption taken = consumption_of_other_threads() - before;
  measured.extra = {{"core_percent", std::max(0.0, taken.cpu_ns) / measured.wall_ns * 100},
                    {"sleeps_per_ms", static_cast<double>(taken.sleeps) / (measured.wall_ns / 1e6)}};
  return measured;
}

/// Workers that have nothing to do.
template <typename System>
auto idle(const parameters& given) -> sample {
  const std::chrono::milliseconds length(given.number("ms", 1'000));
  System system(given.workers());
  return share_of_a_core(system, [&] { std::this_thread::sleep_for(length); });
}

/// Workers that get an empty task each millisecond.
template <typename System>
auto each_ms(const parameters& given) -> sample {
  const std::uint64_t tasks = given.number("ms", 1'000);
  System system(given.workers());
  counter counts;
  const sample measured = share_of_a_core(system, [&] {
    auto due = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < tasks; ++i) {
      due += std::chrono::milliseconds(1);
      std::this_thread::sleep_until(due);
      system.post(counts.as_task());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  counts.await(tasks);
  return measured;
}

/// One worker is held up by a task that sleeps; the others look now and then whether jobs wait behind it.
template <typename System>
auto beside_held_up(const parameters& given) -> sample {
  const std::chrono::milliseconds length(given.number("ms", 1'000));
  System system(given.workers());
  moment begin;
  moment end;
  const sample measured = share_of_a_core(system, [&] {
    system.post([&] {
      begin.has_come();
      std::this_thread::sleep_for(length);
      end.has_come();
    });
    static_cast<void>(begin.await_ns());
    std::this_thread::sleep_for(length - std::chrono::milliseconds(5));
  });
  static_cast<void>(end.await_ns());
  return measured;
}

}  // namespace bench
