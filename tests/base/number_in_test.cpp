// tests/base/number_in_test.cpp: numbers and durations are parsed from whole texts only.
#include <braid/base/detail/number_in.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

#include <doctest/doctest.h>

using namespace std::chrono_literals;

using braid::detail::duration_in;
using braid::detail::number_in;

TEST_CASE("a number fills its text and fits into its type") {
  CHECK(number_in<std::uint16_t>("0") == 0);
  CHECK(number_in<std::uint16_t>("65535") == 65535);
  CHECK(number_in<std::int64_t>("-9223372036854775808") == INT64_MIN);
  for (const std::string_view wrong : {"", " 1", "1 ", "+1", "-1", "1.0", "65536", "0x1", "a"}) {
    CAPTURE(wrong);
    CHECK(number_in<std::uint16_t>(wrong) == std::nullopt);
  }
}

TEST_CASE("a double is read to its last digit") {
  CHECK(number_in<double>("0.1") == 0.1);
  CHECK(number_in<double>("-1e3") == -1000);
  CHECK(number_in<double>("5e-324") == 5e-324);
  CHECK(std::isinf(number_in<double>("inf").value()));
  CHECK(std::isnan(number_in<double>("nan").value()));
  for (const std::string_view wrong : {"", " 1", "1 ", "+1", "1e999", "1e-999", "0x1p3", "1,5"}) {
    CAPTURE(wrong);
    CHECK(number_in<double>(wrong) == std::nullopt);
  }
}

TEST_CASE("a duration is a positive number of milliseconds or seconds") {
  CHECK(duration_in("500ms") == 500ms);
  CHECK(duration_in("2s") == 2s);
  CHECK(duration_in("4294967295s") == 4294967295s);
  for (const std::string_view wrong :
       {"", "0ms", "-1s", "+1s", "500", "s", "ms", "2 s", "2ss", "2sm", "1h", "4294967296s"}) {
    CAPTURE(wrong);
    CHECK(duration_in(wrong) == std::nullopt);
  }
}
