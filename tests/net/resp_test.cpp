// tests/net/resp_test.cpp: values of the Redis protocol compared and copied.
#include <braid/net/resp.hpp>

#include <tests/net/resp_values.hpp>

#include <doctest/doctest.h>

#include <array>

using namespace braid;
using namespace braid::testing;

TEST_CASE("a value without anything is null") {
  CHECK(resp_value().is_null());
  CHECK_FALSE(resp_value().has_text());
  CHECK_FALSE(resp_value().has_items());
}

TEST_CASE("a verbatim text has a format and a text") {
  const resp_value value = resp_value::of_text(resp_type::verbatim, "mkd:*a*");
  CHECK(value.format() == "mkd");
  CHECK(value.text() == "*a*");
}

TEST_CASE("values are the same when type, bytes and elements are") {
  const std::array items{resp_value::of_integer(1), resp_value::of_text(resp_type::bulk_string, "a")};
  const std::array others{resp_value::of_integer(1), resp_value::of_text(resp_type::bulk_string, "b")};
  CHECK(resp_value::of_items(resp_type::array, items) == resp_value::of_items(resp_type::array, items));
  CHECK(resp_value::of_items(resp_type::array, items) != resp_value::of_items(resp_type::array, others));
  CHECK(resp_value::of_items(resp_type::array, items) != resp_value::of_items(resp_type::set, items));
  CHECK(resp_value::of_integer(0) != resp_value());
  CHECK(resp_value::of_boolean(true) != resp_value::of_boolean(false));
  CHECK(resp_value::of_real(0.0) != resp_value::of_real(-0.0));
  CHECK(resp_value::of_text(resp_type::bulk_string, "a") != resp_value::of_text(resp_type::simple_string, "a"));
}

TEST_CASE("a copy needs nothing of what it was copied from") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    arena kept;
    arena reference;
    const resp_value expected = resp_generator(seed, resp_version::three, reference).value();
    resp_value copy;
    {
      arena gone;
      copy = copied(resp_generator(seed, resp_version::three, gone).value(), kept);
    }
    REQUIRE(copy == expected);
  }
}
