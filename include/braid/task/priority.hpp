// braid/task/priority.hpp: which jobs of a pool go before which.
#pragma once

#include <cstddef>
#include <cstdint>

namespace braid {

/// Jobs of priority `high` start before all others, those of `bulk` when nothing else is there. Neither starves the
/// rest: a worker that has begun `max_consecutive_high` jobs of priority `high` takes another job if it finds one, and
/// every `polls_between_low` times that a worker looks for work it takes one of priority `low`.
enum class priority : std::uint8_t { normal, high, low };

namespace detail {

/// After so many jobs of priority `high` a worker takes another one, if it finds one.
inline constexpr std::uint32_t max_consecutive_high = 16;
/// Every so many looks for work a worker takes a job of priority `low`.
inline constexpr std::uint32_t polls_between_low = 256;

}  // namespace detail

}  // namespace braid
