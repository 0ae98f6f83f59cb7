// tests/task/executor_test.cpp: a posted callable runs once where it was sent, or is destroyed unused.
#include <braid/task/executor.hpp>

#include <doctest/doctest.h>

#include <tests/support/deaths.hpp>
#include <tests/support/manual_executor.hpp>

#include <memory>
#include <ostream>
#include <stdexcept>
#include <utility>
#include <vector>

using braid::errc;
using braid::testing::deaths;
using braid::testing::manual_executor;
using braid::testing::mortal;

TEST_CASE("a posted callable runs when the executor runs it, and its captures die with it") {
  manual_executor where;
  deaths ended;
  int calls = 0;
  CHECK(braid::post(where, [&calls, guard = mortal(ended)] { ++calls; }));
  CHECK(where.pending() == 1);
  CHECK(calls == 0);
  CHECK(ended.count == 0);
  where.run();
  CHECK(calls == 1);
  CHECK(ended.count == 1);
}

TEST_CASE("a closed executor refuses, and the callable is destroyed without being called") {
  manual_executor where;
  where.close();
  deaths ended;
  bool called = false;
  const auto posted = braid::post(where, [&called, guard = mortal(ended)] { called = true; });
  REQUIRE_FALSE(posted.has_value());
  CHECK(posted.error() == errc::closed);
  CHECK_FALSE(called);
  CHECK(ended.count == 1);
}

TEST_CASE("a job that the executor drops destroys its captures without a call") {
  manual_executor where;
  deaths ended;
  bool called = false;
  CHECK(braid::post(where, [&called, guard = mortal(ended)] { called = true; }));
  where.drop();
  CHECK_FALSE(called);
  CHECK(ended.count == 1);
}

TEST_CASE("move-only callables, function pointers and lvalues can be posted") {
  static int calls = 0;
  calls = 0;
  manual_executor where;
  CHECK(braid::post(where, [number = std::make_unique<int>(2)] { calls += *number; }));
  CHECK(braid::post(where, +[] { ++calls; }));
  const auto lvalue = [] { calls += 10; };
  CHECK(braid::post(where, lvalue));
  CHECK(braid::post(where, lvalue));
  where.run_all();
  CHECK(calls == 23);
}

TEST_CASE("what a callable throws reaches who runs the job, after its captures are gone") {
  manual_executor where;
  deaths ended;
  CHECK(braid::post(where, [guard = mortal(ended)] { throw std::runtime_error("no"); }));
  CHECK_THROWS_AS(where.run(), std::runtime_error);
  CHECK(ended.count == 1);
}

TEST_CASE("an executor can be owned and destroyed through its base") {
  deaths ended;
  struct owned final : braid::executor {
    explicit owned(deaths& in) : guard(in) {}
    [[nodiscard]] auto try_post(braid::job& /*work*/) noexcept -> bool override { return false; }
    [[nodiscard]] auto is_current() const noexcept -> bool override { return true; }
    mortal guard;
  };
  std::unique_ptr<braid::executor> where = std::make_unique<owned>(ended);
  CHECK(where->is_current());
  where.reset();
  CHECK(ended.count == 1);
}

TEST_CASE("an executor without workers of its own has nothing to run on the caller") {
  manual_executor where;
  bool ran = false;
  CHECK(braid::post(where, [&ran] { ran = true; }));
  CHECK_FALSE(where.run_one());
  CHECK_FALSE(ran);
  where.run();
}
