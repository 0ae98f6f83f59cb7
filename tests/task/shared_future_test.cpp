// tests/task/shared_future_test.cpp: all copies see one value, which lives as long as one of them.
#include <braid/task/future.hpp>

#include <doctest/doctest.h>

#include <tests/support/deaths.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/manual_executor.hpp>
#include <tests/support/sleeper.hpp>

#include <chrono>
#include <memory>
#include <ostream>
#include <utility>
#include <vector>

using braid::errc;
using braid::promise;
using braid::shared_future;
using braid::testing::deaths;
using braid::testing::failure;
using braid::testing::failure_code;
using braid::testing::failure_text;
using braid::testing::manual_executor;
using braid::testing::mortal;
using braid::testing::sleeper;
using namespace std::chrono_literals;

TEST_CASE("copies see the same value, again and again") {
  promise<std::unique_ptr<int>> source;
  const shared_future<std::unique_ptr<int>> first = source.get_future().share();
  const auto second = first;
  CHECK_FALSE(second.is_ready());
  CHECK_FALSE(second.wait_for(0ns));
  CHECK(source.set_value(std::make_unique<int>(4)));
  CHECK(&first.get() == &second.get());
  CHECK(*first.get() == 4);
  CHECK(*first.get() == 4);
  CHECK(first.wait_until(braid::time_point()));
}

TEST_CASE("nothing and references can be shared") {
  int object = 0;
  shared_future<int&> reference = braid::ready_future<int&>(object).share();
  static_assert(std::is_same_v<decltype(reference.get()), int&>);
  CHECK(&reference.get() == &object);
  shared_future<void> nothing = braid::ready_future<void>();
  nothing.get();
  nothing.then([&object] { object = 1; }).get();
  CHECK(object == 1);
}

TEST_CASE("the value dies with the last copy, or with the last continuation") {
  manual_executor where;
  deaths ended;
  shared_future<mortal> first = braid::ready_future<mortal>(mortal(ended)).share();
  auto second = first;
  auto after = second.then(where, [](const mortal&) {});
  first.detach();
  CHECK_FALSE(first.valid());
  second = shared_future<mortal>();
  CHECK(ended.count == 0);
  where.run();
  CHECK(ended.count == 1);
  after.get();
}

TEST_CASE("each copy can have continuations, which run where those of the future would") {
  manual_executor where;
  promise<int> source(where);
  const shared_future<int> first = source.get_future().share();
  const auto second = first;
  auto posted = first.then([](const int& n) { return n + 1; });
  auto inlined = second.then_inline([](int n) { return n + 2; });
  CHECK(source.set_value(1));
  CHECK(inlined.get() == 3);
  CHECK(where.pending() == 1);
  where.run();
  CHECK(posted.get() == 2);
  CHECK(first.then_inline([](int n) { return n + 3; }).get() == 4);
}

TEST_CASE("a failure is thrown by every get") {
  const auto failed = braid::failed_future<int>(failure("lost")).share();
  CHECK(failure_text(failed) == "lost");
  CHECK(failure_text(failed) == "lost");
  CHECK(failure_text(failed.then([](int n) { return n; })) == "lost");
  shared_future<int> broken;
  {
    promise<int> source;
    broken = source.get_future().share();
  }
  CHECK(failure_code(broken) == errc::broken_promise);
}

TEST_CASE("a future that others look at can be shared") {
  manual_executor where;
  promise<int> source;
  auto number = source.get_future();
  auto looked = number.then(where, [](const int& n) { return n; });
  const auto shared = std::move(number).share();
  CHECK(source.set_value(2));
  CHECK(shared.get() == 2);
  where.run();
  CHECK(looked.get() == 2);
}

TEST_CASE("several threads wait for one value") {
  promise<int> source;
  const auto shared = source.get_future().share();
  int sum = 0;
  {
    int got[2] = {};
    {
      sleeper one([&, mine = shared] { got[0] = mine.get(); });
      sleeper two([&, mine = shared] { got[1] = mine.get(); });
      REQUIRE(one.falls_asleep());
      REQUIRE(two.falls_asleep());
      CHECK(source.set_value(5));
    }
    sum = got[0] + got[1];
  }
  CHECK(sum == 10);
}
