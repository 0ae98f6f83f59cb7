// bench/coro/remote_crowds.hpp: tasks that are started from outside, and awaited, while the workers have nothing to do,
// run tasks that yield again and again, or tasks that spawn their successors. On a pool, where each task has a home of
// its own, or on a merged runtime, where they live on the loops of its workers.
#pragma once

#include <bench/harness/program.hpp>
#include <bench/harness/tally.hpp>

#include <braid/coro/bridge.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/task.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/task/pool.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

/// Where tasks run: `start` gives what `join` waits for, `post` nothing.
template <braid::scheduler Chosen = braid::scheduler::work_stealing>
class on_pool {
 public:
  using started = braid::future<void>;

  explicit on_pool(unsigned workers) : pool_({.workers = workers, .scheduler = Chosen}) {}

  auto start(braid::task<void> work) -> started { return braid::spawn(pool_, std::move(work)); }
  void post(braid::task<void> work) { static_cast<void>(start(std::move(work))); }
  void join(std::vector<started> all) {
    for (started& each : all) each.get();
  }

 private:
  braid::pool pool_;
};

class on_merged_runtime {
 public:
  using started = braid::future<void>;

  explicit on_merged_runtime(unsigned workers)
      : all_(braid::runtime::create({.workers = workers, .shape = braid::runtime_shape::merged}).value()) {}

  auto start(braid::task<void> work) -> started { return braid::spawn(*all_, std::move(work)); }
  void post(braid::task<void> work) { static_cast<void>(all_->post(std::move(work))); }
  void join(std::vector<started> all) { all_->run(await_each(all)); }

 private:
  static auto await_each(std::vector<started>& all) -> braid::task<void> {
    for (started& each : all) co_await std::move(each);
  }

  std::unique_ptr<braid::runtime> all_;
};

constexpr unsigned busy_tasks_per_worker = 2;

namespace detail {

inline auto counted() -> braid::task<void> {
  tally::count();
  co_return;
}

inline void stall() { std::this_thread::sleep_for(std::chrono::microseconds(10)); }

inline auto yield_while(const std::atomic<bool>& goes_on) -> braid::task<void> {
  while (goes_on.load(std::memory_order_relaxed)) {
    co_await braid::yield();
    stall();
  }
}

template <typename Place>
auto spawn_while(Place& where, const std::atomic<bool>& goes_on) -> braid::task<void> {
  if (!goes_on.load(std::memory_order_relaxed)) co_return;
  stall();
  where.post(spawn_while(where, goes_on));
}

template <typename Place>
auto timed_remote(const parameters& given, std::uint64_t otherwise, Place& where) -> sample {
  const std::uint64_t tasks = given.number("tasks", otherwise);
  const std::uint64_t before = tally::sum();
  return timed(static_cast<double>(tasks), tasks, [&] {
    std::vector<typename Place::started> all;
    all.reserve(tasks);
    for (std::uint64_t i = 0; i < tasks; ++i) all.push_back(where.start(counted()));
    where.join(std::move(all));
    return tally::sum() - before;
  });
}

}  // namespace detail

template <typename Place>
auto spawn_many_remote_idle(const parameters& given) -> sample {
  Place where(given.workers());
  return detail::timed_remote(given, 10'000, where);
}

template <typename Place>
auto spawn_many_remote_busy1(const parameters& given) -> sample {
  std::atomic<bool> goes_on{true};
  Place where(given.workers());
  for (unsigned i = 0; i < given.workers() * busy_tasks_per_worker; ++i) where.post(detail::yield_while(goes_on));
  const sample measured = detail::timed_remote(given, 10'000, where);
  goes_on.store(false, std::memory_order_relaxed);
  return measured;
}

template <typename Place>
auto spawn_many_remote_busy2(const parameters& given) -> sample {
  std::atomic<bool> goes_on{true};
  Place where(given.workers());
  for (unsigned i = 0; i < given.workers() * busy_tasks_per_worker; ++i)
    where.post(detail::spawn_while(where, goes_on));
  const sample measured = detail::timed_remote(given, 1'000, where);
  goes_on.store(false, std::memory_order_relaxed);
  return measured;
}

}  // namespace bench
