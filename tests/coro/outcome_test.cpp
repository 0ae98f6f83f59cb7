// tests/coro/outcome_test.cpp: the three endings of a task as a value.
#include <braid/coro/task.hpp>

#include <doctest/doctest.h>

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

using namespace braid;

namespace {

template <typename T>
auto code_thrown_by(outcome<T>& ended) -> std::error_code {
  try {
    static_cast<void>(ended.take());
  } catch (const std::system_error& thrown) {
    return thrown.code();
  }
  return {};
}

}  // namespace

TEST_CASE("a default-made outcome is stopped, and taking it throws errc::stopped") {
  outcome<int> ended;
  CHECK(ended.is_stopped());
  CHECK_FALSE(ended.has_value());
  CHECK_FALSE(ended.has_exception());
  CHECK(code_thrown_by(ended) == errc::stopped);

  outcome<void> nothing;
  CHECK(nothing.is_stopped());
  CHECK_THROWS_AS(nothing.take(), std::system_error);
}

TEST_CASE("a value is taken out by moving it") {
  outcome<std::unique_ptr<int>> ended;
  ended.set_value(std::make_unique<int>(7));
  REQUIRE(ended.has_value());
  CHECK_FALSE(ended.is_stopped());
  CHECK(*ended.take() == 7);
}

TEST_CASE("a value is made in place from its arguments") {
  outcome<std::string> ended;
  ended.set_value(std::size_t{3}, 'x');
  CHECK(ended.take() == "xxx");
}

TEST_CASE("a reference stays a reference to the same object") {
  int object = 1;
  outcome<int&> ended;
  ended.set_value(object);
  CHECK(&ended.take() == &object);

  outcome<const int&> constant;
  constant.set_value(object);
  CHECK(&constant.take() == &object);

  outcome<int&&> moving;
  moving.set_value(std::move(object));
  int&& taken = moving.take();
  CHECK(&taken == &object);
}

TEST_CASE("a void outcome has a value without content") {
  outcome<void> ended;
  ended.set_value();
  CHECK(ended.has_value());
  CHECK_NOTHROW(ended.take());
}

TEST_CASE("an exception is rethrown by take, as often as it is asked") {
  outcome<int> ended;
  ended.set_exception(std::make_exception_ptr(std::runtime_error("broken")));
  REQUIRE(ended.has_exception());
  CHECK_FALSE(ended.has_value());
  CHECK_FALSE(ended.is_stopped());
  CHECK_THROWS_WITH(ended.take(), "broken");
  CHECK_THROWS_WITH(ended.take(), "broken");
  CHECK_THROWS_WITH(std::rethrow_exception(ended.exception()), "broken");
}

TEST_CASE("an exception replaces a value whose construction threw") {
  struct refuses {
    explicit refuses(int) { throw std::runtime_error("no"); }
  };
  outcome<refuses> ended;
  CHECK_THROWS_AS(ended.set_value(1), std::runtime_error);
  CHECK_FALSE(ended.has_value());
  ended.set_exception(std::make_exception_ptr(std::runtime_error("no")));
  CHECK_THROWS_WITH(ended.take(), "no");
}
