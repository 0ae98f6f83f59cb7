// tests/task/batch_test.cpp: every element of a range becomes one job, in its order.
#include <braid/task/spawn.hpp>

#include <doctest/doctest.h>

#include <tests/support/failures.hpp>
#include <tests/support/manual_executor.hpp>

#include <functional>
#include <list>
#include <memory>
#include <ostream>
#include <ranges>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

using braid::errc;
using braid::post_all;
using braid::spawn_all;
using braid::testing::failure_code;
using braid::testing::manual_executor;

namespace {

/// Adds its number to a list when it is called. Cannot be copied.
struct note {
  note(std::vector<int>& to, int n) : list(&to), number(std::make_unique<int>(n)) {}
  void operator()() const { list->push_back(*number); }
  std::vector<int>* list;
  std::unique_ptr<int> number;
};

}  // namespace

TEST_CASE("every callable of a range is posted, moved out of an rvalue and copied from an lvalue") {
  manual_executor where;
  std::vector<int> noted;
  std::vector<note> notes;
  notes.emplace_back(noted, 1);
  notes.emplace_back(noted, 2);
  CHECK(post_all(where, std::move(notes)));
  const std::list<std::function<void()>> more(2, [&noted] { noted.push_back(3); });
  CHECK(post_all(where, more));
  CHECK(where.pending() == 4);
  where.run_all();
  CHECK(noted == std::vector{1, 2, 3, 3});
  CHECK(more.front());
  CHECK(post_all(where, std::span<const std::function<void()>>()));
  CHECK(where.pending() == 0);
}

TEST_CASE("the elements of a view are copied, even where the view is an rvalue") {
  manual_executor where;
  int calls = 0;
  std::vector<std::function<void()>> callables(3, [&calls] { ++calls; });
  CHECK(post_all(where, std::span(callables)));
  where.run_all();
  for (const auto& one : callables) one();
  CHECK(calls == 6);
}

TEST_CASE("a closed executor refuses a range") {
  manual_executor where;
  where.close();
  std::vector<int> noted;
  std::vector<note> notes;
  notes.emplace_back(noted, 1);
  CHECK(post_all(where, std::move(notes)).error() == errc::closed);
  CHECK(noted.empty());
}

TEST_CASE("spawn_all gives a future for each callable") {
  manual_executor where;
  std::vector<std::function<int()>> callables;
  for (int i = 0; i < 4; ++i) callables.emplace_back([i] { return i * i; });
  auto squares = spawn_all(where, std::move(callables));
  where.run_all();
  REQUIRE(squares.size() == 4);
  for (int i = 0; i < 4; ++i) CHECK(squares[static_cast<std::size_t>(i)].get() == i * i);
}

TEST_CASE("spawn_all calls a function with each element") {
  manual_executor where;
  auto halves = spawn_all(where, std::views::iota(0, 4), [](int n) {
    if (n % 2 != 0) throw std::runtime_error("odd");
    return n / 2;
  });
  where.run_all();
  CHECK(halves[0].get() == 0);
  CHECK_THROWS_WITH(halves[1].get(), "odd");
  CHECK(halves[2].get() == 1);
  CHECK_THROWS_WITH(halves[3].get(), "odd");
}

TEST_CASE("elements of an rvalue are moved into the jobs, those of an lvalue copied") {
  manual_executor where;
  std::vector<std::unique_ptr<int>> pointers;
  pointers.push_back(std::make_unique<int>(5));
  auto moved = spawn_all(where, std::move(pointers), [](const std::unique_ptr<int>& p) { return *p; });
  std::vector<int> numbers{1, 2};
  auto copied = spawn_all(where, numbers, [](int n) { return n; });
  numbers = {7, 7};
  where.run_all();
  CHECK(moved[0].get() == 5);
  CHECK(copied[0].get() + copied[1].get() == 3);
}

TEST_CASE("futures of a batch that is refused fail") {
  manual_executor where;
  where.close();
  auto refused = spawn_all(where, std::vector{1, 2}, [](int) {});
  REQUIRE(refused.size() == 2);
  CHECK(failure_code(refused[0]) == errc::closed);
  CHECK(failure_code(refused[1]) == errc::closed);
}
