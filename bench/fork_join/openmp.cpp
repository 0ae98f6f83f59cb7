// bench/fork_join/openmp.cpp: the problems of fork-join with tasks of OpenMP.
#include <bench/fork_join/problems.hpp>
#include <bench/harness/openmp.hpp>

#include <array>
#include <numeric>

namespace {

using bench::block;
using bench::board;
using bench::parameters;
using bench::sample;

auto fib(std::uint64_t n) -> std::uint64_t {
  if (n < 2) return n;
  std::uint64_t left = 0;
  std::uint64_t right = 0;
#pragma omp task shared(left) firstprivate(n)
  left = fib(n - 1);
  right = fib(n - 2);
#pragma omp taskwait
  return left + right;
}

auto run_fib(const parameters& given) -> sample {
  const std::uint64_t n = given.number("n", 34);
  return bench::in_team(given.workers(),
                        [&] { return bench::timed(bench::fib_calls_of(n), bench::fib_of(n), [&] { return fib(n); }); });
}

auto skynet(std::uint64_t number, std::uint64_t size) -> std::uint64_t {
  if (size == 1) return number;
  const std::uint64_t step = size / bench::skynet_children;
  std::array<std::uint64_t, bench::skynet_children> results{};
  for (std::size_t i = 0; i < results.size(); ++i) {
#pragma omp task shared(results) firstprivate(i)
    results[i] = skynet(number + i * step, step);
  }
#pragma omp taskwait
  return std::accumulate(results.begin(), results.end(), std::uint64_t{0});
}

auto run_skynet(const parameters& given) -> sample {
  const std::uint64_t leaves = bench::skynet_leaves(given.number("depth", 7));
  return bench::in_team(given.workers(), [&] {
    return bench::timed(static_cast<double>(leaves), leaves * (leaves - 1) / 2, [&] { return skynet(0, leaves); });
  });
}

auto nqueens(const board& queens, unsigned row, unsigned n) -> std::uint64_t {
  if (row == n) return 1;
  std::array<std::uint64_t, 16> results{};
  for (unsigned column = 0; column < n; ++column) {
    if (!queens.allows(row, column)) continue;
#pragma omp task shared(results, queens) firstprivate(column, row, n)
    results[column] = nqueens(queens.with(row, column), row + 1, n);
  }
#pragma omp taskwait
  return std::accumulate(results.begin(), results.end(), std::uint64_t{0});
}

auto run_nqueens(const parameters& given) -> sample {
  const auto n = static_cast<unsigned>(given.number("n", 12));
  return bench::in_team(given.workers(),
                        [&] { return bench::timed(1, bench::nqueens_of(n), [&] { return nqueens({}, 0, n); }); });
}

void multiply(block a, block b, block c, std::size_t n) {
  if (n <= bench::matmul_block) return bench::multiply_block(a, b, c, n);
  const std::size_t half = n / 2;
  for (unsigned inner = 0; inner < 2; ++inner) {
    for (unsigned part = 0; part < 4; ++part) {
#pragma omp task firstprivate(a, b, c, half, inner, part)
      multiply(a.quarter(half, part / 2, inner), b.quarter(half, inner, part % 2), c.quarter(half, part / 2, part % 2),
               half);
    }
#pragma omp taskwait
  }
}

auto run_matmul(const parameters& given) -> sample {
  return bench::in_team(given.workers(), [&] { return bench::timed_matmul(given.number("n", 1'024), multiply); });
}

auto uts_leaf_or_tree(std::uint64_t child) -> std::uint64_t;

auto uts(std::uint64_t state) -> std::uint64_t {
  std::array<std::uint64_t, bench::uts_children> results{};
  for (std::uint64_t i = 0; i < bench::uts_children; ++i) {
#pragma omp task shared(results) firstprivate(i, state)
    results[i] = uts_leaf_or_tree(bench::uts_child(state, i));
  }
#pragma omp taskwait
  return std::accumulate(results.begin(), results.end(), std::uint64_t{1});
}

auto uts_leaf_or_tree(std::uint64_t child) -> std::uint64_t { return bench::uts_has_children(child) ? uts(child) : 1; }

auto uts_forest(std::uint64_t roots) -> std::uint64_t {
  std::uint64_t total = 1;
#pragma omp taskloop reduction(+ : total)
  for (std::uint64_t i = 0; i < roots; ++i) total += uts_leaf_or_tree(bench::uts_child(bench::uts_root, i));
  return total;
}

auto run_uts(const parameters& given) -> sample {
  const std::uint64_t roots = given.number("roots", 40'000);
  const std::uint64_t nodes = given.number("nodes", 0);
  return bench::in_team(given.workers(), [&] {
    return bench::timed(static_cast<double>(nodes), nodes, [&] { return uts_forest(roots); });
  });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender openmp = bench::openmp_contender();
  return bench::run_program(count, arguments, "fork_join",
                            {{"fib", openmp, run_fib},
                             {"skynet", openmp, run_skynet},
                             {"nqueens", openmp, run_nqueens},
                             {"matmul", openmp, run_matmul},
                             {"uts", openmp, run_uts}});
}
