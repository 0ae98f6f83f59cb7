// tests/rankd/store/read_hedge_test.cpp: how many reads may be asked a second time.
#include <rankd/store/read_hedge.hpp>

#include <doctest/doctest.h>

using namespace rankd;

TEST_CASE("one read of ten may be asked again, and ten are saved up at most") {
  hedge_budget budget;
  int taken = 0;
  while (budget.try_take()) ++taken;
  CHECK(taken == 10);
  for (int reads = 0; reads < 9; ++reads) budget.sent_a_read();
  CHECK(!budget.try_take());
  budget.sent_a_read();
  CHECK(budget.try_take());
  CHECK(!budget.try_take());
  for (int reads = 0; reads < 1000; ++reads) budget.sent_a_read();
  taken = 0;
  while (budget.try_take()) ++taken;
  CHECK(taken == 10);
}
