// tests/support/hangs.cpp: a test program one of whose cases hangs, which its watchdog must end by name.
#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include <unistd.h>

TEST_CASE("one that ends") { CHECK(::getpid() != 0); }

TEST_CASE("one that hangs") {
  while (::getpid() != 0) std::this_thread::sleep_for(std::chrono::hours(1));
}
