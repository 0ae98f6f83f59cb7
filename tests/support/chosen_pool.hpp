// tests/support/chosen_pool.hpp: the pool of a test that is built for each scheduler: BRAID_TEST_SCHEDULER names it.
#pragma once

#include <braid/task/pool.hpp>

#include <utility>

namespace braid::testing {

class chosen_pool final : public pool {
 public:
  explicit chosen_pool(pool_options options = {}) : pool(with_scheduler(std::move(options))) {}

 private:
  static auto with_scheduler(pool_options options) -> pool_options {
    options.scheduler = scheduler::BRAID_TEST_SCHEDULER;
    return options;
  }
};

}  // namespace braid::testing
