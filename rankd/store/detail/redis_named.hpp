// rankd/store/detail/redis_named.hpp: converts a read of named keys to Redis commands, and converts the replies to the
// answer of the read.
#pragma once

#include <rankd/store/named_read.hpp>

#include <braid/base/arena.hpp>
#include <braid/net/redis_batch.hpp>
#include <braid/net/resp.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace rankd::detail {

/// The maximum number of members in one command. If a read requests more members of a key, it uses several commands, so
/// that no command takes long.
inline constexpr std::size_t max_members_asked = 1'000;

/// The maximum number of keys in one command that reads strings.
inline constexpr std::size_t max_keys_asked = 1'000;

/// States whether one command may have keys of several Redis slots.
enum class key_spread : std::uint8_t { one_server, by_slot };

/// Returns the commands for all keys, in the order of the keys. In a cluster, commands for strings are grouped by slot.
/// Errors: std::bad_alloc.
auto make_commands(const named_read& read, key_spread spread = key_spread::one_server) -> braid::redis_batch;

/// Converts the replies to these commands to an answer. Returns nothing if a reply does not fit its command. Requires
/// replies without errors.
auto make_answer(const named_read& read, std::span<const braid::resp_value> replies, braid::arena& arena,
                 key_spread spread = key_spread::one_server) -> std::optional<item_batch>;

}  // namespace rankd::detail
