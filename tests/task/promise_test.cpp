// tests/task/promise_test.cpp: a promise gives one result, or says that it will not.
#include <braid/task/future.hpp>

#include <doctest/doctest.h>

#include <tests/support/child.hpp>
#include <tests/support/deaths.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/manual_executor.hpp>

#include <csignal>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>

using braid::errc;
using braid::future;
using braid::promise;
using braid::testing::deaths;
using braid::testing::failure;
using braid::testing::failure_code;
using braid::testing::failure_text;
using braid::testing::manual_executor;
using braid::testing::mortal;
using braid::testing::run_in_child;

TEST_CASE("the value is made from the arguments, and may be set before the future is taken") {
  promise<std::pair<int, std::string>> source;
  CHECK(source.set_value(3, "three"));
  CHECK(source.get_future().get() == std::pair(3, std::string("three")));
}

TEST_CASE("nothing and references can be promised") {
  int object = 0;
  promise<void> nothing;
  CHECK(nothing.set_value());
  nothing.get_future().get();
  promise<int&> reference;
  CHECK(reference.set_value(object));
  CHECK(&reference.get_future().get() == &object);
}

TEST_CASE("a second result is refused, and the first one stays") {
  promise<int> source;
  CHECK(source.set_value(1));
  CHECK(source.set_value(2).error() == errc::already_set);
  CHECK(source.set_exception(failure("late")).error() == errc::already_set);
  CHECK(source.get_future().get() == 1);
  promise<int> failed;
  CHECK(failed.set_exception(failure("first")));
  CHECK(failed.set_value(1).error() == errc::already_set);
  CHECK(failure_text(failed.get_future()) == "first");
}

TEST_CASE("a promise that is dropped breaks, for get and for continuations") {
  future<int> number;
  future<int> after;
  {
    promise<int> source;
    number = source.get_future();
    after = number.then([](const int& n) { return n; });
  }
  CHECK(failure_code(number) == errc::broken_promise);
  CHECK(failure_code(after) == errc::broken_promise);
}

TEST_CASE("a promise that is assigned over breaks, and what was moved from does not") {
  promise<int> first;
  auto lost = first.get_future();
  promise<int> second;
  auto kept = second.get_future();
  first = std::move(second);
  CHECK(failure_code(lost) == errc::broken_promise);
  CHECK_FALSE(kept.is_ready());
  CHECK(first.set_value(1));
  CHECK(kept.get() == 1);
  CHECK(second.set_value(1).error() == errc::already_set);
}

TEST_CASE("a value whose making throws leaves the promise as it was") {
  struct picky {
    explicit picky(int n) {
      if (n < 0) throw std::runtime_error("negative");
    }
  };
  promise<picky> source;
  CHECK_THROWS_WITH(static_cast<void>(source.set_value(-1)), "negative");
  auto value = source.get_future();
  CHECK_FALSE(value.is_ready());
  CHECK(source.set_value(1));
  CHECK_NOTHROW(value.get());
}

TEST_CASE("a promise with an executor has continuations run there") {
  manual_executor where;
  promise<int> source(where);
  auto after = source.get_future().then([](int n) { return n + 1; });
  CHECK(source.set_value(1));
  REQUIRE(where.pending() == 1);
  where.run();
  CHECK(after.get() == 2);
}

TEST_CASE("a result that nobody wants is destroyed once") {
  deaths ended;
  {
    promise<mortal> source;
    source.get_future().detach();
    CHECK(source.set_value(mortal(ended)));
    CHECK(ended.count == 1);
  }
  CHECK(ended.count == 1);
  { promise<mortal>().set_value(mortal(ended)).value(); }
  CHECK(ended.count == 2);
}

TEST_CASE("the future is given away once, and no exception is no failure") {
  const auto twice = run_in_child([] {
    promise<int> source;
    auto first = source.get_future();
    auto second = source.get_future();
  });
  CHECK(twice.signal == SIGABRT);
  CHECK(twice.errors.find("get_future may be called only once for a promise") != std::string::npos);
  CHECK(run_in_child([] { static_cast<void>(promise<int>().set_exception(nullptr)); }).signal == SIGABRT);
}

TEST_CASE("futures that have their result from the start") {
  CHECK(*braid::ready_future<std::unique_ptr<int>>(std::make_unique<int>(2)).get() == 2);
  CHECK(failure_text(braid::failed_future<int>(failure("lost"))) == "lost");
  CHECK(failure_code(braid::failed_future<void>(make_error_code(errc::deadline_exceeded))) == errc::deadline_exceeded);
}
