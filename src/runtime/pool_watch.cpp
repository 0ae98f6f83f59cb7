// src/runtime/pool_watch.cpp: keeps a list of the pools that belong to no runtime. If BRAID_STALL is set, each of these
// pools has a stall watchdog.
#include "pool_watch.hpp"

#include <braid/base/detail/never_destroyed.hpp>

#include "../platform/system.hpp"
#include "metrics_reader.hpp"
#include "top_socket.hpp"

#include <braid/base/clock.hpp>
#include <braid/runtime/detail/stall_watch.hpp>
#include <braid/sync/detail/fork_safe_mutex.hpp>
#include <braid/task/detail/default_pool.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace braid::detail {
namespace {

struct watched_pool {
  pool* at;
  std::unique_ptr<stall_watch> stalls;  // null without BRAID_STALL
};

/// The list of the pools that belong to no runtime. It is never destroyed, because a pool may exist until the process
/// exits.
struct pool_list {
  fork_safe_mutex lock;
  std::vector<watched_pool> pools;  // under the lock
};

constinit never_destroyed<pool_list> list;
constinit thread_local unsigned runtimes_in_the_making = 0;  // the number of runtimes that this thread is creating

auto watch_for_stalls(pool& made) -> std::unique_ptr<stall_watch> {
  const auto limit = stall_limit_of_environment();
  if (!limit) return nullptr;
  auto watch = std::make_unique<stall_watch>(metrics_reader::targets(made), *limit, nullptr, steady_time());
  watch->start();
  return watch;
}

/// Adds a pool to the list and starts its watchdog. If memory cannot be allocated or the watchdog's thread cannot be
/// started, the pool works without a watchdog.
void add(pool& made) noexcept {
  if (runtimes_in_the_making != 0) return;
  begin_top_socket();
  try {
    watched_pool entry{.at = &made, .stalls = watch_for_stalls(made)};
    const std::lock_guard guard(list.value.lock);
    list.value.pools.push_back(std::move(entry));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "braid: a pool is not watched: %s\n", error.what());
  }
}

/// Removes a pool from the list. Its watchdog is destroyed after the lock is released, because forks wait for the lock.
void remove(pool& gone) noexcept {
  std::unique_ptr<stall_watch> ended;
  const std::lock_guard guard(list.value.lock);
  const auto found = std::ranges::find(list.value.pools, &gone, &watched_pool::at);
  if (found == list.value.pools.end()) return;
  ended = std::move(found->stalls);
  list.value.pools.erase(found);
}

/// Empties the list in the child of a fork, which has neither the threads of the pools nor the threads of their
/// watchdogs.
void forget_pools_in_child() noexcept {
  ::new (static_cast<void*>(&list.value.pools)) std::vector<watched_pool>;
  runtimes_in_the_making = 0;
}

constexpr pool_observer all_pools{.made = &add, .gone = &remove};

[[maybe_unused]] const bool is_observing = (observe_pools(all_pools), true);
[[maybe_unused]] const int pool_fork_handler = call_at_fork(nullptr, nullptr, &forget_pools_in_child);

}  // namespace

pools_of_runtime::pools_of_runtime() noexcept { ++runtimes_in_the_making; }
pools_of_runtime::~pools_of_runtime() { --runtimes_in_the_making; }

void add_metrics_of_pools(metric_list& metrics) {
  const std::lock_guard guard(list.value.lock);
  for (const watched_pool& each : list.value.pools) metrics_reader::add_pool(*each.at, each.stalls.get(), metrics);
}

}  // namespace braid::detail
