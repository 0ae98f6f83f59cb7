// tests/rankd/op/usage_test.cpp: the first node over a bound is the same in whatever order nodes report.
#include <rankd/op/usage.hpp>

#include <tests/rankd/op/some_budgets.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include <doctest/doctest.h>

using rankd::plan_budget;
using rankd::usage;
using rankd::testing::of_bytes;
using rankd::testing::of_rows;

TEST_CASE("without bounds nothing is kept and nobody goes over one") {
  const usage none({}, 5);
  CHECK(!none.is_bounded());
  CHECK(!none.bounds_bytes());
  CHECK(!none.first_breach(5));
}

TEST_CASE("a bound is reached by all that it has, and broken by one more") {
  usage used(of_rows(10), 3);
  CHECK(used.is_bounded());
  CHECK(!used.bounds_bytes());
  CHECK(used.claim(0, {.rows = 4, .bytes = 1'000'000}));
  CHECK(used.claim(1, {.rows = 6}));
  CHECK(!used.first_breach(3));
  CHECK(!used.claim(2, {.rows = 1}));
  const auto broken = used.first_breach(3).value();
  CHECK(broken.position == 2);
  CHECK(broken.what == usage::kind::rows);
  CHECK(broken.made == 11);
  CHECK(broken.bound == 10);
  CHECK(!used.first_breach(2));
}

TEST_CASE("what a node says again counts once, and less than before is ignored") {
  usage used(of_bytes(10), 1);
  CHECK(used.bounds_bytes());
  CHECK(used.claim(0, {.bytes = 6}));
  CHECK(used.claim(0, {.bytes = 10}));
  CHECK(used.claim(0, {.bytes = 3}));
  CHECK(!used.first_breach(1));
  CHECK(!used.claim(0, {.bytes = 11}));
  CHECK(used.first_breach(1)->made == 11);
}

TEST_CASE("the first node over a bound is the same in every order of claims") {
  constexpr std::array<std::uint64_t, 5> rows{3, 4, 0, 5, 9};
  std::array<std::uint32_t, 5> order{0, 1, 2, 3, 4};
  std::size_t orders = 0;
  do {
    plan_budget both = of_rows(10);
    both.bytes = 1000;
    usage used(both, rows.size());
    for (const std::uint32_t node : order) {
      // A no is final, and never said to a node that stands before the first one.
      if (!used.claim(node, {.rows = rows[node], .bytes = 1})) CHECK(node >= 3);
    }
    const auto broken = used.first_breach(rows.size()).value();
    CHECK(broken.position == 3);
    CHECK(broken.made == 12);
    ++orders;
  } while (std::ranges::next_permutation(order).found);
  CHECK(orders == 120);
}

TEST_CASE("a node that comes last in the order may not claim what those before it have used") {
  usage used(of_rows(10), 3);
  CHECK(used.claim(2, {.rows = 10}));  // nothing is known of the others
  CHECK(used.claim(0, {.rows = 10}));
  CHECK(!used.claim(1, {.rows = 1}));
  CHECK(used.first_breach(3)->position == 1);
}

TEST_CASE("what a node has made that was stood in for counts no more, whatever it still makes") {
  usage used(of_rows(10), 3);
  used.mark_replaceable(0);
  CHECK(used.claim(0, {.rows = 8}));
  CHECK(used.claim(1, {.rows = 5}));  // it may turn out that this is all
  CHECK(used.first_breach(3)->position == 1);
  used.withdraw(0);
  CHECK(used.claim(0, {.rows = 9}));
  CHECK(!used.first_breach(3));
  CHECK(!used.claim(2, {.rows = 6}));
  const auto broken = used.first_breach(3).value();
  CHECK(broken.position == 2);
  CHECK(broken.made == 11);
}

TEST_CASE("a node that may be stood in for is refused by what it makes alone") {
  usage used(of_rows(10), 2);
  used.mark_replaceable(1);
  CHECK(used.claim(0, {.rows = 6}));
  CHECK(used.claim(1, {.rows = 10}));
  CHECK(!used.claim(1, {.rows = 11}));
  CHECK(used.first_breach(2)->made == 17);
}
