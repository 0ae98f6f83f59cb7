// tests/net/byte_buffer_test.cpp: bytes come out as they went in, whatever the order of adding and taking.
#include <braid/net/detail/byte_buffer.hpp>

#include <braid/base/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <new>
#include <string>

using namespace braid;

TEST_CASE("bytes come out as they went in") {
  random_source random(7);
  braid::detail::byte_buffer buffer;
  std::string expected;
  for (int i = 0; i < 20'000; ++i) {
    if (random.below(2) == 0) {
      const std::string text(random.below(100), static_cast<char>('a' + random.below(26)));
      buffer.append(text);
      expected += text;
    } else {
      const std::size_t size = random.below(expected.size() + 1);
      buffer.removed(size);
      expected.erase(0, size);
    }
    REQUIRE(buffer.size() == expected.size());
    REQUIRE(buffer.bytes() == expected);
  }
}

TEST_CASE("room that is not used leaves no bytes") {
  braid::detail::byte_buffer buffer;
  std::fill_n(buffer.room(1'000), 1'000, 'x');
  CHECK(buffer.empty());
  buffer.added(3);
  CHECK(buffer.bytes() == "xxx");
}

TEST_CASE("a buffer is shortened from its end") {
  braid::detail::byte_buffer buffer;
  buffer.append("abcdef");
  buffer.removed(2);
  buffer.shorten_to(3);
  CHECK(buffer.bytes() == "cde");
  buffer.shorten_to(0);
  CHECK(buffer.empty());
}

TEST_CASE("room that cannot be had leaves the bytes as they were") {
  braid::detail::byte_buffer buffer;
  buffer.append("abc");
  CHECK_THROWS_AS(static_cast<void>(buffer.room(SIZE_MAX / 2)), std::bad_alloc);
  CHECK(buffer.bytes() == "abc");
}
