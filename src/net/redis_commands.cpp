// src/net/redis_commands.cpp: which commands a shared connection takes, and replies that are lists of texts.
#include <braid/net/detail/redis_commands.hpp>

#include <algorithm>
#include <array>

namespace braid::detail {
namespace {

/// After these, replies no longer follow commands one by one, or other callers' commands mean something else.
constexpr std::array<std::string_view, 15> unshared{
    "SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE", "SSUBSCRIBE", "SUNSUBSCRIBE", "MONITOR",  "SYNC",
    "PSYNC",     "RESET",       "QUIT",       "HELLO",        "AUTH",       "SELECT",       "READWRITE"};

auto is_word(std::string_view text, std::string_view capitals) noexcept -> bool {
  return std::ranges::equal(text, capitals, [](char a, char b) { return (a >= 'a' && a <= 'z' ? a - 32 : a) == b; });
}

}  // namespace

auto may_share_connection(std::span<const std::string_view> words) noexcept -> bool {
  if (words.empty()) return false;
  const std::string_view name = words.front();
  if (is_word(name, "CLIENT") && words.size() > 1) return !is_word(words[1], "REPLY") && !is_word(words[1], "TRACKING");
  if (is_word(name, "READONLY")) return false;
  return std::ranges::none_of(unshared, [&](std::string_view each) { return is_word(name, each); });
}

auto redis_texts_reply::read(const resp_value& reply) noexcept -> result<value_type> {
  const auto items = reply.items();
  if (!std::ranges::all_of(items, &resp_value::has_text)) return fail(redis_errc::unexpected_reply);
  return items;
}

}  // namespace braid::detail
