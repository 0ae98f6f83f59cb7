// bench/fork_join/fib.cpp: the naive Fibonacci function: two calls that fork, next to no work in them.
#include <bench/fork_join/contenders.hpp>
#include <bench/fork_join/in_pool.hpp>

#include <braid/task/fork_join.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

// As the compiler likes it: clang makes a loop of the second call, so that half of the calls are none.
[[gnu::noinline]] auto fib_serial(unsigned n) -> std::uint64_t {
  if (n < 2) return n;
  return fib_serial(n - 1) + fib_serial(n - 2);
}

// With all its calls, which is what a fork can at best cost.
[[gnu::noinline]] auto fib_calls(unsigned n) -> std::uint64_t {
  if (n < 2) return n;
  std::uint64_t left = fib_calls(n - 1);
  std::uint64_t right = fib_calls(n - 2);
  asm("" : "+r"(left), "+r"(right));  // not to be looked through
  return left + right;
}

[[gnu::noinline]] auto fib_braid(unsigned n) -> std::uint64_t {
  if (n < 2) return n;
  const auto [left, right] = braid::fork_join([n] { return fib_braid(n - 1); }, [n] { return fib_braid(n - 2); });
  return left + right;
}

[[gnu::noinline]] auto fib_combined(unsigned n) -> std::uint64_t {
  if (n < 2) return n;
  return braid::fork_combine([n] { return fib_combined(n - 1); }, [n] { return fib_combined(n - 2); }, std::plus{});
}

using function = auto (*)(unsigned) -> std::uint64_t;

auto serial(std::string name, function fn, unsigned n) -> bench::contender {
  return {std::move(name), [=](unsigned) { return bench::timed([=] { return fn(n); }); }};
}

auto forking(std::string name, function fn, unsigned n) -> bench::contender {
  return {std::move(name), [=](unsigned workers) { return bench::timed_in_pool(workers, [=] { return fn(n); }); }};
}

/// How often a run calls the function.
auto calls_of(unsigned n) -> std::uint64_t { return n < 2 ? 1 : 1 + calls_of(n - 1) + calls_of(n - 2); }

}  // namespace

auto main(int count, char** arguments) -> int {
  const auto how = bench::parse(count, arguments, {.size = 36}, "which Fibonacci number");
  const unsigned n = how.size;
  std::vector<bench::contender> contenders{serial("serial", fib_serial, n), serial("calls", fib_calls, n),
                                           forking("braid", fib_braid, n), forking("combined", fib_combined, n)};
#if defined(BENCH_TBB)
  contenders.push_back({"oneTBB", [n](unsigned workers) { return bench::fib_tbb(n, workers); }});
#endif
  const bench::problem what{
      .name = "fork_join/fib", .items = static_cast<double>(calls_of(n)), .expected = fib_serial(n)};
  bench::compare_all(what, how, contenders);
}
