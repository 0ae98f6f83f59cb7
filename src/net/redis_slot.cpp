// src/net/redis_slot.cpp: the checksum that spreads keys over slots.
#include <braid/net/redis_cluster.hpp>

#include <array>

namespace braid {
namespace {

constexpr auto make_table() noexcept -> std::array<std::uint16_t, 256> {
  constexpr unsigned polynomial = 0x1021;
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned value = byte << 8U;
    for (int bit = 0; bit < 8; ++bit) value = (value & 0x8000U) != 0 ? (value << 1U) ^ polynomial : value << 1U;
    table[byte] = static_cast<std::uint16_t>(value);
  }
  return table;
}

constexpr std::array<std::uint16_t, 256> table = make_table();

}  // namespace

auto detail::redis_hashed_part(std::string_view key) noexcept -> std::string_view {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return key;
  const std::size_t close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

auto detail::redis_slot_of(std::string_view key) noexcept -> std::uint16_t {
  unsigned sum = 0;
  for (const char c : detail::redis_hashed_part(key))
    sum = ((sum << 8U) & 0xffffU) ^ table[(sum >> 8U) ^ static_cast<unsigned char>(c)];
  return static_cast<std::uint16_t>(sum % detail::redis_slots);
}

}  // namespace braid
