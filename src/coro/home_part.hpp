// src/coro/home_part.hpp: a part of the list of homes, as the list and debuggers see it.
#pragma once

#include <braid/base/intrusive_list.hpp>
#include <braid/coro/detail/home_list.hpp>
#include <braid/coro/home.hpp>
#include <braid/sync/detail/fork_safe_mutex.hpp>

#include <cstddef>
#include <cstdint>

namespace braid::detail {

/// Tasks on a pool have homes of their own, which enter and leave on all workers at once.
inline constexpr std::size_t home_part_count = 32;

struct alignas(64) home_part {
  fork_safe_mutex lock;
  intrusive_list<home, home_hook> homes;  // under the lock
  std::uint64_t forks = 0;                // the same: the number of forks of the process when `homes` was used last
};

}  // namespace braid::detail
