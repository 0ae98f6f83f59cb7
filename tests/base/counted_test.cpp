// tests/base/counted_test.cpp: counts with their nouns.
#include <braid/base/detail/counted.hpp>

#include <doctest/doctest.h>

using braid::detail::counted;

TEST_CASE("one thing is counted in the singular, and none in the plural") {
  CHECK(counted(0, "name") == "0 names");
  CHECK(counted(1, "name") == "1 name");
  CHECK(counted(2, "name") == "2 names");
}

TEST_CASE("a noun may have a plural of its own") {
  CHECK(counted(0, "class", "classes") == "0 classes");
  CHECK(counted(1, "class", "classes") == "1 class");
  CHECK(counted(2, "class", "classes") == "2 classes");
}
