// tests/task/future_test.cpp: a value or failure arrives once, wherever it is waited for, and goes on along every
// chain.
#include <braid/task/future.hpp>
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>
#include <tests/support/deaths.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/queue_executor.hpp>
#include <tests/support/sleeper.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using braid::errc;
using braid::future;
using braid::promise;
using braid::ready_future;
using braid::spawn;
using braid::testing::deaths;
using braid::testing::failure;
using braid::testing::failure_code;
using braid::testing::failure_text;
using braid::testing::manual_executor;
using braid::testing::mortal;
using braid::testing::queue_executor;
using braid::testing::run_in_child;
using braid::testing::sleeper;
using braid::testing::text_of;
using namespace std::chrono_literals;

TEST_CASE("get moves the value out, and the future has no state afterwards") {
  auto number = ready_future<std::unique_ptr<int>>(std::make_unique<int>(7));
  CHECK(number.valid());
  CHECK(number.is_ready());
  const std::unique_ptr<int> value = number.get();
  CHECK(*value == 7);
  CHECK_FALSE(number.valid());
}

TEST_CASE("nothing and references arrive as such") {
  int object = 1;
  ready_future<void>().get();
  auto reference = ready_future<int&>(object);
  CHECK(&reference.get() == &object);
}

TEST_CASE("a value that cannot be moved can be made and looked at") {
  struct fixed {
    explicit fixed(int n) : number(n) {}
    fixed(const fixed&) = delete;
    auto operator=(const fixed&) -> fixed& = delete;
    int number;
  };
  queue_executor where;
  auto made = spawn(where, [] { return fixed(3); });
  auto seen = made.then_inline([](const fixed& value) { return value.number; });
  where.work();
  CHECK(seen.get() == 3);
}

TEST_CASE("a future is used up by a move, and can be assigned again") {
  auto first = ready_future<int>(1);
  future<int> second = std::move(first);
  CHECK_FALSE(first.valid());
  first = ready_future<int>(2);
  second = std::move(first);
  CHECK(second.get() == 2);
}

TEST_CASE("using a future without a state ends the program with a sentence") {
  const auto end = run_in_child([] { static_cast<void>(future<int>().get()); });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("braid: this future has no state") != std::string::npos);
  CHECK(run_in_child([] { future<int>().then_inline([](int) {}).detach(); }).signal == SIGABRT);
  CHECK(run_in_child([] {
          future<int> none;
          none.then_inline([](int) {}).detach();
        }).signal == SIGABRT);
  CHECK(run_in_child([] { static_cast<void>(future<int>().is_ready()); }).signal == SIGABRT);
}

TEST_CASE("then posts to the executor of the work, once the value is there") {
  manual_executor where;
  auto doubled = spawn(where, [] { return 4; }).then([](int n) { return 2 * n; });
  CHECK(where.pending() == 1);
  where.run();
  CHECK_FALSE(doubled.is_ready());
  CHECK(where.pending() == 1);
  where.run();
  CHECK(doubled.get() == 8);
}

TEST_CASE("then on a future that is ready posts at once") {
  manual_executor where;
  auto ready = spawn(where, [] { return 4; });
  where.run();
  auto doubled = std::move(ready).then([](int n) { return 2 * n; });
  CHECK(where.pending() == 1);
  where.run();
  CHECK(doubled.get() == 8);
}

TEST_CASE("then with an executor runs there, and so does what comes after it") {
  manual_executor here;
  manual_executor there;
  auto last = spawn(here, [] { return 1; }).then(there, [](int n) { return n + 1; }).then([](int n) { return n + 1; });
  here.run();
  CHECK(here.pending() == 0);
  there.run();
  there.run();
  CHECK(last.get() == 3);
}

TEST_CASE("then_inline runs on the thread that fulfils, or on the caller's when the value is there") {
  manual_executor where;
  bool ran = false;
  auto early = spawn(where, [] { return 1; });
  early.then_inline([&ran](const int&) { ran = true; }).detach();
  CHECK_FALSE(ran);
  where.run();
  CHECK(ran);
  CHECK(where.pending() == 0);
  CHECK(std::move(early).then_inline([](int n) { return n + 1; }).get() == 2);
}

TEST_CASE("what follows then_inline is posted to the executor of the work again") {
  manual_executor where;
  auto last = spawn(where, [] { return 1; }).then_inline([](int n) { return n; }).then([](int n) { return n; });
  where.run();
  CHECK(where.pending() == 1);
  where.run();
  CHECK(last.get() == 1);
}

