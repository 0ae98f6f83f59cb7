// tests/task/largest_options_test.cpp: the largest value of each option of pools, executors and slabs means that there
// is no limit.
#include <braid/task/executors.hpp>
#include <braid/task/job_slab.hpp>
#include <braid/task/parallel.hpp>
#include <braid/task/parallel_algorithms.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string_view>
#include <vector>

using namespace braid;

namespace {

/// An option, and how it is set to its largest value.
template <typename Options>
struct limit {
  std::string_view name;
  void (*set)(Options&);
};

constexpr auto of_pools = std::to_array<limit<pool::options>>({
    {"max_spare_threads", [](auto& o) { o.max_spare_threads = std::numeric_limits<unsigned>::max(); }},
    {"stay_awake", [](auto& o) { o.stay_awake = duration::max(); }},
    {"stay_awake, below zero", [](auto& o) { o.stay_awake = duration::min(); }},
});

constexpr auto of_blocking_pools = std::to_array<limit<blocking_pool::options>>({
    {"max_threads", [](auto& o) { o.max_threads = std::numeric_limits<std::size_t>::max(); }},
    {"linger", [](auto& o) { o.linger = duration::max(); }},
});

}  // namespace

TEST_CASE("a pool without a limit runs jobs, forks and waits as others do") {
  for (const auto& [name, set] : of_pools) {
    INFO(name);
    pool::options options{.workers = 2};
    set(options);
    pool workers(options);
    for (int i = 0; i < 20; ++i) {
      const int outer = spawn(workers, [&workers] { return spawn(workers, [] { return 40; }).get() + 2; }).get();
      CHECK(outer == 42);
    }
    CHECK(workers.shutdown_for(duration::max()).has_value());
  }
}

TEST_CASE("a blocking pool without a limit runs jobs, and ends") {
  for (const auto& [name, set] : of_blocking_pools) {
    INFO(name);
    blocking_pool::options options;
    set(options);
    blocking_pool threads(options);
    for (int i = 0; i < 20; ++i) CHECK(spawn(threads, [i] { return i; }).get() == i);
    CHECK(threads.shutdown_for(duration::max()).has_value());
  }
}

TEST_CASE("a bounded executor without a limit takes what the executor takes") {
  pool workers(pool::options{.workers = 1});
  bounded_executor bounded(workers, {.capacity = std::numeric_limits<std::size_t>::max()});
  for (int i = 0; i < 20; ++i) CHECK(spawn(bounded, [i] { return i; }).get() == i);
}

TEST_CASE("a wait for a future without a limit ends when there is a result") {
  pool workers(pool::options{.workers = 1});
  for (int i = 0; i < 20; ++i) {
    const auto made = spawn(workers, [i] { return i; });
    CHECK(made.wait_for(duration::max()));
  }
}

TEST_CASE("a slab whose threads never sleep runs jobs, and ends") {
  job_slab slab({.jobs_per_thread = 16, .threads = 1, .idle_sleep = duration::max()});
  REQUIRE(slab.start().has_value());
  slab.stop(job_slab::stop_mode::drain);
  CHECK(slab.join().has_value());
}

TEST_CASE("the largest grain is one part, which gives the same values") {
  constexpr parallel_options one_part{.grain = std::numeric_limits<std::size_t>::max()};
  std::vector<int> numbers(10'000);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::vector<int> seen(numbers.size());
  parallel_for(std::size_t{0}, numbers.size(), [&](std::size_t i) { seen[i] = numbers[i]; }, one_part);
  CHECK(seen == numbers);
  std::ranges::reverse(seen);
  parallel_sort(seen, std::ranges::less(), std::identity(), one_part);
  CHECK(seen == numbers);
}
