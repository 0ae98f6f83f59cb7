// examples/19_tracing.cpp: a program that shows in a trace what it does: spans,
// a counter, jobs, tasks with names. With BRAID_TRACE=t.pftrace in its
// environment it writes a file that https://ui.perfetto.dev opens.
#include <braid/coro/bridge.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/bridge.hpp>
#include <braid/runtime/runtime.hpp>
#include <braid/task/spawn.hpp>
#include <braid/trace/trace.hpp>

#include <cstdio>
#include <utility>

using braid::task, braid::operator""ms;

namespace {

// [spans]
auto square(int number) -> int {
  // A slice of the worker that computes it.
  const braid::trace::span shown("square");
  braid::trace::counter("last number", number);
  return number * number;
}
// [/spans]

auto nap_three_times() -> task<void> {
  for (int i = 0; i < 3; ++i) co_await braid::sleep_for(1ms);
}

/// Two tasks with names: each has a track of its own.
auto program(braid::runtime& runtime) -> task<int> {
  braid::scope& here = co_await braid::this_scope();
  auto first = braid::spawn(here, {.name = "first sleeper"}, nap_three_times());
  auto second =
      braid::spawn(here, {.name = "second sleeper"}, nap_three_times());
  int sum = 0;
  for (int number = 1; number <= 20; ++number)
    sum += co_await braid::spawn(runtime.workers(), square, number);
  co_await std::move(first);
  co_await std::move(second);
  co_return sum;
}

}  // namespace

int main() {
  const auto runtime = braid::or_throw(braid::runtime::create({.workers = 2}));
  std::printf("the sum is %d\n", runtime->run(program(*runtime)));
}
