// examples/09_parallel.cpp: work that splits: forks, groups of any shape, and
// the algorithms made of them.
#include <braid/task/fork_join.hpp>
#include <braid/task/parallel.hpp>
#include <braid/task/pool.hpp>

#include <cstdio>
#include <functional>
#include <ranges>
#include <stdexcept>
#include <stop_token>
#include <vector>

auto fib(int n) -> long {
  if (n < 2) return n;
  const auto [left, right] =
      braid::fork_join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
  return left + right;
}

int main() {
  // [program]
  // Outside of a pool, the workers of the process do it, and the caller waits.
  std::printf("fib(20) is %ld\n", fib(20));

  std::vector<double> roots(1000);
  braid::parallel_for(0, 1000, [&roots](int i) {
    roots[static_cast<std::size_t>(i)] = 1000.0 - i;
  });
  braid::parallel_sort(roots);
  std::printf("the smallest is %g\n", roots.front());

  // The same sum, to the last bit, for any number of workers.
  const double sum =
      braid::parallel_reduce(std::views::iota(1, 1001), 0.0, std::plus{},
                             [](int i) { return 1.0 / i; });
  std::printf("1 + 1/2 + ... + 1/1000 is %.6f\n", sum);

  braid::pool workers({.workers = 2});
  const long leaves = braid::run_in(workers, [] {
    braid::task_group group;  // of functions that may start others
    braid::atomic<long> count{0};
    const std::function<void(int)> grow = [&](int height) {
      if (height == 0) {
        count.fetch_add(1, braid::relaxed);
        return;
      }
      for (int i = 0; i < 3; ++i)
        group.run([&grow, height] { grow(height - 1); });
    };
    grow(5);
    braid::or_throw(group.wait());
    return count.load(braid::relaxed);
  });
  std::printf("the tree has %ld leaves\n", leaves);

  try {
    braid::parallel_for(0, 100, [](int i) {
      return i == 42 ? throw std::runtime_error("42") : void();
    });
  } catch (const std::runtime_error& error) {
    std::printf("one of a hundred failed: %s\n", error.what());
  }

  std::stop_source enough;
  const auto stopped = braid::parallel_for(enough.get_token(), 0, 1'000'000,
                                           [&](int) { enough.request_stop(); });
  std::printf("a million, all of them: %s\n",
              stopped ? "yes" : stopped.error().message().c_str());
  // [/program]
}
