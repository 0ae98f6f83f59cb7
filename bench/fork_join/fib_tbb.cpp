// bench/fork_join/fib_tbb.cpp: the naive Fibonacci function with oneTBB's parallel_invoke.
#include <bench/fork_join/contenders.hpp>

#include <tbb/global_control.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>

#include <cstdint>

namespace {

auto fib(unsigned n) -> std::uint64_t {
  if (n < 2) return n;
  std::uint64_t left = 0;
  std::uint64_t right = 0;
  tbb::parallel_invoke([&] { left = fib(n - 1); }, [&] { right = fib(n - 2); });
  return left + right;
}

}  // namespace

auto bench::fib_tbb(unsigned n, unsigned workers) -> sample {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, workers);
  tbb::task_arena arena(static_cast<int>(workers));
  return arena.execute([n] { return timed([n] { return fib(n); }); });
}
