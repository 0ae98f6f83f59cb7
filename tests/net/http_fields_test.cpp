// tests/net/http_fields_test.cpp: fields are found by name, whatever its case.
#include <braid/net/http_fields.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

using namespace braid;

namespace {

constexpr const char* text = "Accept: a X: b accept: c";
constexpr std::array<detail::http_field_place, 3> places{{{0, 6, 8, 1}, {10, 1, 13, 1}, {15, 6, 23, 1}}};

/// How often the first control is not found, for each character at `place`, with and without another one behind it.
auto wrong_places(std::string line, std::size_t place) -> std::size_t {
  const std::size_t size = line.size();
  const char filler = line[place];
  std::size_t wrong = 0;
  for (unsigned c = 0; c < 256; ++c) {
    line[place] = static_cast<char>(c);
    const bool is_control = (c < ' ' && c != '\t') || c == 0x7f;
    const std::size_t first = is_control ? place : size;
    wrong += detail::find_control(line.data(), 0, size) != first;
    wrong += detail::find_control(line.data(), place, size) != first;
    if (place + 1 == size) continue;
    line[place + 1] = '\r';
    wrong += detail::find_control(line.data(), 0, size) != std::min(first, place + 1);
    line[place + 1] = filler;
  }
  return wrong;
}

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

TEST_CASE("a character that no value may hold is found at its own place, whatever stands around it") {
  std::size_t wrong = 0;
  for (const char filler : {'a', ' ', '\t', '~', '\x80', '\xff'})
    for (std::size_t size = 1; size < 20; ++size)
      for (std::size_t place = 0; place < size; ++place) wrong += wrong_places(std::string(size, filler), place);
  CHECK(wrong == 0);
}
