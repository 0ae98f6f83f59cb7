// tests/task/when_all_test.cpp: all values together once all are there; the first failure by position, and not before.
#include <braid/task/future.hpp>
#include <braid/task/spawn.hpp>
#include <braid/task/when_all.hpp>

#include <doctest/doctest.h>

#include <tests/support/deaths.hpp>
#include <tests/support/failures.hpp>
#include <tests/support/manual_executor.hpp>

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

using braid::future;
using braid::promise;
using braid::ready_future;
using braid::when_all;
using braid::when_all_settled;
using braid::testing::deaths;
using braid::testing::failure;
using braid::testing::failure_text;
using braid::testing::manual_executor;
using braid::testing::mortal;
using braid::testing::text_of;

TEST_CASE("the values of different types come as a tuple once the last is there") {
  promise<int> number;
  promise<std::unique_ptr<int>> pointer;
  promise<void> nothing;
  int object = 0;
  auto all = when_all(number.get_future(), pointer.get_future(), nothing.get_future(), ready_future<int&>(object));
  CHECK(nothing.set_value());
  CHECK(pointer.set_value(std::make_unique<int>(2)));
  CHECK_FALSE(all.is_ready());
  CHECK(number.set_value(1));
  REQUIRE(all.is_ready());
  auto [first, second, third, fourth] = all.get();
  CHECK(first == 1);
  CHECK(*second == 2);
  static_assert(std::is_same_v<decltype(third), std::monostate>);
  CHECK(&fourth.get() == &object);
}

TEST_CASE("the values of a range come as a vector, in order, however they arrive") {
  std::array<promise<int>, 3> sources;
  std::vector<future<int>> futures;
  for (auto& source : sources) futures.push_back(source.get_future());
  auto all = when_all(std::move(futures));
  CHECK(sources[2].set_value(3));
  CHECK(sources[0].set_value(1));
  CHECK_FALSE(all.is_ready());
  CHECK(sources[1].set_value(2));
  CHECK(all.get() == std::vector{1, 2, 3});
}

TEST_CASE("shared futures are waited for together and stay as they are") {
  promise<std::string> text;
  promise<void> nothing;
  int object = 0;
  const auto shared = text.get_future().share();
  const auto done = nothing.get_future().share();
  const auto reference = ready_future<int&>(object).share();
  auto all = when_all(shared, done, reference);
  const std::vector twice{shared, shared};
  auto both = when_all(twice);
  CHECK(nothing.set_value());
  CHECK_FALSE(all.is_ready());
  CHECK(text.set_value("read by all"));
  REQUIRE(all.is_ready());
  const auto [first, second, third] = all.get();
  CHECK(first == "read by all");
  static_assert(std::is_same_v<decltype(second), const std::monostate>);
  CHECK(&third.get() == &object);
  CHECK(both.get() == std::vector<std::string>{"read by all", "read by all"});
  CHECK(shared.get() == "read by all");
  static_assert(std::is_same_v<decltype(when_all(done, done)), future<void>>);
  CHECK(when_all(std::vector<braid::shared_future<int>>()).get().empty());
}

TEST_CASE("the first of the shared futures that fail is the failure of all, and its copies keep it") {
  promise<int> one;
  promise<int> other;
  const auto first = one.get_future().share();
  const auto second = other.get_future().share();
  auto all = when_all(first, second);
  CHECK(other.set_exception(failure("second")));
  CHECK_FALSE(all.is_ready());
  CHECK(one.set_exception(failure("first")));
  CHECK(failure_text(all) == "first");
  CHECK(failure_text(second) == "second");
}

TEST_CASE("other containers and views are consumed as well, lvalue containers are not taken") {
  std::deque<future<int>> queue;
  queue.push_back(ready_future<int>(1));
  CHECK(when_all(std::move(queue)).get() == std::vector{1});
  std::vector<future<int>> kept;
  kept.push_back(ready_future<int>(2));
  CHECK(when_all(std::span(kept)).get() == std::vector{2});
  CHECK_FALSE(kept[0].valid());
  static_assert(!std::is_invocable_v<decltype([](auto&& range) -> decltype(when_all(range)) {}), decltype(kept)&>);
}

TEST_CASE("futures of nothing become one of nothing, and those of references a vector of wrappers") {
  std::vector<future<void>> nothings;
  nothings.push_back(ready_future<void>());
  static_assert(std::is_same_v<decltype(when_all(std::move(nothings))), future<void>>);
  when_all(std::move(nothings)).get();
  static_assert(std::is_same_v<decltype(when_all(ready_future<void>(), ready_future<void>())), future<void>>);
  int object = 0;
  std::vector<future<int&>> references;
  references.push_back(ready_future<int&>(object));
  CHECK(&when_all(std::move(references)).get().at(0).get() == &object);
}