TEST_CASE("a future of no executor runs its continuations inline") {
  promise<int> source;
  auto last = source.get_future().then([](int n) { return n + 1; });
  CHECK(source.set_value(1));
  CHECK(last.get() == 2);
}

TEST_CASE("any number of continuations hang on one future and see the same value, in their order") {
  promise<int> source;
  auto shared = source.get_future();
  std::vector<int> order;
  std::vector<const int*> seen;
  for (int i = 0; i < 5; ++i)
    shared
        .then_inline([&, i](const int& value) {
          order.push_back(i);
          seen.push_back(&value);
        })
        .detach();
  CHECK(source.set_value(1));
  CHECK(order == std::vector{0, 1, 2, 3, 4});
  CHECK(seen == std::vector(5, seen.front()));
  CHECK(shared.get() == 1);
}

TEST_CASE("who takes the value out comes after all who look at it, even when it cannot be copied") {
  manual_executor where;
  promise<std::unique_ptr<int>> source;
  auto pointer = source.get_future();
  auto first = pointer.then(where, [](const std::unique_ptr<int>& value) { return *value; });
  auto second = pointer.then(where, [](const std::unique_ptr<int>& value) { return *value + 1; });
  auto last = std::move(pointer).then_inline([](std::unique_ptr<int> value) { return *std::move(value) + 2; });
  CHECK(source.set_value(std::make_unique<int>(1)));
  CHECK_FALSE(last.is_ready());
  where.run(1);
  CHECK_FALSE(last.is_ready());
  where.run(0);
  CHECK(first.get() == 1);
  CHECK(second.get() == 2);
  CHECK(last.get() == 3);
}

TEST_CASE("who takes the value out of a ready future waits for those who look at it, too") {
  manual_executor where;
  auto pointer = ready_future<std::unique_ptr<int>>(std::make_unique<int>(1));
  auto looked = pointer.then(where, [](const std::unique_ptr<int>& value) { return *value; });
  auto taken = std::move(pointer).then_inline([](std::unique_ptr<int>&& value) { return *std::move(value) + 1; });
  CHECK_FALSE(taken.is_ready());
  where.run();
  CHECK(looked.get() == 1);
  CHECK(taken.get() == 2);
}

TEST_CASE("get waits for those who look at the value") {
  manual_executor where;
  auto pointer = ready_future<std::unique_ptr<int>>(std::make_unique<int>(1));
  auto looked = pointer.then(where, [](const std::unique_ptr<int>& value) { return *value; });
  int got = 0;
  {
    sleeper waiter([&] { got = *pointer.get(); });
    REQUIRE(waiter.falls_asleep());
    where.run();
  }
  CHECK(got == 1);
  CHECK(looked.get() == 1);
}

TEST_CASE("a continuation that looks at nothing of the value may return references and nothing") {
  int object = 0;
  auto nothing = ready_future<void>().then([&object] { object = 5; });
  nothing.get();
  auto reference = ready_future<int>(1).then([&object](int) -> int& { return object; });
  CHECK(&reference.get() == &object);
  auto through = ready_future<int&>(object).then([](int& same) -> int& { return same; });
  CHECK(&through.get() == &object);
}

TEST_CASE("a continuation that returns a future is unwrapped, before and after that one is ready") {
  promise<std::string> later;
  auto waits = ready_future<int>(1).then([&](int) { return later.get_future(); });
  static_assert(std::is_same_v<decltype(waits), future<std::string>>);
  CHECK_FALSE(waits.is_ready());
  CHECK(later.set_value("late"));
  CHECK(waits.get() == "late");
  CHECK(ready_future<int>(1).then([](int) { return ready_future<std::string>("at once"); }).get() == "at once");
  CHECK(failure_text(ready_future<int>(1).then([](int) { return braid::failed_future<int>(failure("inner")); })) ==
        "inner");
  CHECK(failure_code(ready_future<int>(1).then([](int) { return future<int>(); })) == errc::broken_promise);
}

TEST_CASE("a future that is unwrapped gives its value after those who look at it") {
  manual_executor where;
  auto inner = ready_future<std::unique_ptr<int>>(std::make_unique<int>(1));
  auto looked = inner.then(where, [](const std::unique_ptr<int>& value) { return *value; });
  auto outer = ready_future<void>().then([&] { return std::move(inner); });
  CHECK_FALSE(outer.is_ready());
  where.run();
  CHECK(*outer.get() == 1);
  CHECK(looked.get() == 1);
}

