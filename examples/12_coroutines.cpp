// examples/12_coroutines.cpp: tasks that wait for each other, compute
// elsewhere, and end together.
#include <braid/coro/bridge.hpp>
#include <braid/coro/channel.hpp>
#include <braid/coro/fork_task.hpp>
#include <braid/coro/generator.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/when_all.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/task/spawn.hpp>

#include <cstdio>
#include <vector>

using braid::task, braid::operator""ms, braid::operator""h;

auto odd_numbers(int up_to) -> braid::generator<int> {
  for (int n = 1; n <= up_to; n += 2) co_yield n;
}

// [channel]
auto produce(braid::channel<int>& line) -> task<void> {
  // Waits while there is no room.
  for (const int n : odd_numbers(9)) braid::or_throw(co_await line.send(n));
  line.close();
}
auto sum_of(braid::channel<int>& line) -> task<int> {
  int sum = 0;
  while (const auto n = co_await line.receive()) sum += *n;
  co_return sum;
}
// [/channel]

auto answer_after(braid::duration span, int value) -> task<int> {
  co_await braid::sleep_for(span);
  co_return value;
}

// [forks]
auto fib(int n) -> braid::fork_task<long> {
  if (n < 2) co_return n;
  const auto [left, right] = co_await fork_join(fib(n - 1), fib(n - 2));
  co_return left + right;
}
auto halve(int& number) -> braid::fork_task<void> {
  number /= 2;
  co_return;
}
// [/forks]

auto program(braid::runtime& runtime) -> task<void> {
  // [together]
  braid::channel<int> line(2);
  // The first failure stops the rest.
  const auto [nothing, sum] = co_await when_all(produce(line), sum_of(line));
  // The slow one is stopped.
  const auto first =
      co_await when_any(answer_after(1h, 1), answer_after(1ms, 2));
  const auto late = co_await with_timeout(1ms, answer_after(1h, 3));
  std::printf("sum %d, answer %zu, and %s\n", sum, first.index,
              late.error().message().c_str());
  // [/together]
  // [elsewhere]
  const auto square = [](int n) { return n * n; };
  // Computed by a worker, used at home.
  const int squared = co_await offload(runtime.workers(), square, 12);
  // A future can be awaited as well.
  const int again = co_await spawn(runtime.workers(), square, squared);
  std::printf("%d and %d\n", squared, again);
  // [/elsewhere]
  // [forked]
  const long found = co_await spawn(runtime.workers(), fib(20));
  std::vector<int> numbers{2, 4, 6};
  co_await spawn(runtime.workers(), fork_each(numbers, halve));
  std::printf("fib(20) is %ld, and the last number %d\n", found,
              numbers.back());
  // [/forked]
}

int main() {
  const auto runtime = braid::or_throw(braid::runtime::create({.workers = 2}));
  runtime->run(program(*runtime));
  // [pool]
  // A task on a pool; others run beside it.
  auto ahead = spawn(runtime->workers(), answer_after(1ms, 42));
  std::printf("from the pool: %d\n", ahead.get());
  // [/pool]
}
