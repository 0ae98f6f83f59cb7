// examples/02_scope.cpp: tasks that end together: the first failure stops the
// rest.
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/runtime/runtime.hpp>

#include <cstdio>
#include <stdexcept>

using namespace std::chrono_literals;

struct announces_end {
  const char* name;
  ~announces_end() { std::printf("%s: locals destroyed\n", name); }
};

// [program]
braid::task<void> patient() {
  const announces_end local{"patient"};
  co_await braid::sleep_for(1h);
  std::puts("never printed");
}

braid::task<void> failing() {
  co_await braid::sleep_for(1ms);
  throw std::runtime_error("no more rows");
}

braid::task<void> both() {
  auto body = [](braid::scope& children) -> braid::task<void> {
    children.spawn(patient());
    children.spawn(failing());
    co_return;  // the scope waits for both
  };
  auto together = braid::with_scope(body);
  co_await std::move(together);
}
// [/program]

int main() {
  auto runtime = braid::runtime::create({.workers = 1});
  if (!runtime) return 1;
  try {
    (*runtime)->run(both());
  } catch (const std::exception& error) {
    std::printf("caught: %s\n", error.what());
  }
}
