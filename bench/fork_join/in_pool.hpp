// bench/fork_join/in_pool.hpp: runs a problem in a pool with so many workers.
#pragma once

#include <bench/harness/rounds.hpp>

#include <braid/task/pool.hpp>
#include <braid/task/run_in.hpp>

namespace bench {

/// The time that `fn` takes on a worker; starting and stopping the pool is not part of it.
template <typename Fn>
auto timed_in_pool(unsigned workers, Fn fn) -> sample {
  braid::pool pool({.workers = workers});
  return braid::run_in(pool, [&fn] { return timed(fn); });
}

}  // namespace bench
