// examples/tutorial/3_tasks_and_deadlines.cpp: coroutines that wait without a
// thread, scopes, and deadlines.
#include <braid/braid.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;
using braid::scope, braid::task;

// [task]
/// Stands for a request to another machine: the task waits, and blocks no
/// thread.
auto fetch(std::string name, std::chrono::milliseconds time)
    -> task<std::string> {
  co_await braid::sleep_for(time);
  if (name == "nobody") throw std::invalid_argument("there is no " + name);
  co_return name + "'s page";
}

auto both() -> task<std::string> {
  // At the same time.
  const auto [ada, bob] =
      co_await braid::when_all(fetch("ada", 2ms), fetch("bob", 1ms));
  co_return ada + " and " + bob;
}
// [/task]

// [deadline]
auto in_time() -> task<void> {
  const braid::result<std::string> quick =
      co_await braid::with_timeout(10s, fetch("ada", 1ms));
  const braid::result<std::string> slow =
      co_await braid::with_timeout(1ms, fetch("bob", 1h));
  std::printf("%s; %s\n", quick.value().c_str(),
              slow.error().message().c_str());
}
// [/deadline]

// [scope]
auto show(std::string name, std::chrono::milliseconds time) -> task<void> {
  struct farewell {
    std::string of;
    ~farewell() { std::printf("%s: the end\n", of.c_str()); }
  } const last{name};
  std::printf("%s\n", (co_await fetch(name, time)).c_str());
}

auto several(scope& tasks) -> task<void> {
  tasks.spawn(show("ada", 1ms));
  tasks.spawn(show("bob", 1h));
  tasks.spawn(show("nobody", 20ms));  // its failure stops bob
  co_return;                          // `with_scope` waits for all three
}
// [/scope]

// [offload]
auto compute() -> task<int> {
  const int squared = co_await braid::offload(
      braid::default_runtime().workers(), [] { return 12 * 12; });
  co_return squared + 1;  // on the loop again
}
// [/offload]

int main() {
  // [main]
  std::printf("%s\n", braid::spawn(both()).get().c_str());
  braid::spawn(in_time()).get();
  try {
    braid::spawn([] { return braid::with_scope(several); }).get();
  } catch (const std::exception& error) {
    std::printf("the scope failed: %s\n", error.what());
  }
  std::printf("computed %d\n", braid::spawn(compute()).get());
  // [/main]
}
