// bench/enqueue/braid.cpp: what an empty task costs that threads outside of a pool post to it, also where few may wait.
#include <bench/harness/braid_system.hpp>
#include <bench/harness/posting.hpp>

#include <braid/task/executors.hpp>

namespace {

using bench::parameters;
using bench::sample;

/// A pool behind an entrance in which a bounded number of tasks may wait.
template <braid::when_full Full>
class bounded_system {
 public:
  bounded_system(unsigned workers, std::size_t capacity)
      : pool_({.workers = workers}), entrance_(pool_, {.capacity = capacity, .full = Full}) {}

  template <typename Fn>
  void post(Fn fn) {
    static_cast<void>(braid::post(entrance_, std::move(fn)));
  }

  auto finish() -> std::uint64_t {
    static_cast<void>(pool_.wait_idle());
    return bench::tally::sum();
  }

 private:
  braid::pool pool_;
  braid::bounded_executor entrance_;
};

/// The same pool without a bound, which shows what the entrance costs.
class unbounded_system {
 public:
  unbounded_system(unsigned workers, std::size_t /*capacity*/) : pool_({.workers = workers}) {}

  template <typename Fn>
  void post(Fn fn) {
    static_cast<void>(braid::post(pool_, std::move(fn)));
  }

  auto finish() -> std::uint64_t {
    static_cast<void>(pool_.wait_idle());
    return bench::tally::sum();
  }

 private:
  braid::pool pool_;
};

template <typename System>
auto bounded_tasks(const parameters& given) -> sample {
  const std::uint64_t producers = given.number("producers", 1);
  const std::uint64_t tasks = given.number("tasks", 200'000) / producers * producers;
  System system(given.workers(), given.number("capacity", 1'024));
  const std::uint64_t before = bench::tally::sum();
  return bench::timed(static_cast<double>(tasks), tasks, [&] {
    bench::from_threads(producers, tasks, [&] { system.post(bench::empty_task<0>{}); });
    return system.finish() - before;
  });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  using namespace bench;
  using braid::when_full;
  auto all = on_each_pool(
      {{"empty", empty_tasks<stealing_system>, empty_tasks<least_loaded_system>, empty_tasks<shared_queue_system>},
       {"round_trip", round_trips<stealing_system>, round_trips<least_loaded_system>,
        round_trips<shared_queue_system>}});
  all.push_back({"bounded", braid_contender("braid wait"), bounded_tasks<bounded_system<when_full::wait>>});
  all.push_back({"bounded", braid_contender("braid run_inline"), bounded_tasks<bounded_system<when_full::run_inline>>});
  all.push_back({"bounded", reference("no bound"), bounded_tasks<unbounded_system>});
  return run_program(count, arguments, "enqueue", all);
}
