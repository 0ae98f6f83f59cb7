// bench/fork_join/serial.cpp: the problems of fork-join without any forks.
#include <bench/fork_join/problems.hpp>

namespace {

using bench::block;
using bench::board;
using bench::parameters;
using bench::sample;

// As the compiler likes it: clang makes a loop of the second call, so that half of the calls are none.
[[gnu::noinline]] auto fib_serial(std::uint64_t n) -> std::uint64_t {
  if (n < 2) return n;
  return fib_serial(n - 1) + fib_serial(n - 2);
}

// With all its calls, which is what a fork can at best cost.
[[gnu::noinline]] auto fib_calls(std::uint64_t n) -> std::uint64_t {
  if (n < 2) return n;
  std::uint64_t left = fib_calls(n - 1);
  std::uint64_t right = fib_calls(n - 2);
  asm("" : "+r"(left), "+r"(right));  // not to be looked through
  return left + right;
}

auto run_fib(const parameters& given, auto (*fib)(std::uint64_t)->std::uint64_t) -> sample {
  const std::uint64_t n = given.number("n", 34);
  static_cast<void>(given.workers());
  return bench::timed(bench::fib_calls_of(n), bench::fib_of(n), [&] { return fib(n); });
}

[[gnu::noinline]] auto skynet(std::uint64_t number, std::uint64_t size) -> std::uint64_t {
  if (size == 1) return number;
  const std::uint64_t step = size / bench::skynet_children;
  std::uint64_t total = 0;
  for (std::uint64_t i = 0; i < bench::skynet_children; ++i) total += skynet(number + i * step, step);
  return total;
}

auto run_skynet(const parameters& given) -> sample {
  const std::uint64_t leaves = bench::skynet_leaves(given.number("depth", 7));
  static_cast<void>(given.workers());
  return bench::timed(static_cast<double>(leaves), leaves * (leaves - 1) / 2, [&] { return skynet(0, leaves); });
}

auto nqueens(const board& queens, unsigned row, unsigned n) -> std::uint64_t {
  if (row == n) return 1;
  std::uint64_t total = 0;
  for (unsigned column = 0; column < n; ++column)
    if (queens.allows(row, column)) total += nqueens(queens.with(row, column), row + 1, n);
  return total;
}

auto run_nqueens(const parameters& given) -> sample {
  const auto n = static_cast<unsigned>(given.number("n", 12));
  static_cast<void>(given.workers());
  return bench::timed(1, bench::nqueens_of(n), [&] { return nqueens({}, 0, n); });
}

void multiply(block a, block b, block c, std::size_t n) {
  if (n <= bench::matmul_block) return bench::multiply_block(a, b, c, n);
  const std::size_t half = n / 2;
  for (unsigned inner = 0; inner < 2; ++inner)
    for (unsigned row = 0; row < 2; ++row)
      for (unsigned column = 0; column < 2; ++column)
        multiply(a.quarter(half, row, inner), b.quarter(half, inner, column), c.quarter(half, row, column), half);
}

auto run_matmul(const parameters& given) -> sample {
  static_cast<void>(given.workers());
  return bench::timed_matmul(given.number("n", 1'024), multiply);
}

auto uts(std::uint64_t state, std::uint64_t children) -> std::uint64_t {
  std::uint64_t total = 1;
  for (std::uint64_t i = 0; i < children; ++i) {
    const std::uint64_t child = bench::uts_child(state, i);
    total += uts(child, bench::uts_has_children(child) ? bench::uts_children : 0);
  }
  return total;
}

auto run_uts(const parameters& given) -> sample {
  const std::uint64_t roots = given.number("roots", 40'000);
  const std::uint64_t nodes = given.number("nodes", 0);
  static_cast<void>(given.workers());
  return bench::timed(static_cast<double>(nodes), nodes, [&] { return uts(bench::uts_root, roots); });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender serial = bench::reference("serial");
  const bench::contender calls = bench::reference("calls");
  return bench::run_program(count, arguments, "fork_join",
                            {{"fib", serial, [](const parameters& given) { return run_fib(given, fib_serial); }},
                             {"fib", calls, [](const parameters& given) { return run_fib(given, fib_calls); }},
                             {"skynet", serial, run_skynet},
                             {"nqueens", serial, run_nqueens},
                             {"matmul", serial, run_matmul},
                             {"uts", serial, run_uts}});
}
