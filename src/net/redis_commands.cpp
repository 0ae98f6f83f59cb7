// src/net/redis_commands.cpp: decides which commands a shared connection accepts, and reads replies that are lists of
// texts.
#include <braid/net/detail/redis_commands.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace braid::detail {
namespace {

struct named_role {
  std::string_view name;
  redis_role role = redis_role::unshared;
};

/// Commands with a special role, ordered by the length of their names. A transaction belongs to its connection, so all
/// of its commands must be in one batch. WATCH would need a reply between two commands, so it is refused.
constexpr std::array named_roles{
    named_role{"AUTH"},         named_role{"EXEC", redis_role::ends},
    named_role{"QUIT"},         named_role{"SYNC"},
    named_role{"HELLO"},        named_role{"MULTI", redis_role::begins},
    named_role{"PSYNC"},        named_role{"RESET"},
    named_role{"WATCH"},        named_role{"ASKING"},
    named_role{"SELECT"},       named_role{"DISCARD", redis_role::ends},
    named_role{"MONITOR"},      named_role{"UNWATCH"},
    named_role{"READONLY"},     named_role{"READWRITE"},
    named_role{"SUBSCRIBE"},    named_role{"PSUBSCRIBE"},
    named_role{"SSUBSCRIBE"},   named_role{"UNSUBSCRIBE"},
    named_role{"PUNSUBSCRIBE"}, named_role{"SUNSUBSCRIBE"},
};
static_assert(std::ranges::is_sorted(named_roles, {}, [](const named_role& each) { return each.name.size(); }));
constexpr std::size_t max_name = named_roles.back().name.size();

/// The index of the first name of each length.
constexpr auto places_by_size = [] {
  std::array<std::uint8_t, max_name + 2> places{};
  for (std::size_t size = 0; size < places.size(); ++size)
    for (const named_role& each : named_roles)
      if (each.name.size() < size) ++places[size];
  return places;
}();

}  // namespace

auto is_redis_word(std::string_view text, std::string_view capitals) noexcept -> bool {
  return std::ranges::equal(text, capitals, [](char a, char b) { return (a >= 'a' && a <= 'z' ? a - 32 : a) == b; });
}

auto find_redis_role(std::span<const std::string_view> words) noexcept -> redis_role {
  if (words.empty()) return redis_role::unshared;
  const std::string_view name = words.front();
  if (name.size() > max_name) return redis_role::common;
  if (is_redis_word(name, "CLIENT") && words.size() > 1)
    return is_redis_word(words[1], "REPLY") || is_redis_word(words[1], "TRACKING") ? redis_role::unshared
                                                                                   : redis_role::common;
  for (std::size_t at = places_by_size[name.size()]; at < places_by_size[name.size() + 1]; ++at)
    if (is_redis_word(name, named_roles[at].name)) return named_roles[at].role;
  return redis_role::common;
}

auto redis_texts_reply::read(const resp_value& reply) noexcept -> result<value_type> {
  const auto items = reply.items();
  if (!std::ranges::all_of(items, &resp_value::has_text)) return fail(redis_errc::unexpected_reply);
  return items;
}

}  // namespace braid::detail
