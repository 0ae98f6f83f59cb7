// tests/rankd/registry/digest_test.cpp: SHA-256 against its published vectors, canonical JSON against ECMAScript.
#include <rankd/registry/digest.hpp>

#include <limits>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using nlohmann::json;
using rankd::canonical_json;

TEST_CASE("SHA-256 gives the digests of the standard") {
  CHECK(rankd::sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(rankd::sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("keys are sorted and nothing is between the tokens") {
  CHECK(canonical_json(json::parse(R"( { "b" : [ 1 , true , null ] , "a" : { } , "c" : [ ] } )")) ==
        R"({"a":{},"b":[1,true,null],"c":[]})");
}

TEST_CASE("strings escape only what must be escaped") {
  CHECK(canonical_json(json("\"\\\n\x01é€")) == "\"\\\"\\\\\\n\\u0001é€\"");
}

TEST_CASE("numbers are printed as ECMAScript prints them") {
  const auto number = [](double value) { return canonical_json(json(value)); };
  CHECK(number(0.0) == "0");
  CHECK(number(-0.0) == "0");
  CHECK(number(1.0) == "1");
  CHECK(number(-1.5) == "-1.5");
  CHECK(number(0.2) == "0.2");
  CHECK(number(123456.75) == "123456.75");
  CHECK(number(1e20) == "100000000000000000000");
  CHECK(number(1e21) == "1e+21");
  CHECK(number(1.5e300) == "1.5e+300");
  CHECK(number(0.000001) == "0.000001");
  CHECK(number(1e-5) == "0.00001");
  CHECK(number(1.5e-6) == "0.0000015");
  CHECK(number(1e-7) == "1e-7");
  CHECK(number(5e-324) == "5e-324");
  CHECK(number(std::numeric_limits<double>::infinity()) == "null");
  CHECK(canonical_json(json(std::int64_t{-9007199254740993})) == "-9007199254740993");
  CHECK(canonical_json(json(std::numeric_limits<std::uint64_t>::max())) == "18446744073709551615");
}
