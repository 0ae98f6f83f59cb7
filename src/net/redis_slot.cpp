// src/net/redis_slot.cpp: finds the first key of a command, and computes the hash slot of a key.
#include <braid/net/redis_cluster.hpp>

#include <braid/net/detail/redis_commands.hpp>

#include <array>
#include <charconv>
#include <cstddef>

namespace braid {
namespace {

/// Removes the first word and its length prefix from an encoded command, and returns the word.
auto take_word(std::string_view& rest) noexcept -> std::string_view {
  std::size_t size = 0;
  const char* const end = std::from_chars(rest.data() + 1, rest.data() + rest.size(), size).ptr;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()) + 2);
  const std::string_view word = rest.substr(0, size);
  rest.remove_prefix(size + 2);
  return word;
}

/// Commands whose first key does not directly follow their name. Source: the key specifications of `COMMAND`.
struct key_position {
  std::string_view name;
  int words;  // the number of words between the name and the key
};

constexpr std::array key_positions{
    key_position{"EVAL", 2},       key_position{"EVALSHA", 2},    key_position{"EVAL_RO", 2}, key_position{"FCALL", 2},
    key_position{"EVALSHA_RO", 2}, key_position{"FCALL_RO", 2},   key_position{"BITOP", 1},   key_position{"MEMORY", 1},
    key_position{"OBJECT", 1},     key_position{"XINFO", 1},      key_position{"XGROUP", 1},  key_position{"DEBUG", 1},
    key_position{"ZUNION", 1},     key_position{"ZINTER", 1},     key_position{"ZDIFF", 1},   key_position{"LMPOP", 1},
    key_position{"ZMPOP", 1},      key_position{"SINTERCARD", 1}, key_position{"BLMPOP", 2},  key_position{"BZMPOP", 2},
    key_position{"ZINTERCARD", 1}, key_position{"MIGRATE", 2},
};

/// Returns the key after the word STREAMS, which follows any number of options.
auto key_behind_streams(std::string_view rest) noexcept -> std::string_view {
  while (!rest.empty())
    if (detail::is_redis_word(take_word(rest), "STREAMS")) return rest.empty() ? std::string_view() : take_word(rest);
  return {};
}

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

auto detail::find_redis_key(std::string_view command) noexcept -> std::string_view {
  std::string_view rest = command.substr(command.find('\n') + 1);
  const std::string_view name = take_word(rest);
  if (detail::is_redis_word(name, "XREAD") || detail::is_redis_word(name, "XREADGROUP"))
    return key_behind_streams(rest);
  for (const key_position& each : key_positions) {
    if (name.size() != each.name.size() || !detail::is_redis_word(name, each.name)) continue;
    for (int words = each.words; words > 0 && !rest.empty(); --words) static_cast<void>(take_word(rest));
  }
  return rest.empty() ? std::string_view() : take_word(rest);
}

auto detail::redis_hashed_part(std::string_view key) noexcept -> std::string_view {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return key;
  const std::size_t close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

auto detail::find_redis_slot(std::string_view key) noexcept -> std::uint16_t {
  unsigned sum = 0;
  for (const char c : detail::redis_hashed_part(key))
    sum = ((sum << 8U) & 0xffffU) ^ table[(sum >> 8U) ^ static_cast<unsigned char>(c)];
  return static_cast<std::uint16_t>(sum % detail::redis_slots);
}

}  // namespace braid
