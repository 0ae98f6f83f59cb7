// rankd/store/crc32c.cpp: CRC-32C by the processor's own instruction, and by tables where there is none.
#include <rankd/store/crc32c.hpp>

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace rankd {
namespace {

constexpr std::uint32_t reversed_polynomial = 0x82F63B78U;
constexpr std::size_t word = sizeof(std::uint64_t);

using table = std::array<std::uint32_t, 256>;

/// tables[k][b]: the remainder of the byte `b` with k zero bytes after it.
constexpr auto make_tables() -> std::array<table, word> {
  std::array<table, word> all{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1U) ^ ((rest & 1U) != 0 ? reversed_polynomial : 0U);
    all[0][byte] = rest;
  }
  for (std::size_t zeros = 1; zeros < word; ++zeros)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t shorter = all[zeros - 1][byte];
      all[zeros][byte] = (shorter >> 8U) ^ all[0][shorter & 0xffU];
    }
  return all;
}

constexpr std::array<table, word> tables = make_tables();

auto word_at(const std::byte* place) noexcept -> std::uint64_t {
  std::uint64_t value = 0;
  std::memcpy(&value, place, word);
  return value;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) auto crc32c_by_instruction(std::span<const std::byte> bytes,
                                                             std::uint32_t before) noexcept -> std::uint32_t {
  std::uint64_t rest = ~before;
  const std::byte* at = bytes.data();
  const std::byte* const end = at + bytes.size();
  for (; end - at >= static_cast<std::ptrdiff_t>(word); at += word) rest = _mm_crc32_u64(rest, word_at(at));
  auto tail = static_cast<std::uint32_t>(rest);
  for (; at != end; ++at) tail = _mm_crc32_u8(tail, std::to_integer<std::uint8_t>(*at));
  return ~tail;
}
#endif

}  // namespace

auto detail::crc32c_by_tables(std::span<const std::byte> bytes, std::uint32_t before) noexcept -> std::uint32_t {
  static_assert(std::endian::native == std::endian::little, "a word's first byte is its lowest");
  std::uint32_t rest = ~before;
  const std::byte* at = bytes.data();
  const std::byte* const end = at + bytes.size();
  for (; end - at >= static_cast<std::ptrdiff_t>(word); at += word) {
    const std::uint64_t mixed = word_at(at) ^ rest;
    rest = 0;
    for (std::size_t byte = 0; byte < word; ++byte) rest ^= tables[word - 1 - byte][(mixed >> (8 * byte)) & 0xffU];
  }
  for (; at != end; ++at) rest = (rest >> 8U) ^ tables[0][(rest ^ std::to_integer<std::uint32_t>(*at)) & 0xffU];
  return ~rest;
}

auto crc32c(std::span<const std::byte> bytes, std::uint32_t before) noexcept -> std::uint32_t {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return crc32c_by_instruction(bytes, before);
#endif
  return detail::crc32c_by_tables(bytes, before);
}

}  // namespace rankd
