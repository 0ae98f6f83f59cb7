// tests/rankd/registry/json_text_test.cpp: strings of any bytes and numbers of any size become valid JSON.
#include <rankd/registry/json_text.hpp>

#include <braid/base/random.hpp>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace rankd;
using namespace std::string_literals;

namespace {

/// As the standard library writes it, but with a sign that is no sign of an integer.
auto shortest(double value) -> std::string {
  if (value == 0 && std::signbit(value)) return "-0.0";
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof(buffer), value).ptr};
}

auto as_json(std::string_view text) -> std::string {
  std::string out;
  append_json_string(out, text);
  return out;
}

auto bytes_as_json(std::string_view bytes) -> std::string {
  std::string out;
  append_json_bytes(out, bytes);
  return out;
}

template <typename T>
auto printed(T value) -> std::string {
  std::string out;
  append_json_number(out, value);
  return out;
}

}  // namespace

TEST_CASE("what JSON reserves is escaped, everything else of UTF-8 stays") {
  CHECK(as_json("") == R"("")");
  CHECK(as_json(R"(a "b" \c/)") == R"("a \"b\" \\c/")");
  CHECK(as_json("\n\r\t\b\f") == R"("\n\r\t\u0008\u000c")");
  CHECK(as_json("\0\x01\x1f\x7f"s) == R"("\u0000\u0001\u001f\u007f")");
  CHECK(as_json("räuchert € 𝄞") == "\"räuchert € 𝄞\"");
  CHECK(as_json("\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf") ==
        "\"\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf\"");
}

TEST_CASE("every byte that is not UTF-8 becomes the character of its number") {
  const std::vector<std::pair<std::string, std::string>> table{
      {"a\xffz", R"("a\u00ffz")"},
      {"\x80", R"("\u0080")"},
      {"\xc3", R"("\u00c3")"},
      {"\xc3(", R"("\u00c3(")"},
      {"\xc0\xaf", R"("\u00c0\u00af")"},                      // overlong
      {"\xe0\x80\xaf", R"("\u00e0\u0080\u00af")"},            // overlong
      {"\xf0\x80\x80\xaf", R"("\u00f0\u0080\u0080\u00af")"},  // overlong
      {"\xed\xa0\x80", R"("\u00ed\u00a0\u0080")"},            // a surrogate
      {"\xf4\x90\x80\x80", R"("\u00f4\u0090\u0080\u0080")"},  // past U+10FFFF
      {"\xf5", R"("\u00f5")"},
      {"\xe2\x82", R"("\u00e2\u0082")"},
      {"\xe2\x82\xe2\x82\xac", "\"\\u00e2\\u0082€\""},
  };
  for (const auto& [text, expected] : table) {
    CAPTURE(expected);
    CHECK(as_json(text) == expected);
  }
}

TEST_CASE("random bytes always become valid JSON, and UTF-8 comes back as it was") {
  braid::random_source random(11);
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (std::size_t i = random.below(12); i > 0; --i)
      text += std::bit_cast<char>(static_cast<std::uint8_t>(random.below(256)));
    const nlohmann::json read = nlohmann::json::parse(as_json(text));
    CHECK(read.is_string());
    const std::string ascii(text.size(), 'x');
    CHECK(nlohmann::json::parse(as_json(ascii)).get<std::string>() == ascii);
  }
}

TEST_CASE("whatever stands beside plain characters, each comes out once") {
  for (const std::string special : {"\"", "\\", "\n", "\x01", "\x7f", "é", "\xff"}) {
    CAPTURE(special);
    const std::string one = as_json(special);
    const std::string inside = one.substr(1, one.size() - 2);
    CHECK(as_json(special + "ab") == '"' + inside + "ab\"");
    CHECK(as_json("ab" + special) == "\"ab" + inside + '"');
    CHECK(as_json("a" + special + special + "~ b") == "\"a" + inside + inside + "~ b\"");
  }
}

TEST_CASE("plain text of any length comes behind what is there, and nothing behind it") {
  for (std::size_t before = 0; before < 40; ++before) {
    for (std::size_t length = 0; length < 70; ++length) {
      const std::string text(length, 'x');
      std::string out(before, '.');
      append_json_string(out, text);
      append_json_bytes(out, text);
      const std::string quoted = '"' + text + '"';
      if (out != std::string(before, '.') + quoted + quoted) CHECK(out == quoted);
    }
  }
}

