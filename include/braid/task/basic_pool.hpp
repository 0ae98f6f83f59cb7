// braid/task/basic_pool.hpp: a pool with a scheduler of the program's own.
#pragma once

#include <braid/task/detail/scheduler_for.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/scheduling_policy.hpp>

#include <utility>

namespace braid {

/// As `pool`, with this policy instead of those that `pool_options::scheduler` names.
template <scheduling_policy Policy>
class basic_pool final : public pool {
 public:
  /// As `pool`.
  explicit basic_pool(pool_options options = {}) : pool(std::move(options), &detail::scheduler_for<Policy>::make) {}
};

}  // namespace braid
