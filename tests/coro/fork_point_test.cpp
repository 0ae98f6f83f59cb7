// tests/coro/fork_point_test.cpp: what a fork of tasks keeps of failures.
#include <braid/coro/detail/fork_point.hpp>

#include <doctest/doctest.h>

#include <exception>
#include <stdexcept>

using namespace braid;

TEST_CASE("of several failures at one fork the first counts, and it is thrown once") {
  struct open_fork : detail::fork_point {
    using fork_point::fail;
    using fork_point::has_failed;
    using fork_point::rethrow;
  } fork;
  CHECK_FALSE(fork.has_failed());
  CHECK_NOTHROW(fork.rethrow());
  fork.fail(std::make_exception_ptr(std::runtime_error("first")));
  fork.fail(std::make_exception_ptr(std::runtime_error("second")));
  CHECK(fork.has_failed());
  CHECK_THROWS_WITH_AS(fork.rethrow(), "first", std::runtime_error);
  CHECK_NOTHROW(fork.rethrow());
}
