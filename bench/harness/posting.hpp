// bench/harness/posting.hpp: what it costs to hand tasks to others, for any system that takes them.
//
// A system is made with a number of workers and has
//   post(fn)           runs fn on a worker, some time
//   spread(count, fn)  a task that makes so many tasks of fn, as the system likes it best
//   finish(expected)   waits until so many tasks have run, and gives how many have
//   submit(fn)         where there are futures: one whose get() gives what fn gives
#pragma once

#include <bench/harness/program.hpp>
#include <bench/harness/tally.hpp>
#include <bench/harness/work.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

/// Calls `post` so many times in all, from so many threads at once; the calling thread is one of them.
template <typename Post>
void from_threads(std::uint64_t producers, std::uint64_t tasks, Post post) {
  const auto produce = [&] {
    for (std::uint64_t i = 0; i < tasks / producers; ++i) post();
  };
  std::vector<std::thread> others;
  for (std::uint64_t i = 1; i < producers; ++i) others.emplace_back(produce);
  produce();
  for (std::thread& each : others) each.join();
}

/// A task that counts itself and captures so many bytes.
template <std::size_t Bytes>
struct empty_task {
  std::array<std::byte, Bytes> captured{};
  void operator()() const {
    asm volatile("" : : "m"(captured));
    tally::count();
  }
};

template <>
struct empty_task<0> {
  void operator()() const { tally::count(); }
};

template <typename System, typename Task>
auto timed_posts(const parameters& given, std::uint64_t tasks, std::uint64_t producers, Task task) -> sample {
  System system(given.workers());
  const std::uint64_t before = tally::sum();
  return timed(static_cast<double>(tasks), tasks, [&] {
    from_threads(producers, tasks, [&] { system.post(task); });
    return system.finish(before + tasks) - before;
  });
}

/// Empty tasks from threads outside.
template <typename System>
auto empty_tasks(const parameters& given) -> sample {
  const std::uint64_t producers = given.number("producers", 1);
  const std::uint64_t tasks = given.number("tasks", 1'000'000) / producers * producers;
  switch (given.number("capture", 0)) {
    case 0: return timed_posts<System>(given, tasks, producers, empty_task<0>{});
    case 24: return timed_posts<System>(given, tasks, producers, empty_task<24>{});
    case 48: return timed_posts<System>(given, tasks, producers, empty_task<48>{});
    case 128: return timed_posts<System>(given, tasks, producers, empty_task<128>{});
    default: return {};
  }
}

/// One task after the other: each is handed over when the result of the one before is there.
template <typename System>
auto round_trips(const parameters& given) -> sample {
  const std::uint64_t trips = given.number("trips", 20'000);
  System system(given.workers());
  return timed(static_cast<double>(trips), trips, [&] {
    std::uint64_t reached = 0;
    for (std::uint64_t i = 0; i < trips; ++i) reached = system.submit([reached] { return reached + 1; }).get();
    return reached;
  });
}

/// How many steps of work take so long, measured once for the program.
inline auto steps_of(std::uint64_t ns) -> std::uint64_t {
  static const double each_step_ns = step_ns();
  return static_cast<std::uint64_t>(static_cast<double>(ns) / each_step_ns);
}

/// So many tasks of a given length, which `hand_over(system, tasks, task)` brings to the system.
template <typename System, typename HandOver>
auto tasks_of_length(const parameters& given, HandOver hand_over) -> sample {
  const std::uint64_t tasks = given.number("tasks", 100'000);
  const std::uint64_t steps = steps_of(given.number("length_ns", 0));
  System system(given.workers());
  const std::uint64_t before = tally::sum();
  return timed(static_cast<double>(tasks), tasks, [&] {
    hand_over(system, tasks, [steps] {
      work_for(steps);
      tally::count();
    });
    return system.finish(before + tasks) - before;
  });
}

/// From a thread outside.
template <typename System>
auto posted_tasks(const parameters& given) -> sample {
  return tasks_of_length<System>(given, [](System& system, std::uint64_t tasks, auto task) {
    for (std::uint64_t i = 0; i < tasks; ++i) system.post(task);
  });
}

/// From one task.
template <typename System>
auto spread_tasks(const parameters& given) -> sample {
  return tasks_of_length<System>(given,
                                 [](System& system, std::uint64_t tasks, auto task) { system.spread(tasks, task); });
}

/// Tasks with a result each, all of which are fetched in the end.
template <typename System>
auto submitted_tasks(const parameters& given) -> sample {
  const std::uint64_t tasks = given.number("tasks", 100'000);
  System system(given.workers());
  return timed(static_cast<double>(tasks), tasks * (tasks - 1) / 2, [&] {
    std::vector<decltype(system.submit([] { return std::uint64_t{0}; }))> results;
    results.reserve(tasks);
    for (std::uint64_t i = 0; i < tasks; ++i) results.push_back(system.submit([i] { return i; }));
    std::uint64_t total = 0;
    for (auto& each : results) total += each.get();
    return total;
  });
}

}  // namespace bench
