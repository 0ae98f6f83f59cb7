// rankd/store/crc32c.cpp: computes CRC-32C with the processor's own instruction, or with tables if the processor has no
// such instruction.
#include <rankd/store/crc32c.hpp>

#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#define RANKD_HAS_CRC32C __attribute__((target("sse4.2")))
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#define RANKD_HAS_CRC32C __attribute__((target("+crc")))
#endif

namespace rankd {
namespace {

constexpr std::uint32_t reversed_polynomial = 0x82F63B78U;
constexpr std::size_t word = sizeof(std::uint64_t);

using table = std::array<std::uint32_t, 256>;

/// `tables[k][b]` is the remainder of the byte `b` followed by k zero bytes.
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
auto has_instruction() noexcept -> bool { return __builtin_cpu_supports("sse4.2") != 0; }

RANKD_HAS_CRC32C auto with_word(std::uint32_t rest, std::uint64_t value) noexcept -> std::uint32_t {
  return static_cast<std::uint32_t>(_mm_crc32_u64(rest, value));
}

RANKD_HAS_CRC32C auto with_byte(std::uint32_t rest, std::uint8_t value) noexcept -> std::uint32_t {
  return _mm_crc32_u8(rest, value);
}
#elif defined(__aarch64__)
auto has_instruction() noexcept -> bool { return (::getauxval(AT_HWCAP) & HWCAP_CRC32) != 0; }

RANKD_HAS_CRC32C auto with_word(std::uint32_t rest, std::uint64_t value) noexcept -> std::uint32_t {
  return __crc32cd(rest, value);
}

RANKD_HAS_CRC32C auto with_byte(std::uint32_t rest, std::uint8_t value) noexcept -> std::uint32_t {
  return __crc32cb(rest, value);
}
#endif

#if defined(RANKD_HAS_CRC32C)
RANKD_HAS_CRC32C auto crc32c_by_instruction(std::span<const std::byte> bytes, std::uint32_t before) noexcept
    -> std::uint32_t {
  std::uint32_t rest = ~before;
  const std::byte* at = bytes.data();
  const std::byte* const end = at + bytes.size();
  for (; end - at >= static_cast<std::ptrdiff_t>(word); at += word) rest = with_word(rest, word_at(at));
  for (; at != end; ++at) rest = with_byte(rest, std::to_integer<std::uint8_t>(*at));
  return ~rest;
}
#endif

}  // namespace

auto detail::crc32c_by_tables(std::span<const std::byte> bytes, std::uint32_t before) noexcept -> std::uint32_t {
  static_assert(std::endian::native == std::endian::little, "the code requires a little-endian processor");
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
#if defined(RANKD_HAS_CRC32C)
  static const bool is_there = has_instruction();
  if (is_there) return crc32c_by_instruction(bytes, before);
#endif
  return detail::crc32c_by_tables(bytes, before);
}

}  // namespace rankd