TEST_CASE("each character that is not plain is found wherever it stands in a text") {
  for (const char each : {'"', '\\', '\n', '\x1f', '\x7f'}) {
    for (std::size_t length = 1; length < 30; ++length) {
      for (std::size_t at = 0; at < length; ++at) {
        std::string text(length, '~');
        text[at] = each;
        const std::string one = as_json(std::string(1, each));
        const std::string wanted =
            '"' + std::string(at, '~') + one.substr(1, one.size() - 2) + std::string(length - at - 1, '~') + '"';
        if (as_json(text) != wanted) CHECK(as_json(text) == wanted);
      }
    }
  }
}

TEST_CASE("numbers of few digits are written as all others are, and so are those next to them") {
  braid::random_source random(13);
  const auto check = [](double value) {
    const std::string text = printed(value);
    if (text != shortest(value)) CHECK(text == shortest(value));
  };
  const auto check_around = [&check](double value) {
    for (const double each : {value, std::nextafter(value, -1e19), std::nextafter(value, 1e19)}) {
      check(each);
      check(-each);
    }
  };
  for (int thousandths = 0; thousandths <= 20'000; ++thousandths) check_around(thousandths / 1000.0);
  for (int round = 0; round < 20'000; ++round) check_around(static_cast<double>(random.below(110'000'000)) / 1000);
  for (int round = 0; round < 20'000; ++round) check_around(static_cast<double>(random.below(1'100'000'000)) / 10'000);
  for (int round = 0; round < 20'000; ++round)
    check_around(static_cast<double>(random.below(1'100'000'000'000)) / 1000);
  for (const double edge : {99'999.0, 99'999.999, 99'999.9995, 100'000.0, 100'000.5, 1e5 + 0.001, 1e15, 5e-4, 1e6,
                            1.2e6, 123'456.0, 10'000'000.5, 999'999'999.0, 999'999'999.999, 1e9, 1e9 + 0.5})
    check_around(edge);
}

TEST_CASE("numbers are the shortest that read back as the same") {
  CHECK(printed(0.1) == "0.1");
  CHECK(printed(1.0) == "1");
  CHECK(printed(-0.0) == "-0.0");
  CHECK(printed(123456789012.0) == "123456789012");
  CHECK(printed(std::nextafter(0x1p63, 0.0)) == "9223372036854774784");
  CHECK(printed(0x1p63) == "9.223372036854776e+18");
  CHECK(printed(-0x1p63) == "-9.223372036854776e+18");
  CHECK(printed(2.9514790517935283e+20) == "2.9514790517935283e+20");
  CHECK(printed(3 * 0.2) == "0.6000000000000001");
  CHECK(printed(1e300) == "1e+300");
  CHECK(printed(5e-324) == "5e-324");
  CHECK(printed(std::numeric_limits<double>::max()) == "1.7976931348623157e+308");
  CHECK(printed(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(printed(std::int64_t{0}) == "0");

  braid::random_source random(12);
  for (int round = 0; round < 20'000; ++round) {
    const auto value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    const std::string text = printed(value);
    double back = 0;
    std::from_chars(text.data(), text.data() + text.size(), back);
    CHECK(std::bit_cast<std::uint64_t>(back) == std::bit_cast<std::uint64_t>(value));
  }
}

TEST_CASE("bytes that are not UTF-8 are told apart from every text and from each other") {
  CHECK(bytes_as_json("") == "\"\"");
  CHECK(bytes_as_json("\u00ff \"x\"") == as_json("\u00ff \"x\""));
  CHECK(bytes_as_json("\xff") == R"({"base64":"/w=="})");
  CHECK(bytes_as_json("\xff\xfe") == R"({"base64":"//4="})");
  CHECK(bytes_as_json("\xff\xfe\xfd") == R"({"base64":"//79"})");
  CHECK(bytes_as_json("caf\xe9") == R"({"base64":"Y2Fm6Q=="})");
  CHECK(bytes_as_json("\xfb\0"s) == R"({"base64":"+wA="})");
}
