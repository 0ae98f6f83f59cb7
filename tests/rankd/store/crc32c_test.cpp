// tests/rankd/store/crc32c_test.cpp: the published values, and the same ones however the bytes come.
#include <rankd/store/crc32c.hpp>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

using rankd::crc32c;
using rankd::detail::crc32c_by_tables;

namespace {

auto bytes_of(std::string_view text) -> std::span<const std::byte> { return std::as_bytes(std::span(text)); }

auto bytes_up_to(std::size_t count) -> std::vector<std::byte> {
  std::vector<std::byte> bytes(count);
  for (std::size_t at = 0; at < count; ++at) bytes[at] = static_cast<std::byte>(at);
  return bytes;
}

}  // namespace

TEST_CASE("the values of RFC 3720, section B.4, come out, by instruction and by tables") {
  const std::vector<std::byte> zeros(32);
  const std::vector<std::byte> ones(32, std::byte{0xff});
  const std::vector<std::byte> rising = bytes_up_to(32);
  std::vector<std::byte> falling = rising;
  std::ranges::reverse(falling);
  for (const auto sum : {+[](std::span<const std::byte> of) { return crc32c(of); },
                         +[](std::span<const std::byte> of) { return crc32c_by_tables(of); }}) {
    CHECK(sum(zeros) == 0x8a9136aaU);
    CHECK(sum(ones) == 0x62a8ab43U);
    CHECK(sum(rising) == 0x46dd794eU);
    CHECK(sum(falling) == 0x113fdb5cU);
    CHECK(sum(bytes_of("123456789")) == 0xe3069283U);
    CHECK(sum({}) == 0);
  }
}

TEST_CASE("every length from every place has one checksum, in one piece or in two") {
  const std::vector<std::byte> all = bytes_up_to(200);
  for (std::size_t first = 0; first < 9; ++first)
    for (std::size_t size = 0; size <= 64; ++size) {
      const std::span piece = std::span(all).subspan(first, size);
      const std::uint32_t sum = crc32c_by_tables(piece);
      REQUIRE(crc32c(piece) == sum);
      const std::size_t half = size / 3;
      REQUIRE(crc32c(piece.subspan(half), crc32c(piece.first(half))) == sum);
      REQUIRE(crc32c_by_tables(piece.subspan(half), crc32c_by_tables(piece.first(half))) == sum);
    }
}
