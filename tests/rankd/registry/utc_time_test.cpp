// tests/rankd/registry/utc_time_test.cpp: times that are parsed, and texts that are no times.
#include <rankd/registry/utc_time.hpp>

#include <chrono>
#include <string_view>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::chrono_literals;

TEST_CASE("a time is parsed with and without a fraction") {
  CHECK(parse_utc_time("1970-01-01T00:00:01Z")->time_since_epoch() == 1s);
  CHECK(parse_utc_time("1970-01-02T03:04:05.25Z")->time_since_epoch() == 24h + 3h + 4min + 5250ms);
  CHECK(parse_utc_time("1970-01-01T00:00:00.000007Z")->time_since_epoch() == 7us);
  CHECK(parse_utc_time("2024-02-29T23:59:59.999999Z")->time_since_epoch() == 1709251199s + 999999us);
}

TEST_CASE("a text of another form and a date that does not exist are no times") {
  for (const std::string_view text :
       {"", "Z", "2026-11-24", "2026-11-24T00:00:00", "2026-11-24 00:00:00Z", "2026-11-24T00:00:00.Z",
        "2026-11-24T00:00:00.1234567Z", "2026-11-24T00:00:00.-1Z", "2026-11-24T00:00:00,5Z", "2026-11-24T00:00:00+0Z",
        "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-11-24T24:00:00Z", "2026-11-24T00:60:00Z",
        "2026-11-24T00:00:60Z", "-026-11-24T00:00:00Z", "2026-11-24T00:00:0xZ"})
    CHECK_MESSAGE(!parse_utc_time(text), text);
}
