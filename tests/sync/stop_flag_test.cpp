// tests/sync/stop_flag_test.cpp: the first request wins and keeps its reason.
#include <braid/sync/stop_flag.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <thread>
#include <vector>

using braid::errc;
using braid::stop_flag;

TEST_CASE("a new flag asks nobody to stop") {
  const stop_flag flag;
  CHECK_FALSE(flag.requested());
}

TEST_CASE("the first reason stays, and only the first request is told that it set the flag") {
  stop_flag flag;
  CHECK(flag.request(errc::deadline_exceeded));
  CHECK(flag.requested());
  CHECK_FALSE(flag.request(errc::stopped));
  CHECK_FALSE(flag.request(errc::deadline_exceeded));
  CHECK((flag.reason() == errc::deadline_exceeded));
}

TEST_CASE("of several threads that request at once exactly one succeeds, and its reason stays") {
  for (int round = 0; round < 200; ++round) {
    stop_flag flag;
    constexpr std::array reasons{errc::stopped, errc::deadline_exceeded};
    std::array<bool, 2> set{};
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 2; ++i) threads.emplace_back([&, i] { set[i] = flag.request(reasons[i]); });
    for (std::thread& thread : threads) thread.join();
    REQUIRE(set[0] != set[1]);
    REQUIRE((flag.reason() == reasons[set[0] ? 0 : 1]));
  }
}
