// bench/fork_join/braid.cpp: the problems of fork-join with fork_join, fork_combine and parallel_reduce.
#include <bench/fork_join/problems.hpp>

#include <braid/task/fork_join.hpp>
#include <braid/task/parallel.hpp>
#include <braid/task/pool.hpp>

#include <functional>
#include <ranges>
#include <string>

namespace {

using bench::block;
using bench::board;
using bench::parameters;
using bench::sample;

/// The sum of `term(i)` for each i below `count`.
template <typename Term>
auto sum_below(std::uint64_t count, Term term) -> std::uint64_t {
  return braid::parallel_reduce(std::views::iota(std::uint64_t{0}, count), std::uint64_t{0}, std::plus{}, term);
}

/// Starting and stopping the pool is not part of the time.
template <typename Fn>
auto in_pool(const parameters& given, Fn fn) -> sample {
  braid::pool pool({.workers = given.workers()});
  return braid::run_in(pool, fn);
}

// clang-format off: a page shows these lines
// [fib]
[[gnu::noinline]] auto fib(std::uint64_t n) -> std::uint64_t {
  if (n < 2) return n;
  const auto [left, right] =
      braid::fork_join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return left + right;
}
// [/fib]
// clang-format on

[[gnu::noinline]] auto fib_combined(std::uint64_t n) -> std::uint64_t {
  if (n < 2) return n;
  return braid::fork_combine([n] { return fib_combined(n - 1); }, [n] { return fib_combined(n - 2); }, std::plus{});
}

auto run_fib(const parameters& given, auto (*chosen)(std::uint64_t)->std::uint64_t) -> sample {
  const std::uint64_t n = given.number("n", 34);
  return in_pool(given,
                 [&] { return bench::timed(bench::fib_calls_of(n), bench::fib_of(n), [&] { return chosen(n); }); });
}

[[gnu::noinline]] auto skynet(std::uint64_t number, std::uint64_t size) -> std::uint64_t {
  if (size == 1) return number;
  const std::uint64_t step = size / bench::skynet_children;
  return sum_below(bench::skynet_children, [=](std::uint64_t i) { return skynet(number + i * step, step); });
}

auto run_skynet(const parameters& given) -> sample {
  const std::uint64_t leaves = bench::skynet_leaves(given.number("depth", 7));
  return in_pool(given, [&] {
    return bench::timed(static_cast<double>(leaves), leaves * (leaves - 1) / 2, [&] { return skynet(0, leaves); });
  });
}

auto nqueens(const board& queens, unsigned row, unsigned n) -> std::uint64_t {
  if (row == n) return 1;
  return sum_below(n, [&, row, n](std::uint64_t column) -> std::uint64_t {
    const auto at = static_cast<unsigned>(column);
    return queens.allows(row, at) ? nqueens(queens.with(row, at), row + 1, n) : 0;
  });
}

auto run_nqueens(const parameters& given) -> sample {
  const auto n = static_cast<unsigned>(given.number("n", 12));
  return in_pool(given, [&] { return bench::timed(1, bench::nqueens_of(n), [&] { return nqueens({}, 0, n); }); });
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
    braid::fork_join(part(0, 0), part(0, 1), part(1, 0), part(1, 1));
  }
}

auto run_matmul(const parameters& given) -> sample {
  return in_pool(given, [&] { return bench::timed_matmul(given.number("n", 1'024), multiply); });
}

auto uts(std::uint64_t state, std::uint64_t children) -> std::uint64_t {
  if (children == 0) return 1;
  return 1 + sum_below(children, [state](std::uint64_t i) {
           const std::uint64_t child = bench::uts_child(state, i);
           return uts(child, bench::uts_has_children(child) ? bench::uts_children : 0);
         });
}

auto run_uts(const parameters& given) -> sample {
  const std::uint64_t roots = given.number("roots", 40'000);
  const std::uint64_t nodes = given.number("nodes", 0);
  return in_pool(given, [&] {
    return bench::timed(static_cast<double>(nodes), nodes, [&] { return uts(bench::uts_root, roots); });
  });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender braid = bench::braid_contender();
  const bench::contender combined = bench::braid_contender("braid combined");
  return bench::run_program(count, arguments, "fork_join",
                            {{"fib", braid, [](const parameters& given) { return run_fib(given, fib); }},
                             {"fib", combined, [](const parameters& given) { return run_fib(given, fib_combined); }},
                             {"skynet", braid, run_skynet},
                             {"nqueens", braid, run_nqueens},
                             {"matmul", braid, run_matmul},
                             {"uts", braid, run_uts}});
}
