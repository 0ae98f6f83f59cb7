// braid/task/lane.hpp: which jobs of a pool go before which.
#pragma once

#include <cstddef>
#include <cstdint>

namespace braid {

/// Jobs of the lane `latency` start before all others, those of `bulk` when nothing else is there. Neither starves the
/// rest: a worker that has begun `most_urgent_in_a_row` jobs of the latency lane takes another job if it finds one, and
/// every `turns_between_bulk` times that a worker looks for work it takes one of the bulk lane.
enum class lane : std::uint8_t { normal, latency, bulk };

inline constexpr std::uint32_t most_urgent_in_a_row = 16;
inline constexpr std::uint32_t turns_between_bulk = 256;

}  // namespace braid