TEST_CASE("work that returns a future is unwrapped as well") {
  manual_executor where;
  promise<int> later;
  auto outer = spawn(where, [&] { return later.get_future(); });
  static_assert(std::is_same_v<decltype(outer), future<int>>);
  where.run();
  CHECK_FALSE(outer.is_ready());
  CHECK(later.set_value(6));
  CHECK(outer.get() == 6);
}

TEST_CASE("a failure passes continuations by, which are destroyed without a call") {
  promise<int> source;
  deaths ended;
  bool called = false;
  auto last = source.get_future()
                  .then([&called, guard = mortal(ended)](int) { called = true; })
                  .then([&called, guard = mortal(ended)] { return called = true; });
  CHECK(source.set_exception(failure("lost")));
  CHECK(ended.count == 2);
  CHECK(failure_text(last) == "lost");
  CHECK_FALSE(called);
}

TEST_CASE("a failure needs no executor to pass by") {
  manual_executor where;
  promise<int> source(where);
  auto last = source.get_future().then([](int n) { return n; }).then([](int n) { return n; });
  CHECK(source.set_exception(failure("lost")));
  CHECK(where.pending() == 0);
  CHECK(failure_text(last) == "lost");
}

TEST_CASE("all continuations of a failed future fail alike, and the future too") {
  promise<int> source;
  auto number = source.get_future();
  auto first = number.then([](const int& n) { return n; });
  auto second = number.then([](const int& n) { return n; });
  CHECK(source.set_exception(failure("lost")));
  CHECK(failure_text(first) == "lost");
  CHECK(failure_text(second) == "lost");
  CHECK(failure_text(number) == "lost");
}

TEST_CASE("what a continuation throws arrives in its future") {
  auto thrown = ready_future<int>(1).then([](int) -> int { throw std::runtime_error("thrown"); });
  CHECK(failure_text(thrown) == "thrown");
}

TEST_CASE("a value whose copy throws makes who copies it fail, and nobody else") {
  struct fragile {
    fragile() = default;
    fragile(const fragile& /*other*/) { throw std::runtime_error("not copied"); }
    fragile(fragile&&) = default;
  };
  auto source = ready_future<fragile>();
  auto copied = source.then([](const fragile& value) { return fragile(value); });
  CHECK(failure_text(copied) == "not copied");
  CHECK_NOTHROW(static_cast<void>(source.get()));
}

TEST_CASE("a handler stands in for a failed value, and a value passes it by") {
  auto mended = braid::failed_future<int>(failure("lost")).recover([](const std::exception_ptr& what) {
    return text_of(what) == "lost" ? 5 : 6;
  });
  CHECK(mended.get() == 5);
  CHECK(ready_future<int>(1).recover([](std::exception_ptr) { return 5; }).get() == 1);
  CHECK(braid::failed_future<int>(failure("lost"))
            .recover([](std::exception_ptr) { return ready_future<int>(7); })
            .get() == 7);
  bool handled = false;
  braid::failed_future<void>(failure("lost")).recover_inline([&](std::exception_ptr) { handled = true; }).get();
  CHECK(handled);
  CHECK(failure_text(braid::failed_future<int>(failure("first")).recover([](std::exception_ptr) -> int {
          throw std::runtime_error("second");
        })) == "second");
}

TEST_CASE("a handler runs where a continuation would") {
  manual_executor here;
  manual_executor there;
  auto mended = spawn(here, []() -> int { throw std::runtime_error("lost"); })
                    .then([](int n) { return n; })
                    .recover([](std::exception_ptr) { return 1; })
                    .then([](int) -> int { throw std::runtime_error("again"); })
                    .recover(there, [](std::exception_ptr) { return 2; });
  here.run();
  CHECK(here.pending() == 1);
  here.run_all();
  CHECK(there.pending() == 1);
  there.run();
  CHECK(mended.get() == 2);
}

TEST_CASE("a failure whose handler is refused or dropped stays what it was") {
  manual_executor where;
  auto dropped = braid::failed_future<int>(failure("lost")).recover(where, [](std::exception_ptr) { return 1; });
  where.drop();
  CHECK(failure_text(dropped) == "lost");
  where.close();
  auto refused = braid::failed_future<int>(failure("lost")).recover(where, [](std::exception_ptr) { return 1; });
  CHECK(failure_text(refused) == "lost");
}

