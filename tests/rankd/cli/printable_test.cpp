// tests/rankd/cli/printable_test.cpp: nothing that is printed steers a terminal or is more than a line.
#include <rankd/cli/output/printable.hpp>

#include <rankd/registry/names.hpp>

#include <braid/base/random.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include <doctest/doctest.h>

using namespace rankd;
using namespace std::string_literals;

TEST_CASE("text of letters of any kind stays as it is") {
  for (const char* text : {"", "plain text", "räuchert €", "你好", "😀", "a\\b", "`quoted`"})
    CHECK(printable(text) == text);
}

TEST_CASE("control characters, bytes that are not UTF-8 and marks of direction are escaped") {
  CHECK(printable("a\nb\tc\rd") == "a\\nb\\tc\\rd");
  CHECK(printable("\x1b[31m\0\x7f"s) == "\\x1b[31m\\x00\\x7f");
  CHECK(printable("\xc2\x9b") == "\\u{9b}");  // a control sequence in one character
  CHECK(printable("\xff\xc3(") == "\\xff\\xc3(");
  CHECK(printable("a\xe2\x80\xae"
                  "b\xe2\x81\xa6\xe2\x80\xa8\xef\xbb\xbf") == "a\\u{202e}b\\u{2066}\\u{2028}\\u{feff}");
}

TEST_CASE("whatever the bytes, what is printed is UTF-8 without control characters") {
  braid::random_source random(21);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (std::size_t i = random.below(12); i > 0; --i)
      text += std::bit_cast<char>(static_cast<std::uint8_t>(random.below(256)));
    const std::string shown = printable(text);
    CHECK(is_utf8(shown));
    CHECK(std::ranges::none_of(shown, [](unsigned char c) { return c < 0x20 || c == 0x7F; }));
    CHECK(printable(shown) == shown);
  }
}

TEST_CASE("each part of a diagnostic is printable, and each diagnostic stays one line") {
  const braid::diagnostics problems(braid::diagnostic{.code = "c",
                                                      .pointer = "/a\n",
                                                      .message = "m\x1b[2J",
                                                      .hint = "h\r",
                                                      .node = "n\x07",
                                                      .source = "dir\n/f\xff.json"});
  CHECK(printable(problems) == "dir\\n/f\\xff.json#/a\\n: node `n\\x07`: m\\x1b[2J [c]; h\\r\n");
}

TEST_CASE("width counts columns of a terminal") {
  CHECK(display_width("") == 0);
  CHECK(display_width("abc") == 3);
  CHECK(display_width("räuchert") == 8);
  CHECK(display_width("你好") == 4);
  CHECK(display_width("한") == 2);
  CHECK(display_width("😀!") == 3);
  CHECK(display_width("e\xcc\x81") == 1);  // an accent of its own
}
