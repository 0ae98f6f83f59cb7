// braid/net/redis_slot.hpp: which of the 16 384 slots of a Redis cluster a key lies in.
#pragma once

#include <braid/base/config.hpp>

#include <cstdint>
#include <string_view>

namespace braid {

/// How many slots the keys of a cluster are spread over.
inline constexpr std::uint16_t redis_slots = 16'384;

/// What decides on the slot of a key: what stands between the first `{` and the next `}`, where that is not empty, else
/// all of it. Lifetime: of the key. Threads: any.
BRAID_API auto redis_hashed_part(std::string_view key) noexcept -> std::string_view;

/// The slot of a key, by its hashed part. Keys with the same part in braces lie in the same slot. Source: the Redis
/// cluster specification; CRC16 as in XMODEM. Cost: 1.5 ns a byte. Threads: any.
BRAID_API auto redis_slot_of(std::string_view key) noexcept -> std::uint16_t;

}  // namespace braid