TEST_CASE("without any future it is ready at once") {
  CHECK(when_all(std::vector<future<int>>()).get().empty());
  when_all(std::vector<future<void>>()).get();
  CHECK(when_all_settled(std::vector<future<int>>()).get().empty());
}

TEST_CASE("a failure shows once all have ended, and is the first by position, whatever came first") {
  std::array<promise<int>, 3> sources;
  auto all = when_all(sources[0].get_future(), sources[1].get_future(), sources[2].get_future());
  CHECK(sources[2].set_exception(failure("third")));
  CHECK_FALSE(all.is_ready());
  CHECK(sources[1].set_exception(failure("second")));
  CHECK_FALSE(all.is_ready());
  CHECK(sources[0].set_value(1));
  CHECK(all.is_ready());
  CHECK(failure_text(all) == "second");
}

TEST_CASE("a failure in a range shows once all have ended") {
  std::array<promise<int>, 3> sources;
  std::vector<future<int>> futures;
  for (auto& source : sources) futures.push_back(source.get_future());
  auto all = when_all(std::move(futures));
  CHECK(sources[0].set_exception(failure("first")));
  CHECK(sources[1].set_value(1));
  CHECK_FALSE(all.is_ready());
  CHECK(sources[2].set_exception(failure("third")));
  CHECK(failure_text(all) == "first");
}

TEST_CASE("continuations run on the executor of the first future that has one") {
  manual_executor where;
  auto all = when_all(ready_future<int>(1), braid::spawn(where, [] { return 2; })).then([](auto values) {
    return std::get<0>(values) + std::get<1>(values);
  });
  where.run();
  REQUIRE(where.pending() == 1);
  where.run();
  CHECK(all.get() == 3);
}

TEST_CASE("a value that is looked at elsewhere is taken after that") {
  manual_executor where;
  auto number = ready_future<std::unique_ptr<int>>(std::make_unique<int>(1));
  auto looked = number.then(where, [](const std::unique_ptr<int>& value) { return *value; });
  auto all = when_all(std::move(number), ready_future<void>());
  CHECK_FALSE(all.is_ready());
  where.run();
  CHECK(*std::get<0>(all.get()) == 1);
  CHECK(looked.get() == 1);
}

TEST_CASE("a value that cannot be moved without throwing makes it fail") {
  struct fragile {
    fragile() = default;
    fragile(fragile&& /*other*/) { throw std::runtime_error("not moved"); }
  };
  promise<fragile> source;
  auto all = when_all(source.get_future());
  CHECK(source.set_value());
  CHECK_THROWS_WITH(static_cast<void>(all.get()), "not moved");
}

TEST_CASE("values that nobody fetches are destroyed once") {
  deaths ended;
  when_all(ready_future<mortal>(mortal(ended)), ready_future<mortal>(mortal(ended))).detach();
  CHECK(ended.count == 2);
  CHECK_THROWS(when_all(ready_future<mortal>(mortal(ended)), braid::failed_future<int>(failure("lost"))).get());
  CHECK(ended.count == 3);
}

TEST_CASE("when_all_settled says of each how it ended, and does not fail") {
  promise<int> number;
  auto all = when_all_settled(number.get_future(), braid::failed_future<int>(failure("lost")), ready_future<void>());
  CHECK_FALSE(all.is_ready());
  CHECK(number.set_value(1));
  const auto [first, second, third] = all.get();
  CHECK(first == 1);
  REQUIRE_FALSE(second.has_value());
  CHECK(text_of(second.error()) == "lost");
  CHECK(third.has_value());
}

TEST_CASE("when_all_settled of a range keeps the order") {
  std::vector<future<int>> futures;
  futures.push_back(braid::failed_future<int>(failure("lost")));
  futures.push_back(ready_future<int>(2));
  const auto all = when_all_settled(std::move(futures)).get();
  REQUIRE(all.size() == 2);
  CHECK_FALSE(all[0].has_value());
  CHECK(all[1] == 2);
}

TEST_CASE("a hundred thousand in each other do not use up the stack") {
  promise<int> source;
  auto chain = source.get_future();
  for (int i = 0; i < 100'000; ++i)
    chain = when_all(std::move(chain)).then_inline([](std::tuple<int> value) { return std::get<0>(value) + 1; });
  CHECK(source.set_value(0));
  CHECK(chain.get() == 100'000);
}
