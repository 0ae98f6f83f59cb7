// tests/coro/async_generator_test.cpp: sequences whose coroutine waits between elements.
#include <braid/coro/generator.hpp>

#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/task.hpp>

#include <tests/support/deaths.hpp>
#include <tests/support/stack_extent.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace braid;
using testing::deaths;
using testing::mortal;
using testing::test_loop;

namespace {

auto count_to(int last) -> async_generator<int> {
  for (int i = 1; i <= last; ++i) co_yield i;
}

auto ticks(int count) -> async_generator<int> {
  for (int i = 0; i < count; ++i) {
    co_await sleep_for(1ms);
    co_yield i;
  }
}

auto collect(async_generator<int> from) -> task<std::vector<int>> {
  std::vector<int> all;
  while (const int* next = co_await from.next()) all.push_back(*next);
  const int* after_the_end = co_await from.next();
  CHECK(after_the_end == nullptr);
  co_return all;
}

}  // namespace

TEST_CASE("elements come in order, and the end stays the end") {
  CHECK(sync_wait(collect(count_to(3))) == std::vector{1, 2, 3});
  CHECK(sync_wait(collect(count_to(0))).empty());
}

TEST_CASE("the coroutine may wait between its elements") {
  test_loop here;
  outcome<std::vector<int>> ended = here.run_through(collect(ticks(3)), 1ms);
  CHECK(ended.take() == std::vector{0, 1, 2});
}

TEST_CASE("move-only elements can be taken, and references refer to the object") {
  auto pointers = []() -> async_generator<std::unique_ptr<int>> {
    co_yield std::make_unique<int>(1);
    auto named = std::make_unique<int>(2);
    co_yield named;
  };
  int object = 5;
  auto refer = [&]() -> async_generator<int&> { co_yield object; };
  auto body = [&]() -> task<void> {
    auto from = pointers();
    std::unique_ptr<int>* first = co_await from.next();
    const std::unique_ptr<int> taken = std::move(*first);
    CHECK(*taken == 1);
    std::unique_ptr<int>* second = co_await from.next();
    CHECK(**second == 2);
    auto references = refer();
    int* found = co_await references.next();
    CHECK(found == &object);
  };
  sync_wait(body());
}

TEST_CASE("what the coroutine throws is rethrown by next, and then it has ended") {
  auto failing = []() -> async_generator<int> {
    co_yield 1;
    throw std::runtime_error("no more");
  };
  auto body = [&]() -> task<std::string> {
    auto from = failing();
    const int* first = co_await from.next();
    CHECK(*first == 1);
    std::string sentence;
    try {
      co_await from.next();
    } catch (const std::runtime_error& thrown) {
      sentence = thrown.what();
    }
    const int* after = co_await from.next();
    CHECK(after == nullptr);
    co_return sentence;
  };
  CHECK(sync_wait(body()) == "no more");
}

TEST_CASE("a stop of the consumer destroys the generator where it waits") {
  test_loop here;
  deaths seen;
  bool went_on = false;
  auto waiting = [](mortal /*held*/) -> async_generator<int> {
    co_yield 1;
    co_await sleep_for(1h);
    co_yield 2;
  };
  auto body = [&]() -> task<void> {
    auto from = waiting(mortal(seen));
    co_await from.next();
    co_await from.next();
    went_on = true;
  };
  here.io().spawn(body());
  here.run_once();
  CHECK(seen.count == 0);
  here.io().root().request_stop();
  here.run_once();
  CHECK(seen.count == 1);
  CHECK_FALSE(went_on);
}

TEST_CASE("a generator that was stopped stops whoever asks it again") {
  auto body = []() -> task<bool> {
    auto stops = []() -> async_generator<int> {
      co_await stop_here();
      co_yield 1;
    };
    auto from = stops();
    auto ask = [](async_generator<int>& of) -> task<int> {
      const int* next = co_await of.next();
      co_return *next;
    };
    const outcome<int> first = co_await as_outcome(ask(from));
    const outcome<int> second = co_await as_outcome(ask(from));
    co_return first.is_stopped() && second.is_stopped();
  };
  CHECK(sync_wait(body()));
}

TEST_CASE("one that is left in the middle, or never read, destroys what it holds") {
  deaths seen;
  auto holding = [](mortal /*held*/) -> async_generator<int> {
    co_yield 1;
    co_yield 2;
  };
  auto body = [&]() -> task<void> {
    auto from = holding(mortal(seen));
    co_await from.next();
    auto unread = holding(mortal(seen));
  };
  sync_wait(body());
  CHECK(seen.count == 2);
}

TEST_CASE("a million elements do not use up the stack") {
  testing::stack_extent extent;
  auto marked = [&]() -> async_generator<int> {
    for (int i = 0; i < 1'000'000; ++i) {
      if (i == 0 || i == 999'999) extent.mark();
      co_yield i;
    }
  };
  auto body = [&]() -> task<int> {
    auto from = marked();
    int count = 0;
    while (co_await from.next() != nullptr) ++count;
    co_return count;
  };
  CHECK(sync_wait(body()) == 1'000'000);
  CHECK(extent.bytes() < 4096);
}
