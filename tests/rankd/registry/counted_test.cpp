// tests/rankd/registry/counted_test.cpp: counts in messages of rankd.
#include <rankd/registry/counted.hpp>

#include <cstdint>

#include <doctest/doctest.h>

TEST_CASE("a count has its noun in the singular only if it is one") {
  CHECK(rankd::counted(0, "name") == "0 names");
  CHECK(rankd::counted(1, "name") == "1 name");
  CHECK(rankd::counted(2, "name") == "2 names");
  CHECK(rankd::counted(UINT64_MAX, "name") == "18446744073709551615 names");
  CHECK(rankd::counted(1, "entry", "entries") == "1 entry");
  CHECK(rankd::counted(0, "entry", "entries") == "0 entries");
}
