// tests/rankd/rows/column_test.cpp: typed views of values.
#include <rankd/rows/column.hpp>

#include <doctest/doctest.h>

#include <array>

using namespace rankd;

TEST_CASE("a column is of one type only and knows its length") {
  const std::array<double, 3> floats{1, 2, 3};
  const std::array<std::int64_t, 2> integers{4, 5};
  const std::array<bool, 1> booleans{true};
  const column of_floats{.values = std::span<const double>(floats), .validity = {}};
  const column of_integers{.values = std::span<const std::int64_t>(integers), .validity = {}};
  const column of_booleans{.values = std::span<const bool>(booleans), .validity = {}};
  CHECK(of_floats.size() == 3);
  CHECK(of_integers.size() == 2);
  CHECK(of_booleans.size() == 1);
  CHECK(of_floats.integers() == nullptr);
  REQUIRE(of_integers.integers() != nullptr);
  CHECK((*of_integers.integers())[1] == 5);
  CHECK(of_integers.floats() == nullptr);
  CHECK(of_booleans.strings() == nullptr);
  CHECK(column().size() == 0);
}

TEST_CASE("strings are read through their dictionary") {
  const std::array<std::string_view, 2> entries{"US", "CA"};
  const dictionary words(entries);
  const std::array<std::uint32_t, 3> codes{1, 0, 1};
  const column text{.values = string_values{codes, &words}, .validity = {}};
  CHECK(text.size() == 3);
  CHECK((*text.strings())[0] == "CA");
  CHECK((*text.strings())[1] == "US");
}

TEST_CASE("a clear bit is a null") {
  const std::array<double, 2> floats{1, 2};
  const std::uint64_t word = 2;
  const column values{.values = std::span<const double>(floats), .validity = bitmap(&word)};
  CHECK(values.is_null(0));
  CHECK_FALSE(values.is_null(1));
  CHECK_FALSE(column{.values = std::span<const double>(floats), .validity = {}}.is_null(0));
}
