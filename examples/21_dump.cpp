// examples/21_dump.cpp: a program that shows what its own tasks wait for.
// With BRAID_DUMP=quit in its environment it would do the same, on stderr, for
// each SIGQUIT.
#include <braid/braid.hpp>

#include <cstdio>

using braid::task;

namespace {

// [dump]
/// Prints what each task with a name waits for.
void show(const braid::task_dump& all) {
  for (const braid::task_dump::home& home : all.homes)
    for (const braid::task_dump::entry& each : home.tasks)
      if (!each.name.empty())
        std::printf("%s waits for %s\n", each.name.c_str(),
                    each.waits_for.c_str());
}
// [/dump]

auto wait_for_orders(braid::channel<int>& orders) -> task<void> {
  for (;;) {
    const auto order = co_await orders.receive();
    if (!order) co_return;
  }
}

auto wait_for(braid::async_event& start) -> task<void> { co_await start; }

/// Its own task waits as well, for the thread that makes the dump.
auto program(braid::runtime& runtime) -> task<void> {
  braid::channel<int> orders(1);
  braid::async_event start;
  braid::scope& here = co_await braid::this_scope();
  auto cook = braid::spawn(here, {.name = "cook"}, wait_for_orders(orders));
  auto waiter = braid::spawn(here, {.name = "waiter"}, wait_for(start));
  auto dumped = braid::offload(runtime.blocking(),
                               [&runtime] { return braid::dump(runtime); });
  const braid::task_dump all = co_await dumped;
  show(all);
  start.set();
  orders.close();
  co_await std::move(cook);
  co_await std::move(waiter);
}

}  // namespace

int main() {
  const auto runtime = braid::or_throw(braid::runtime::create({.workers = 1}));
  runtime->run(program(*runtime));
}
