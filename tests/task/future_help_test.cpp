// tests/task/future_help_test.cpp: a worker that waits does the work that it waits for, within a bounded stack.
#include <braid/task/future.hpp>
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <tests/support/eventually.hpp>
#include <tests/support/queue_executor.hpp>
#include <tests/support/sanitizer.hpp>
#include <tests/support/sleeper.hpp>
#include <tests/support/watchdog.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <ostream>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>

using braid::future;
using braid::promise;
using braid::relaxed;
using braid::spawn;
using braid::testing::eventually;
using braid::testing::queue_executor;
using braid::testing::sleeper;
using namespace std::chrono_literals;

namespace {

/// Ends the program when a test of this file hangs.
struct watched {
  braid::testing::watchdog dog{200s};
};

/// Runs `fn` on a thread with so much stack.
void with_stack(std::size_t bytes, std::function<void()> fn) {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  REQUIRE(::pthread_attr_setstacksize(&attributes, bytes) == 0);
  pthread_t thread{};
  const auto body = [](void* given) -> void* {
    (*static_cast<std::function<void()>*>(given))();
    return nullptr;
  };
  REQUIRE(::pthread_create(&thread, &attributes, body, &fn) == 0);
  ::pthread_join(thread, nullptr);
  ::pthread_attr_destroy(&attributes);
}

/// Counts how many calls are nested in each other.
struct nesting {
  void enter() { max_depth.store(std::max(max_depth.load(relaxed), ++depth), relaxed); }
  void leave() { --depth; }
  int depth = 0;                    // of the worker
  braid::atomic<int> max_depth{0};  // written by the worker
};

auto sum_to(queue_executor& where, int n) -> int {
  if (n == 0) return 0;
  return n + spawn(where, [&where, n] { return sum_to(where, n - 1); }).get();
}

}  // namespace

TEST_CASE("the only worker gets what it spawned itself") {
  queue_executor where;
  auto outer = spawn(where, [&where] {
    auto inner = spawn(where, [] { return 2; });
    return inner.get() + 1;
  });
  where.work();
  CHECK(outer.get() == 3);
}

TEST_CASE("wait, wait_for and a shared get help as well") {
  queue_executor where;
  auto outer = spawn(where, [&where] {
    auto first = spawn(where, [] { return 1; });
    first.wait();
    auto second = spawn(where, [] { return 2; });
    const bool in_time = second.wait_for(1h);
    const auto third = spawn(where, [] { return 3; }).share();
    return first.get() + second.get() + third.get() + (in_time ? 10 : 0);
  });
  where.work();
  CHECK(outer.get() == 16);
}

TEST_CASE("a worker that takes the value out helps those who look at it") {
  queue_executor where;
  auto outer = spawn(where, [&where] {
    auto pointer = braid::ready_future<std::unique_ptr<int>>(std::make_unique<int>(1));
    pointer.then(where, [](const std::unique_ptr<int>& value) { ++*value; }).detach();
    return *pointer.get();
  });
  where.work();
  CHECK(outer.get() == 2);
}

TEST_CASE("a worker with nothing to do wakes for the value, and for work that comes while it sleeps") {
  const watched by_dog;
  queue_executor where;
  promise<int> source;
  auto number = source.get_future();
  auto sum = spawn(where, [&] { return number.get(); });
  bool helped = false;
  {
    sleeper worker([&] { where.work(); });
    REQUIRE(worker.falls_asleep());
    auto work = spawn(where, [&] { helped = true; });
    work.wait();
    CHECK_FALSE(sum.is_ready());
    CHECK(source.set_value(4));
  }
  CHECK(helped);
  CHECK(sum.get() == 4);
}

TEST_CASE("a worker gives up waiting at its deadline, and helps until then") {
  const watched by_dog;
  queue_executor where;
  promise<void> source;
  auto never = source.get_future();
  int helped = 0;
  auto waiter = spawn(where, [&] { return never.wait_for(2ms); });
  spawn(where, [&] { ++helped; }).detach();
  where.work();
  CHECK_FALSE(waiter.get());
  CHECK(helped == 1);
  auto expired = spawn(where, [&] { return never.wait_until(braid::time_point()); });
  where.work();
  CHECK_FALSE(expired.get());
}

TEST_CASE("work for another executor is waited for, and own work is done meanwhile") {
  const watched by_dog;
  queue_executor here;
  queue_executor there;
  int helped = 0;
  auto outer = spawn(here, [&] {
    spawn(here, [&] { ++helped; }).detach();
    return spawn(there, [] { return 5; }).get();
  });
  {
    sleeper worker([&] { here.work(); });
    REQUIRE(worker.falls_asleep());
    there.work();
  }
  CHECK(outer.get() == 5);
  CHECK(helped == 1);
}

TEST_CASE("the only worker gets through waits that are nested deeper than it likes to help") {
  const watched by_dog;
  queue_executor where;
  auto sum = spawn(where, [&] { return sum_to(where, 100); });
  where.work();
  CHECK(sum.get() == 5050);
}

TEST_CASE("jobs without number that all wait do not use up the stack of the worker that helps") {
  const watched by_dog;
  constexpr int jobs = braid::testing::under_thread_sanitizer ? 20'000 : 100'000;
  queue_executor where;
  promise<void> source;
  const auto gate = source.get_future().share();
  nesting nested;
  for (int i = 0; i < jobs; ++i)
    spawn(where, [&nested, gate] {
      nested.enter();
      gate.get();
      nested.leave();
    }).detach();
  std::thread setter([&] {
    CHECK(eventually([&] { return nested.max_depth.load(relaxed) > 40; }));
    CHECK(source.set_value());
  });
  with_stack(1 << 20, [&] { where.work(); });
  setter.join();
  CHECK(nested.max_depth.load(relaxed) < jobs);
}
