// tests/coro/task_local_test.cpp: values that follow tasks.
#include <braid/coro/with_scope.hpp>

#include <braid/coro/offload.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/spawn.hpp>
#include <braid/coro/when_all.hpp>

#include <tests/support/manual_executor.hpp>
#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

using namespace braid;
using testing::test_loop;

namespace {

constinit task_local<std::string> name;
constinit task_local<int> number;

auto name_here() -> task<std::string> {
  const std::string* const found = co_await name.get();
  co_return found == nullptr ? "none" : *found;
}

auto name_later() -> task<std::string> {
  co_await yield();
  co_return co_await name_here();
}

}  // namespace

TEST_CASE("what a task awaits and spawns sees the value, and others do not") {
  test_loop here;
  auto inside = []() -> task<std::string> {
    std::string found = co_await name_here();
    auto family = [&](scope& children) -> task<void> {
      auto add = [&]() -> task<void> { found += co_await name_later(); };
      auto grandchildren = [&](scope& more) -> task<void> {
        more.spawn(add());
        co_await yield();
      };
      children.spawn(add());
      co_await with_scope(std::ref(grandchildren));
    };
    co_await with_scope(std::ref(family));
    co_return found;
  };
  outcome<std::string> bound = here.run(name.bind("x", inside()));
  CHECK(bound.take() == "xxx");
  outcome<std::string> unbound = here.run(inside());
  CHECK(unbound.take() == "nonenonenone");
}

TEST_CASE("two tasks of one home have values of their own, and an inner binding hides the outer one") {
  test_loop here;
  auto both = []() -> task<std::string> {
    const std::string outer = co_await name_later();
    const std::string inner = co_await name.bind("inner", name_later());
    const std::string again = co_await name_later();
    co_return outer + inner + again;
  };
  auto body = [&]() -> task<std::string> {
    auto [first, second] = co_await when_all(name.bind("a", both()), name.bind("b", both()));
    co_return first + second;
  };
  outcome<std::string> ended = here.run(body());
  CHECK(ended.take() == "ainnerabinnerb");
}

TEST_CASE("several names are bound at once, and a value can be changed in place") {
  test_loop here;
  auto inside = [&]() -> task<int> {
    int* const found = co_await number.get();
    ++*found;
    const std::string* const text = co_await name.get();
    const int* const same = co_await number.get();
    co_return *same + static_cast<int>(text->size());
  };
  outcome<int> ended = here.run(name.bind("four", number.bind(1, inside())));
  CHECK(ended.take() == 6);
}

TEST_CASE("a task that is away sees its values, and one without a home sees none") {
  test_loop here;
  testing::manual_executor there;
  std::string found;
  auto body = [&]() -> task<void> {
    auto look = [&]() -> task<std::string> { co_return co_await name_here(); };
    found = co_await offload(there, look);
  };
  here.io().spawn(name.bind("away", body()));
  there.run();
  here.run_once();
  CHECK(found == "away");
  CHECK(sync_wait(name_here()) == "none");
}

TEST_CASE("failures and stops pass through a binding, whose value dies with it") {
  test_loop here;
  auto fails = []() -> task<void> {
    throw std::runtime_error("bound");
    co_return;
  };
  const outcome<void> failed = here.run(name.bind("x", fails()));
  REQUIRE(failed.has_exception());
  CHECK_THROWS_WITH(std::rethrow_exception(failed.exception()), "bound");
  auto stops = []() -> task<void> { co_await stop_here(); };
  CHECK(here.run(name.bind("x", stops())).is_stopped());
}
