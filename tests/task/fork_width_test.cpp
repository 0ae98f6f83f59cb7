// tests/task/fork_width_test.cpp: no worker is without a leaf while one is left, however long leaves are and in
// whatever form they were forked.
#include <braid/task/detail/fork_exchange.hpp>

#include <braid/task/fork_join.hpp>
#include <braid/task/parallel.hpp>
#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <tests/support/rounds.hpp>

#include <cstddef>
#include <functional>
#include <ranges>
#include <vector>

using braid::pool;
using braid::scheduler;
using braid::testing::rounds;

namespace {

using form = void (*)(rounds&, std::size_t workers, std::size_t count);

constexpr scheduler every_scheduler[] = {scheduler::work_stealing, scheduler::least_loaded, scheduler::shared_queue};

/// Runs the leaves by one worker of a fresh pool: `form` calls `leaf` so many times.
void check_width(form run, std::size_t workers, std::size_t each, scheduler which = scheduler::work_stealing) {
  rounds all(workers);
  pool on({.workers = static_cast<unsigned>(workers), .scheduler = which});
  braid::run_in(on, [&] { run(all, workers, workers * each); });
  CHECK(all.begun() == workers * each);
  CHECK_FALSE(all.gave_up());
}

void check_form(form run) {
  for (const scheduler each : every_scheduler) check_width(run, 4, 4, each);
  for (const std::size_t each : {1U, 4U, 16U}) check_width(run, 8, each);
  check_width(run, 32, 1);
}

void tree(rounds& all, std::size_t first, std::size_t last) {
  if (last - first == 1) return all.leaf();
  const std::size_t middle = first + (last - first) / 2;
  braid::fork_join([&all, first, middle] { tree(all, first, middle); },
                   [&all, middle, last] { tree(all, middle, last); });
}

/// The first call goes on with all that is left.
void spine(rounds& all, std::size_t left) {
  if (left == 1) return all.leaf();
  braid::fork_join([&all, left] { spine(all, left - 1); }, [&all] { all.leaf(); });
}

void group(rounds& all, std::size_t count) {
  braid::task_group group;
  for (std::size_t i = 0; i < count; ++i) group.run([&all] { all.leaf(); });
  static_cast<void>(group.wait());
}

}  // namespace

TEST_CASE("a tree of forks keeps all workers at work") {
  check_form([](rounds& all, std::size_t, std::size_t count) { tree(all, 0, count); });
}

TEST_CASE("a row of forks, each made before a leaf has begun, keeps all workers at work") {
  check_form([](rounds& all, std::size_t, std::size_t count) { spine(all, count); });
}

TEST_CASE("a task_group that one worker fills keeps all workers at work") {
  check_form([](rounds& all, std::size_t, std::size_t count) { group(all, count); });
}

TEST_CASE("a task_group of more functions than a deque begins with keeps all workers at work") {
  check_width([](rounds& all, std::size_t, std::size_t count) { group(all, count); }, 4, 100);
}

TEST_CASE("two groups at the same time keep all workers at work") {
  check_form([](rounds& all, std::size_t, std::size_t count) {
    braid::fork_join([&] { group(all, count / 2); }, [&] { group(all, count - count / 2); });
  });
}

TEST_CASE("a loop keeps all workers at work") {
  check_form([](rounds& all, std::size_t, std::size_t count) {
    braid::parallel_for(std::size_t{0}, count, [&](std::size_t) { all.leaf(); });
  });
}

TEST_CASE("a loop over elements keeps all workers at work") {
  check_form([](rounds& all, std::size_t, std::size_t count) {
    std::vector<int> numbers(count);
    braid::parallel_for_each(numbers, [&](int) { all.leaf(); });
  });
}

TEST_CASE("loops in a loop keep all workers at work") {
  check_form([](rounds& all, std::size_t workers, std::size_t count) {
    braid::parallel_for(std::size_t{0}, workers, [&](std::size_t) {
      braid::parallel_for(std::size_t{0}, count / workers, [&](std::size_t) { all.leaf(); });
    });
  });
}

TEST_CASE("a reduction keeps all workers at work") {
  check_form([](rounds& all, std::size_t, std::size_t count) {
    const auto one = [&](std::size_t) { return all.leaf(), std::size_t{1}; };
    CHECK(braid::parallel_reduce(std::views::iota(std::size_t{0}, count), std::size_t{0}, std::plus{}, one) == count);
  });
}
