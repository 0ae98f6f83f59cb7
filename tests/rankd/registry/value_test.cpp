// tests/rankd/registry/value_test.cpp: the spelling of types.
#include <rankd/registry/value.hpp>

#include <doctest/doctest.h>

TEST_CASE("every type has the name that registries use") {
  using rankd::value_type;
  CHECK(rankd::to_string(value_type::integer) == "int");
  CHECK(rankd::to_string(value_type::floating) == "float");
  CHECK(rankd::to_string(value_type::string) == "string");
  CHECK(rankd::to_string(value_type::boolean) == "bool");
  CHECK(rankd::to_string(value_type::vector) == "vector");
}

TEST_CASE("only the empty scalar is null") {
  CHECK(rankd::is_null(rankd::scalar()));
  CHECK_FALSE(rankd::is_null(rankd::scalar(std::int64_t{0})));
  CHECK_FALSE(rankd::is_null(rankd::scalar(false)));
}
