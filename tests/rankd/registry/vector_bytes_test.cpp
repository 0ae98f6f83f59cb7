// tests/rankd/registry/vector_bytes_test.cpp: vectors as bytes, their text, and their products.
#include <rankd/registry/vector_bytes.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <string>

using namespace rankd;

namespace {

auto bytes_of(std::initializer_list<double> numbers) -> std::string {
  std::string out;
  for (const double each : numbers) CHECK(append_vector_item(out, each));
  return out;
}

auto text_of(const std::string& bytes) -> std::string {
  std::string out;
  append_vector_json(out, bytes);
  return out;
}

}  // namespace

TEST_CASE("a vector is float32 numbers, little-endian") {
  CHECK(bytes_of({1}) == std::string("\0\0\x80\x3f", 4));
  CHECK(vector_size(bytes_of({1, 2, 3})) == 3);
  CHECK(vector_item(bytes_of({1, 2, -0.5}), 2) == -0.5F);
}

TEST_CASE("a number that no float32 can be is not appended") {
  std::string out;
  CHECK_FALSE(append_vector_item(out, std::numeric_limits<double>::infinity()));
  CHECK_FALSE(append_vector_item(out, std::numeric_limits<double>::quiet_NaN()));
  CHECK_FALSE(append_vector_item(out, -3.5e38));
  CHECK_FALSE(append_vector_item(out, 0x1.ffffffp+127));  // it would be rounded to infinity
  CHECK(out.empty());
  CHECK(append_vector_item(out, 0x1.fffffep+127));
  CHECK(append_vector_item(out, 0x1.fffffefp+127));
  CHECK(vector_item(out, 1) == std::numeric_limits<float>::max());
}

TEST_CASE("bytes are a vector where their length is right and their numbers are finite") {
  const std::string two = bytes_of({1, 2});
  CHECK(is_vector(two, 2));
  CHECK_FALSE(is_vector(two, 1));
  CHECK_FALSE(is_vector(two, 3));
  CHECK_FALSE(is_vector(two + "x", 2));
  CHECK_FALSE(is_vector(two + std::string("\0\0\x80\x7f", 4), 3));  // infinity
  CHECK_FALSE(is_vector(two + std::string("\0\0\xc0\x7f", 4), 3));  // no number
}

TEST_CASE("the text of a vector has the shortest numbers that read back as the same") {
  CHECK(text_of(bytes_of({0.1, -1, 1e10, 0})) == "[0.1,-1,1e+10,0]");
  CHECK(text_of(bytes_of({-0.0})) == "[-0.0]");
  CHECK(text_of("") == "[]");
}

TEST_CASE("products add in the order of the numbers, in double precision") {
  CHECK(dot_product(bytes_of({1, 2, 3}), bytes_of({4, 5, 6})) == 32);
  // In single precision 1e8 + 1 is 1e8; in another order the last two would cancel first.
  CHECK(dot_product(bytes_of({1e4, 1, 1e4}), bytes_of({1e4, 1, -1e4})) == 1);
  CHECK(dot_product(bytes_of({3e38, 3e38}), bytes_of({3e38, 3e38})) > 1.7e77);
  CHECK(dot_product(bytes_of({1, 2}), bytes_of({4})) == 4);  // what one side lacks counts for nothing
}

TEST_CASE("a cosine is that of the angle, and 0 where a side has no length") {
  CHECK(cosine_similarity(bytes_of({3, 4}), bytes_of({3, 4})) == 1);
  CHECK(cosine_similarity(bytes_of({3, 0}), bytes_of({-2, 0})) == -1);
  CHECK(cosine_similarity(bytes_of({1, 0}), bytes_of({0, 5})) == 0);
  CHECK(cosine_similarity(bytes_of({0, 0}), bytes_of({1, 5})) == 0);
}

TEST_CASE("no cosine is beyond 1 or -1, whatever is lost by rounding") {
  std::size_t at_most = 0;
  for (int number = 1; number <= 2'000; ++number) {
    const double n = number;
    const std::string vector = bytes_of({std::sqrt(n), 1 / n, n / 7, 0.1 * n});
    const std::string opposite = bytes_of({-std::sqrt(n), -1 / n, -n / 7, -0.1 * n});
    CHECK(cosine_similarity(vector, vector) <= 1);
    CHECK(cosine_similarity(vector, vector) > 1 - 1e-15);
    CHECK(cosine_similarity(vector, opposite) >= -1);
    const double square = dot_product(vector, vector);
    at_most += square / (std::sqrt(square) * std::sqrt(square)) > 1 ? 1 : 0;
  }
  CHECK(at_most > 100);  // so many would be beyond 1
}
