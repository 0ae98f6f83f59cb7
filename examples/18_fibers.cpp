// examples/18_fibers.cpp: plain functions that wait like tasks: a library that
// calls back, and deep recursion.
#include <braid/coro/channel.hpp>
#include <braid/coro/fiber.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/when_all.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/runtime/runtime.hpp>

#include <algorithm>
#include <cstdio>
#include <vector>

using braid::task, braid::operator""ms, braid::operator""h;

// [library]
/// Knows nothing of tasks: it calls `emit` for each part, somewhere deep
/// inside.
template <typename Emit>
void split(int from, int to, const Emit& emit) {
  if (to - from == 1) return emit(from);
  split(from, (from + to) / 2, emit);
  split((from + to) / 2, to, emit);
}
// [/library]

auto program() -> task<void> {
  // [fiber]
  braid::channel<int> line(1);
  auto emits = [&] {
    // The fiber waits, not the thread.
    split(0, 5,
          [&](int part) { braid::or_throw(fiber_await(line.send(part))); });
    line.close();
  };
  auto collects = [&]() -> task<int> {
    int sum = 0;
    while (const auto part = co_await line.receive()) sum += *part;
    co_return sum;
  };
  const auto [nothing, sum] =
      co_await when_all(braid::run_fiber(emits), collects());
  std::printf("sum %d\n", sum);
  // [/fiber]
  // [sort]
  std::vector<int> cards{5, 2, 8, 1};
  const auto asks = [](int a, int b) {  // code elsewhere compares
    fiber_await(braid::sleep_for(1ms));
    return a < b;
  };
  auto sorts = [&] { std::ranges::sort(cards, asks); };
  co_await braid::run_fiber(sorts);
  std::printf("sorted: %d %d %d %d\n", cards[0], cards[1], cards[2], cards[3]);
  auto patient = [&] {
    std::ranges::sort(cards, [](int, int) {
      return fiber_await(braid::sleep_for(1h)), false;
    });
  };
  // The timeout stops it while it waits.
  const auto late = co_await with_timeout(2ms, braid::run_fiber(patient));
  std::printf("%s\n", late.error().message().c_str());
  // [/sort]
}

int main() {
  braid::or_throw(braid::runtime::create({.workers = 1}))->run(program());
}