TEST_CASE("a continuation that an executor drops or refuses fails with the code, and so do those behind it") {
  manual_executor where;
  deaths ended;
  auto dropped =
      ready_future<int>(1).then(where, [guard = mortal(ended)](int n) { return n; }).then([](int n) { return n; });
  where.drop();
  CHECK(failure_code(dropped) == errc::dropped);
  CHECK(ended.count == 1);
  where.close();
  auto refused = ready_future<int>(1).then(where, [guard = mortal(ended)](int n) { return n; });
  CHECK(failure_code(refused) == errc::closed);
  CHECK(ended.count == 2);
}

TEST_CASE("captures of a continuation, and the value before it, are gone when its own value is seen") {
  promise<mortal> source;
  deaths captures;
  deaths values;
  int captures_gone = 0;
  int values_gone = 0;
  auto last = source.get_future().then([guard = mortal(captures)](mortal&&) { return 1; }).then([&](int) {
    captures_gone = captures.count, values_gone = values.count;
  });
  CHECK(source.set_value(mortal(values)));
  CHECK(captures_gone == 1);
  CHECK(values_gone == 1);
  last.get();
}

TEST_CASE("a dropped future detaches its work, and the value is destroyed once") {
  manual_executor where;
  deaths ended;
  int calls = 0;
  spawn(where, [&] { return ++calls, mortal(ended); }).detach();
  {
    const auto dropped = spawn(where, [&] { return ++calls, mortal(ended); }).then([&](mortal&&) { ++calls; });
  }
  where.run_all();
  CHECK(calls == 3);
  CHECK(ended.count == 2);
  { const auto unread = ready_future<mortal>(mortal(ended)); }
  CHECK(ended.count == 3);
}

TEST_CASE("get blocks a thread until another one sets the value") {
  promise<int> source;
  auto number = source.get_future();
  int got = 0;
  {
    sleeper waiter([&] { got = number.get(); });
    REQUIRE(waiter.falls_asleep());
    CHECK(source.set_value(3));
  }
  CHECK(got == 3);
}

TEST_CASE("several waits by one owner see the value, and those with a deadline give up before") {
  promise<int> source;
  auto number = source.get_future();
  CHECK_FALSE(number.wait_for(0ns));
  CHECK_FALSE(number.wait_for(-1h));
  CHECK_FALSE(number.wait_until(braid::time_point()));
  CHECK_FALSE(number.wait_for(1ms));
  CHECK(source.set_value(3));
  CHECK(number.wait_for(0ns));
  CHECK(number.wait_until(braid::time_point()));
  number.wait();
  CHECK(number.get() == 3);
}

TEST_CASE("a wait with a deadline far away ends with the value") {
  for (const braid::duration limit : {braid::duration(1h), braid::duration::max()}) {
    promise<int> source;
    auto number = source.get_future();
    bool ready = false;
    {
      sleeper waiter([&] { ready = number.wait_for(limit); });
      REQUIRE(waiter.falls_asleep());
      CHECK(source.set_value(3));
    }
    CHECK(ready);
  }
}

TEST_CASE("a future that was waited for in vain still gives its value to a continuation") {
  promise<int> source;
  auto number = source.get_future();
  CHECK_FALSE(number.wait_for(1ns));
  auto looked = number.then([](const int& n) { return n; });
  auto taken = std::move(number).then([](int n) { return n; });
  CHECK(source.set_value(3));
  CHECK(looked.get() == 3);
  CHECK(taken.get() == 3);
  promise<int> second;
  auto alone = second.get_future();
  CHECK_FALSE(alone.wait_for(1ns));
  auto only = std::move(alone).then([](int n) { return n; });
  CHECK(second.set_value(4));
  CHECK(only.get() == 4);
}

TEST_CASE("a thread that would wait for itself is refused, and the future can be used afterwards") {
  struct own_thread final : braid::executor {
    [[nodiscard]] auto try_post(braid::job& work) noexcept -> bool override {
      posted = &work;
      return true;
    }
    [[nodiscard]] auto is_current() const noexcept -> bool override { return true; }
    braid::job* posted = nullptr;
  } here;
  auto number = spawn(here, [] { return 1; });
  CHECK(failure_code(number) == errc::would_deadlock);
  REQUIRE(number.valid());
  here.posted->run();
  CHECK(number.get() == 1);
}
