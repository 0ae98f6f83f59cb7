// bench/fork_join/tbb.cpp: the problems of fork-join with oneTBB: parallel_invoke, task_group and parallel_reduce.
#include <bench/fork_join/problems.hpp>
#include <bench/harness/tbb.hpp>

#include <tbb/blocked_range.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_group.h>

#include <array>
#include <functional>
#include <numeric>

namespace {

using bench::block;
using bench::board;
using bench::parameters;
using bench::sample;

// [fib]
auto fib(std::uint64_t n) -> std::uint64_t {
  if (n < 2) return n;
  std::uint64_t left = 0;
  std::uint64_t right = 0;
  tbb::parallel_invoke([&] { left = fib(n - 1); }, [&] { right = fib(n - 2); });
  return left + right;
}
// [/fib]

auto run_fib(const parameters& given) -> sample {
  const std::uint64_t n = given.number("n", 34);
  return bench::in_arena(
      given.workers(), [&] { return bench::timed(bench::fib_calls_of(n), bench::fib_of(n), [&] { return fib(n); }); });
}

auto skynet(std::uint64_t number, std::uint64_t size) -> std::uint64_t {
  if (size == 1) return number;
  const std::uint64_t step = size / bench::skynet_children;
  std::array<std::uint64_t, bench::skynet_children> results{};
  tbb::task_group group;
  for (std::size_t i = 0; i < results.size(); ++i) group.run([&, i] { results[i] = skynet(number + i * step, step); });
  group.wait();
  return std::accumulate(results.begin(), results.end(), std::uint64_t{0});
}

auto run_skynet(const parameters& given) -> sample {
  const std::uint64_t leaves = bench::skynet_leaves(given.number("depth", 7));
  return bench::in_arena(given.workers(), [&] {
    return bench::timed(static_cast<double>(leaves), leaves * (leaves - 1) / 2, [&] { return skynet(0, leaves); });
  });
}

auto nqueens(const board& queens, unsigned row, unsigned n) -> std::uint64_t {
  if (row == n) return 1;
  std::array<std::uint64_t, 16> results{};
  tbb::task_group group;
  for (unsigned column = 0; column < n; ++column)
    if (queens.allows(row, column))
      group.run([&, column] { results[column] = nqueens(queens.with(row, column), row + 1, n); });
  group.wait();
  return std::accumulate(results.begin(), results.end(), std::uint64_t{0});
}

auto run_nqueens(const parameters& given) -> sample {
  const auto n = static_cast<unsigned>(given.number("n", 12));
  return bench::in_arena(given.workers(),
                         [&] { return bench::timed(1, bench::nqueens_of(n), [&] { return nqueens({}, 0, n); }); });
}

void multiply(block a, block b, block c, std::size_t n) {
  if (n <= bench::matmul_block) return bench::multiply_block(a, b, c, n);
  const std::size_t half = n / 2;
  for (unsigned inner = 0; inner < 2; ++inner) {
    const auto part = [=](unsigned row, unsigned column) {
      return [=] {
        multiply(a.quarter(half, row, inner), b.quarter(half, inner, column), c.quarter(half, row, column), half);
      };
    };
    tbb::parallel_invoke(part(0, 0), part(0, 1), part(1, 0), part(1, 1));
  }
}

auto run_matmul(const parameters& given) -> sample {
  return bench::in_arena(given.workers(), [&] { return bench::timed_matmul(given.number("n", 1'024), multiply); });
}

auto uts_leaf_or_tree(std::uint64_t child) -> std::uint64_t;

/// Few children, so they have a place each.
auto uts(std::uint64_t state) -> std::uint64_t {
  std::array<std::uint64_t, bench::uts_children> results{};
  tbb::task_group group;
  for (std::uint64_t i = 0; i < bench::uts_children; ++i)
    group.run([&, i] { results[i] = uts_leaf_or_tree(bench::uts_child(state, i)); });
  group.wait();
  return std::accumulate(results.begin(), results.end(), std::uint64_t{1});
}

auto uts_leaf_or_tree(std::uint64_t child) -> std::uint64_t { return bench::uts_has_children(child) ? uts(child) : 1; }

auto uts_forest(std::uint64_t roots) -> std::uint64_t {
  return 1 + tbb::parallel_reduce(
                 tbb::blocked_range<std::uint64_t>(0, roots), std::uint64_t{0},
                 [](const auto& range, std::uint64_t total) {
                   for (std::uint64_t i = range.begin(); i != range.end(); ++i)
                     total += uts_leaf_or_tree(bench::uts_child(bench::uts_root, i));
                   return total;
                 },
                 std::plus{});
}

auto run_uts(const parameters& given) -> sample {
  const std::uint64_t roots = given.number("roots", 40'000);
  const std::uint64_t nodes = given.number("nodes", 0);
  return bench::in_arena(given.workers(), [&] {
    return bench::timed(static_cast<double>(nodes), nodes, [&] { return uts_forest(roots); });
  });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender tbb = bench::tbb_contender();
  return bench::run_program(count, arguments, "fork_join",
                            {{"fib", tbb, run_fib},
                             {"skynet", tbb, run_skynet},
                             {"nqueens", tbb, run_nqueens},
                             {"matmul", tbb, run_matmul},
                             {"uts", tbb, run_uts}});
}
