// tests/support/chosen_pool.hpp: a pool with the scheduler that the variable BRAID_TEST_SCHEDULER of the environment
// names, so that a test compiled once runs with each.
#pragma once

#include <braid/task/pool.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace braid::testing {

inline auto chosen_scheduler(scheduler otherwise = scheduler::shared_queue) -> scheduler {
  const char* const chosen = std::getenv("BRAID_TEST_SCHEDULER");
  if (chosen == nullptr) return otherwise;
  using named = std::pair<std::string_view, scheduler>;
  for (const auto& [name, value] :
       std::array{named{"work_stealing", scheduler::work_stealing}, named{"least_loaded", scheduler::least_loaded},
                  named{"shared_queue", scheduler::shared_queue}, named{"current_thread", scheduler::current_thread},
                  named{"run_inline", scheduler::run_inline}})
    if (name == chosen) return value;
  std::fprintf(stderr, "BRAID_TEST_SCHEDULER: no scheduler is named '%s'\n", chosen);
  std::abort();
}

/// Whether its jobs run while the thread of the test goes on.
inline auto chosen_has_threads() -> bool {
  const scheduler chosen = chosen_scheduler();
  return chosen != scheduler::current_thread && chosen != scheduler::run_inline;
}

/// For cases that are about several workers, or about jobs that run beside the thread of the test.
inline auto needs_threads() -> doctest::skip { return doctest::skip(!chosen_has_threads()); }

/// For cases whose jobs run on a worker, wherever that is.
inline auto needs_workers() -> doctest::skip { return doctest::skip(chosen_scheduler() == scheduler::run_inline); }

class chosen_pool final : public pool {
 public:
  explicit chosen_pool(pool::options options = {}) : pool(with_scheduler(std::move(options))) {}

 private:
  static auto with_scheduler(pool::options options) -> pool::options {
    options.scheduler = chosen_scheduler();
    return options;
  }
};

}  // namespace braid::testing
