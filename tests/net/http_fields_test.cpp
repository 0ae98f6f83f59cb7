// tests/net/http_fields_test.cpp: fields are found by name, whatever its case.
#include <braid/net/http_message.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <string>
#include <utility>

using namespace braid;

namespace {

constexpr const char* text = "Accept: a X: b accept: c";
constexpr std::array<detail::http_field_span, 3> places{{{0, 6, 8, 1}, {10, 1, 13, 1}, {15, 6, 23, 1}}};

/// How often a control character at `place` of `line`, or another one right behind it, is not found where it stands.
auto wrong_finds(std::string line, std::size_t place) -> std::size_t {
  std::size_t wrong = 0;
  const auto found = [&](std::size_t from) { return detail::find_control(line.data(), from, line.size()); };
  for (unsigned c = 0; c < 256; ++c) {
    const bool is_control = (c < ' ' && c != '\t') || c == 0x7f;
    line[place] = static_cast<char>(c);
    wrong += found(0) != (is_control ? place : line.size());
    wrong += found(place) != (is_control ? place : line.size());
    if (place + 1 == line.size()) continue;
    const char behind = std::exchange(line[place + 1], '\r');
    wrong += found(0) != (is_control ? place : place + 1);
    line[place + 1] = behind;
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
  for (const http_fields::field field : http_fields(text, places)) ((all += field.name) += '=') += field.value;
  CHECK(all == "Accept=aX=baccept=c");
  CHECK(http_fields().empty());
}

TEST_CASE("names differ by letters, and not by their case") {
  CHECK(braid::detail::same_name("Content-Type", "content-TYPE"));
  CHECK_FALSE(braid::detail::same_name("Content-Type", "content-typ"));
  CHECK_FALSE(braid::detail::same_name("a[", "a{"));
}

TEST_CASE("a character that no value may hold is found at its own place, whatever stands around it") {
  for (const char filler : {'a', ' ', '\t', '~', '\x80', '\xff'})
    for (std::size_t size = 1; size < 20; ++size)
      for (std::size_t place = 0; place < size; ++place) CHECK(wrong_finds(std::string(size, filler), place) == 0);
}
