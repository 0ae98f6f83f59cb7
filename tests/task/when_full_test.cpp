// tests/task/when_full_test.cpp: what a place without room may be told to do, and what a slab may not.
#include <braid/task/executor.hpp>

#include <braid/task/job_slab.hpp>

#include <tests/support/child.hpp>

#include <doctest/doctest.h>

#include <csignal>

using namespace braid;

TEST_CASE("a slab that is to wait for a slot ends the program with a sentence") {
  const auto end = testing::run_in_child([] { const job_slab one({.threads = 0, .full = when_full::wait}); });
  CHECK(end.signal == SIGABRT);
  CHECK(end.errors.find("`full` of a job slab must be refuse or run_inline") != std::string::npos);
}
