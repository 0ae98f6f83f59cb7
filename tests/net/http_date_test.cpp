// tests/net/http_date_test.cpp: dates as RFC 9110 shows them.
#include <braid/net/detail/http_date.hpp>

#include <doctest/doctest.h>

#include <chrono>

using namespace braid;

TEST_CASE("a date has its day, in two digits, and the time of Greenwich") {
  using namespace std::chrono;
  CHECK(braid::detail::http_date(sys_seconds(seconds(784'111'777))) == "Sun, 06 Nov 1994 08:49:37 GMT");
  CHECK(braid::detail::http_date(sys_seconds(seconds(0))) == "Thu, 01 Jan 1970 00:00:00 GMT");
  CHECK(braid::detail::http_date(sys_days(2024y / February / 29) + 23h + 59min + 59s) ==
        "Thu, 29 Feb 2024 23:59:59 GMT");
}
