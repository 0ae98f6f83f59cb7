// tests/rankd/registry/json_number_test.cpp: integers that stand for floats, and numbers that JSON has no form for.
#include <rankd/registry/json_number.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace rankd;

TEST_CASE("an integer stands for the float of its value, or for the one that JavaScript writes so") {
  CHECK(float_of_integer("0") == 0.0);
  CHECK(float_of_integer("-7") == -7.0);
  CHECK(float_of_integer("9007199254740992") == 0x1p53);
  CHECK_FALSE(float_of_integer("9007199254740993"));
  CHECK(float_of_integer("9223372036854775808") == 0x1p63);  // its value
  CHECK(float_of_integer("9223372036854776000") == 0x1p63);  // by JavaScript
  CHECK(float_of_integer("-9223372036854776000") == -0x1p63);
  CHECK_FALSE(float_of_integer("9223372036854776001"));
  CHECK(float_of_integer("18446744073709551616") == 0x1p64);
  CHECK(float_of_integer("18446744073709552000") == 0x1p64);
  CHECK(float_of_integer("100000000000000000000") == 1e20);
  CHECK(float_of_integer("295147905179352830000") == 2.9514790517935283e+20);
  CHECK_FALSE(float_of_integer("295147905179352830001"));
  CHECK(float_of_integer("1" + std::string(300, '0')) == 1e300);
  CHECK_FALSE(float_of_integer("1" + std::string(309, '0')));
  for (const std::string text : {"", "-", "x", "1x", " 1"}) CHECK_FALSE(float_of_integer(text));
}

TEST_CASE("only integers beyond 64 bits get a point, and none in a string") {
  const std::vector<std::pair<std::string, std::string>> table{
      {"18446744073709551616", "18446744073709551616.0"},
      {"[18446744073709551615,-9223372036854775808]", "[18446744073709551615,-9223372036854775808]"},
      {"[-9223372036854775809]", "[-9223372036854775809]"},
      {R"({"100000000000000000000":100000000000000000000})", R"({"100000000000000000000":100000000000000000000.0})"},
      {R"("\"100000000000000000000")", R"("\"100000000000000000000")"},
      {"[100000000000000000000.5,100000000000000000000e1]", "[100000000000000000000.5,100000000000000000000e1]"},
      {"[100000000000000000000,1 ,200000000000000000000]", "[100000000000000000000.0,1 ,200000000000000000000.0]"},
      {R"("100000000000000000000)", R"("100000000000000000000)"},
      {R"("\)", R"("\)"},
      {"", ""},
  };
  for (const auto& [text, expected] : table) CHECK(with_large_integers_as_floats(text) == expected);
}

TEST_CASE("special numbers become zeros of their length, at their position among all numbers") {
  const plain_json plain = without_special_numbers(R"([1,NaN,{"NaN":-Infinity},-2.5e3,true,Infinity,"Infinity"])");
  CHECK(plain.text == R"([1,0  ,{"NaN":0        },-2.5e3,true,0       ,"Infinity"])");
  REQUIRE(plain.specials.size() == 3);
  CHECK(plain.specials[0].position == 1);
  CHECK(std::isnan(plain.specials[0].value));
  CHECK(plain.specials[1].position == 2);
  CHECK(plain.specials[1].value == -std::numeric_limits<double>::infinity());
  CHECK(plain.specials[2].position == 4);
  CHECK(plain.specials[2].value == std::numeric_limits<double>::infinity());
  for (const std::string text : {"nan", "-NaN", "NaNs", "1NaN", "+Infinity", "infinity"})
    CHECK(without_special_numbers(text).specials.empty());
}
