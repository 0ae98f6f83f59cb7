// tests/rankd/op/vectors_test.cpp: the files of a project's endpoints, each opened once.
#include <rankd/op/vectors.hpp>

#include <tests/rankd/op/op_world.hpp>

#include <doctest/doctest.h>

using namespace rankd;
using namespace rankd::testing;

TEST_CASE("a file is opened once, and has the digest that its beginning says") {
  const endpoint_entry& items = *op_world().find_endpoint("ep_0004");
  vector_folder folder("tests/rankd/tables");
  const auto digest = folder.digest(items);
  REQUIRE(digest);
  const auto file = folder.find(items);
  REQUIRE(file);
  CHECK((*file)->digest() == *digest);
  CHECK(folder.find(items).value() == *file);
  CHECK(folder.digest(items) == *digest);
}

TEST_CASE("a file that is not there is said to be so, with its path") {
  const endpoint_entry& items = *op_world().find_endpoint("ep_0004");
  vector_folder folder("tests/rankd");
  const auto file = folder.find(items);
  REQUIRE_FALSE(file);
  CHECK(file.error().front().code == "vectors_missing");
  CHECK(file.error().front().source == "tests/rankd/vectors/items.rvec");
  CHECK_FALSE(folder.digest(items));
}
