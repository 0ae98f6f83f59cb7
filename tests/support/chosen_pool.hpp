// tests/support/chosen_pool.hpp: the pool of a test that is built for each scheduler: BRAID_TEST_SCHEDULER names it.
#pragma once

#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <utility>

namespace braid::testing {

inline constexpr scheduler chosen_scheduler = scheduler::BRAID_TEST_SCHEDULER;

/// Whether its jobs run while the thread of the test goes on.
inline constexpr bool chosen_has_threads =
    chosen_scheduler != scheduler::current_thread && chosen_scheduler != scheduler::run_inline;

/// For cases that are about several workers, or about jobs that run beside the thread of the test.
inline auto needs_threads() -> doctest::skip { return doctest::skip(!chosen_has_threads); }

/// For cases whose jobs run on a worker, wherever that is.
inline auto needs_workers() -> doctest::skip { return doctest::skip(chosen_scheduler == scheduler::run_inline); }

class chosen_pool final : public pool {
 public:
  explicit chosen_pool(pool_options options = {}) : pool(with_scheduler(std::move(options))) {}

 private:
  static auto with_scheduler(pool_options options) -> pool_options {
    options.scheduler = chosen_scheduler;
    return options;
  }
};

}  // namespace braid::testing
