// tests/coro/task_info_test.cpp: a task knows its number and name, and what it awaits and spawns knows them too.
#include <braid/coro/scope.hpp>

#include <braid/coro/bridge.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/with_scope.hpp>

#include <tests/support/test_loop.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>

using namespace braid;
using testing::test_loop;

namespace {

auto name_here() -> task<std::string> {
  co_await sleep_for(1us);
  const task_info* const found = co_await this_task();
  co_return found == nullptr ? std::string("none") : std::string(found->name);
}

auto name_in_a_scope() -> task<std::string> {
  auto inside = [](scope&) { return name_here(); };
  auto all = with_scope(inside);
  co_return co_await std::move(all);
}

}  // namespace

TEST_CASE("a task without a handle has no name, and one with a handle has its own") {
  test_loop here;
  auto body = [&]() -> task<std::string> {
    scope& around = co_await this_scope();
    auto outer = spawn(around, {.name = "outer"}, name_in_a_scope());
    auto inner = [&]() -> task<std::string> {
      scope& mine = co_await this_scope();
      auto nested = spawn(mine, {.name = "nested"}, name_here());
      std::string first = co_await std::move(nested);
      auto own = name_here();
      co_return first + " in " + co_await std::move(own);
    };
    auto second = spawn(around, {.name = "second"}, inner());
    auto nameless = name_here();
    std::string all = co_await std::move(nameless);
    all += ", " + co_await std::move(outer);
    all += ", " + co_await std::move(second);
    co_return all;
  };
  CHECK(here.run_through(body(), 20us).take() == "none, outer, nested in second");
}

TEST_CASE("numbers are different, and the task sees the number of its handle") {
  test_loop here;
  auto own_id = []() -> task<task_id> {
    const task_info* const found = co_await this_task();
    co_return found->id;
  };
  auto body = [&]() -> task<bool> {
    scope& around = co_await this_scope();
    auto one = spawn(around, own_id());
    auto other = spawn(around, own_id());
    const task_id first = one.id();
    const task_id second = other.id();
    const bool told = co_await std::move(one) == first && co_await std::move(other) == second;
    co_return told&& first != second&& first != task_id() && second != task_id();
  };
  CHECK(here.run(body()).take());
}

TEST_CASE("a name without a text is empty, and copies have the text of their original") {
  CHECK(task_name().empty());
  CHECK(task_name(std::string()).empty());
  CHECK(task_name() == "");
  task_name name(std::string("first"));
  task_name copy = name;
  CHECK_FALSE(copy.empty());
  CHECK(copy == "first");
  name = task_name(std::string("second"));
  CHECK(copy == "first");
  copy = name;
  CHECK(copy == "second");
  CHECK(std::string(name) == "second");
  CHECK(task_name(std::move(copy)) == "second");
}
