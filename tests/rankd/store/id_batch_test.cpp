// tests/rankd/store/id_batch_test.cpp: which elements of lists are ids.
#include <rankd/store/id_batch.hpp>

#include <limits>
#include <string_view>

#include <doctest/doctest.h>

TEST_CASE("decimal integers within 64 bits are ids") {
  using rankd::parse_id;
  CHECK(parse_id("0") == 0);
  CHECK(parse_id("-0") == 0);
  CHECK(parse_id("007") == 7);
  CHECK(parse_id("-12") == -12);
  CHECK(parse_id("9223372036854775807") == std::numeric_limits<std::int64_t>::max());
  CHECK(parse_id("-9223372036854775808") == std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("an element of a store has one spelling") {
  using rankd::parse_element;
  for (const std::string_view text : {"0", "7", "-7", "10", "-10", "9223372036854775807", "-9223372036854775808"})
    CHECK(parse_element(text) == rankd::parse_id(text));
  for (const std::string_view text : {"", "-", "00", "07", "-0", "-07", "0x7", "7 ", "9223372036854775808"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_element(text).has_value());
  }
}

TEST_CASE("anything else is not") {
  for (const std::string_view text :
       {std::string_view(""), std::string_view("-"), std::string_view("+5"), std::string_view(" 5"),
        std::string_view("5 "), std::string_view("5x"), std::string_view("0x5"), std::string_view("5.0"),
        std::string_view("1e3"), std::string_view("--5"), std::string_view("9223372036854775808"),
        std::string_view("-9223372036854775809"), std::string_view("99999999999999999999999"),
        std::string_view("5\0", 2), std::string_view("\xd9\xa5")}) {
    CAPTURE(text);
    CHECK_FALSE(rankd::parse_id(text).has_value());
  }
}
