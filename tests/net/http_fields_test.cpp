// tests/net/http_fields_test.cpp: fields are found by name, whatever its case.
#include <braid/net/http_fields.hpp>

#include <doctest/doctest.h>

#include <array>
#include <string>

using namespace braid;

namespace {

constexpr const char* text = "Accept: a X: b accept: c";
constexpr std::array<detail::http_field_place, 3> places{{{0, 6, 8, 1}, {10, 1, 13, 1}, {15, 6, 23, 1}}};

}  // namespace

TEST_CASE("the first field of a name is found, and all are counted") {
  const http_fields fields(text, places);
  CHECK(fields.size() == 3);
  CHECK(fields.find("ACCEPT") == "a");
  CHECK(fields.find("x") == "b");
  CHECK_FALSE(fields.find("accep").has_value());
  CHECK_FALSE(fields.find("").has_value());
  CHECK(fields.count("Accept") == 2);
  CHECK(fields.count("Y") == 0);
}

TEST_CASE("fields come in the order in which they stand") {
  std::string all;
  for (const http_field field : http_fields(text, places)) ((all += field.name) += '=') += field.value;
  CHECK(all == "Accept=aX=baccept=c");
  CHECK(http_fields().empty());
}

TEST_CASE("names differ by letters, and not by their case") {
  CHECK(same_name("Content-Type", "content-TYPE"));
  CHECK_FALSE(same_name("Content-Type", "content-typ"));
  CHECK_FALSE(same_name("a[", "a{"));
}
