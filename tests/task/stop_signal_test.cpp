// tests/task/stop_signal_test.cpp: what counts as a stop signal.
#include <braid/sync/stop_flag.hpp>

#include <doctest/doctest.h>

#include <stop_token>

TEST_CASE("tokens may be passed in any way, flags must stay where they are") {
  CHECK(braid::stop_signal<std::stop_token>);
  CHECK(braid::stop_signal<const std::stop_token&>);
  CHECK(braid::stop_signal<braid::stop_flag&>);
  CHECK(braid::stop_signal<const braid::stop_flag&>);
  CHECK_FALSE(braid::stop_signal<braid::stop_flag>);
  CHECK_FALSE(braid::stop_signal<std::stop_source>);
}
