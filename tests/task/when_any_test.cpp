// tests/task/when_any_test.cpp: the first value wins; failures count only when there is nothing else.
#include <braid/task/future.hpp>
#include <braid/task/spawn.hpp>
#include <braid/task/when_all.hpp>

#include <doctest/doctest.h>

#include <tests/support/deaths.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/manual_executor.hpp>

#include <array>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using braid::errc;
using braid::future;
using braid::promise;
using braid::ready_future;
using braid::when_any;
using braid::testing::deaths;
using braid::testing::failure;
using braid::testing::failure_code;
using braid::testing::failure_text;
using braid::testing::manual_executor;
using braid::testing::mortal;

TEST_CASE("the first value and its index arrive, several of one type included") {
  promise<int> first;
  promise<int> second;
  promise<std::string> third;
  auto any = when_any(first.get_future(), second.get_future(), third.get_future());
  CHECK_FALSE(any.is_ready());
  CHECK(second.set_value(2));
  REQUIRE(any.is_ready());
  CHECK(first.set_value(1));
  CHECK(third.set_value("late"));
  const auto won = any.get();
  CHECK(won.index == 1);
  CHECK(won.value.index() == 1);
  CHECK(std::get<1>(won.value) == 2);
}

TEST_CASE("the first value of a range arrives with its index") {
  std::array<promise<std::unique_ptr<int>>, 3> sources;
  std::vector<future<std::unique_ptr<int>>> futures;
  for (auto& source : sources) futures.push_back(source.get_future());
  auto any = when_any(std::move(futures));
  CHECK(sources[2].set_value(std::make_unique<int>(3)));
  CHECK(sources[0].set_value(std::make_unique<int>(1)));
  const auto won = any.get();
  CHECK(won.index == 2);
  CHECK(*won.value == 3);
}

TEST_CASE("nothing and references can win") {
  std::vector<future<void>> nothings;
  nothings.push_back(promise<void>().get_future());
  nothings.push_back(ready_future<void>());
  CHECK(when_any(std::move(nothings)).get().index == 1);
  int object = 0;
  std::vector<future<int&>> references;
  references.push_back(ready_future<int&>(object));
  CHECK(&when_any(std::move(references)).get().value.get() == &object);
  CHECK(when_any(ready_future<void>(), ready_future<int>(1)).get().value.index() == 0);
}

TEST_CASE("of several that are ready the first by position wins") {
  CHECK(when_any(braid::failed_future<int>(failure("lost")), ready_future<int>(1), ready_future<int>(2)).get().index ==
        1);
}

TEST_CASE("a failure does not win, also when it comes first") {
  promise<int> first;
  promise<int> second;
  auto any = when_any(first.get_future(), second.get_future());
  CHECK(first.set_exception(failure("lost")));
  CHECK_FALSE(any.is_ready());
  CHECK(second.set_value(1));
  CHECK(any.get().index == 1);
}

TEST_CASE("when all fail it fails like the first by position, once all have ended") {
  promise<int> first;
  promise<int> second;
  auto any = when_any(first.get_future(), second.get_future());
  CHECK(second.set_exception(failure("second")));
  CHECK_FALSE(any.is_ready());
  CHECK(first.set_exception(failure("first")));
  CHECK(failure_text(any) == "first");
}

TEST_CASE("without any future it is an error") {
  CHECK(failure_code(when_any(std::vector<future<int>>())) == errc::invalid_argument);
}

TEST_CASE("what comes late is dropped, and so are values that nobody fetches") {
  deaths ended;
  promise<mortal> late;
  {
    const auto any = when_any(ready_future<mortal>(mortal(ended)), late.get_future());
    CHECK(any.is_ready());
  }
  CHECK(ended.count == 1);
  CHECK(late.set_value(mortal(ended)));
  CHECK(ended.count == 2);
}

TEST_CASE("a winner that cannot be moved without throwing makes it fail") {
  struct fragile {
    fragile() = default;
    fragile(fragile&& /*other*/) { throw std::runtime_error("not moved"); }
  };
  promise<fragile> source;
  auto any = when_any(source.get_future());
  CHECK(source.set_value());
  CHECK_THROWS_WITH(static_cast<void>(any.get()), "not moved");
}

TEST_CASE("a future that is dropped before anything ends leaves nothing behind") {
  deaths ended;
  promise<mortal> first;
  promise<mortal> second;
  when_any(first.get_future(), second.get_future()).detach();
  CHECK(first.set_value(mortal(ended)));
  CHECK(ended.count == 1);
  CHECK(second.set_exception(failure("lost")));
}

TEST_CASE("continuations run on the executor of the first future that has one") {
  manual_executor where;
  auto any = when_any(promise<int>().get_future(), braid::spawn(where, [] { return 2; })).then([](auto won) {
    return won.index;
  });
  where.run();
  REQUIRE(where.pending() == 1);
  where.run();
  CHECK(any.get() == 1);
}
