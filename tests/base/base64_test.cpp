// tests/base/base64_test.cpp: base64 in both alphabets, and texts that are none.
#include <braid/base/detail/base64.hpp>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

using namespace braid::detail;

namespace {

auto written(std::string_view bytes, base64_alphabet alphabet = base64_alphabet::standard) -> std::string {
  std::string out = "=";
  append_base64(out, bytes, alphabet);
  return out.substr(1);
}

auto read(std::string_view text) -> std::optional<std::string> {
  std::array<char, 64> room{};
  const auto bytes = from_base64(text, std::span(room).first(text.size() * 3 / 4));
  return bytes ? std::optional<std::string>(*bytes) : std::nullopt;
}

}  // namespace

TEST_CASE("bytes are written as RFC 4648 does, and are read with and without padding") {
  struct row {
    std::string_view bytes;
    std::string_view text;
  };
  for (const auto& [bytes, text] : {row{"", ""}, row{"f", "Zg=="}, row{"fo", "Zm8="}, row{"foo", "Zm9v"},
                                    row{"foob", "Zm9vYg=="}, row{"fooba", "Zm9vYmE="}, row{"foobar", "Zm9vYmFy"}}) {
    CHECK(written(bytes) == text);
    CHECK(read(text) == bytes);
    CHECK(read(text.substr(0, text.find('='))) == bytes);
  }
}

TEST_CASE("the alphabets differ in two characters, and both are read") {
  constexpr std::string_view bytes = "\xfb\xff\xbf";
  CHECK(written(bytes) == "+/+/");
  CHECK(written(bytes, base64_alphabet::url) == "-_-_");
  CHECK(read("+/+/") == bytes);
  CHECK(read("-_-_") == bytes);
  CHECK(written(std::string_view("\0\0", 2)) == "AAA=");
}

TEST_CASE("a text that is not base64 is refused") {
  for (const std::string_view text : {"Z", "Zm9vY", "Zm9*", "Zm 9", "=", "====", "Zg=", "Zg=A", "Zm9=Zm9v"})
    CHECK_FALSE(read(text).has_value());
}

TEST_CASE("bits that no byte has must be zero, so that no other text has the same bytes") {
  CHECK_FALSE(read("Zh==").has_value());
  CHECK_FALSE(read("Zm9").has_value());
  CHECK(read("Zm8").has_value());
}
