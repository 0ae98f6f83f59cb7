// tests/net/http_head_test.cpp: what heads and limits are when nothing is said.
#include <braid/net/http_message.hpp>

#include <doctest/doctest.h>

using namespace braid;

TEST_CASE("limits are there without being asked for, and a target fits a head") {
  const http_limits limits;
  CHECK(limits.head_bytes == 16 * 1024);
  CHECK(limits.target_bytes < limits.head_bytes);
  CHECK(limits.fields == 100);
  CHECK(limits.body_bytes > 0);
}

TEST_CASE("framings are the same where kind and length are") {
  using kind = http_framing::kind;
  CHECK(http_framing{} == http_framing{kind::none, 0});
  CHECK_FALSE(http_framing{kind::length, 1} == http_framing{kind::length, 2});
  CHECK_FALSE(http_framing{kind::chunked, 0} == http_framing{});
}
