// src/coro/home_part.hpp: declares one part of the list of home executors. The code of the list and debugger scripts
// read such a part.
#pragma once

#include <braid/base/intrusive_list.hpp>
#include <braid/coro/detail/home_list.hpp>
#include <braid/coro/home.hpp>
#include <braid/sync/detail/fork_safe_mutex.hpp>

#include <cstddef>
#include <cstdint>

namespace braid::detail {

/// The number of parts of the list. Each task on a pool has a home executor of its own, so many workers add and remove
/// entries concurrently.
/// docs/design/constants.md explains how this value was chosen.
inline constexpr std::size_t home_part_count = 32;

struct alignas(64) home_part {
  fork_safe_mutex lock;
  intrusive_list<home, home_hook> homes;  // under the lock
  std::uint64_t forks = 0;                // the process's number of forks when `homes` was used last; under the lock
};

}  // namespace braid::detail
