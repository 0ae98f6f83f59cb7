// bench/loop/contenders.hpp: the same work on event loops of other libraries. Each file is left out where its library
// is missing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

/// What a run with timers gives: how many have fired, and none of them early.
struct timers_result {
  std::uint64_t fired = 0;
  std::uint64_t early = 0;
};

/// So many empty tasks from each of so many threads to one loop. Gives how many have run.
auto post_by_uv(unsigned producers, std::size_t each) -> std::uint64_t;
auto post_by_asio(unsigned producers, std::size_t each) -> std::uint64_t;

/// So many timers of a millisecond, all armed at once.
auto timers_by_uv(std::size_t count) -> timers_result;
auto timers_by_asio(std::size_t count) -> timers_result;

}  // namespace bench
