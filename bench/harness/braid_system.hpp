// bench/harness/braid_system.hpp: pools of braid, with each scheduler that has threads, as systems that take tasks.
#pragma once

#include <bench/harness/program.hpp>
#include <bench/harness/tally.hpp>

#include <braid/task/future.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/spawn.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace bench {

template <braid::scheduler Chosen>
class braid_system {
 public:
  explicit braid_system(unsigned workers) : pool_({.workers = workers, .scheduler = Chosen}) {}

  template <typename Fn>
  void post(Fn fn) {
    static_cast<void>(braid::post(pool_, std::move(fn)));
  }

  template <typename Fn>
  void spread(std::uint64_t count, Fn fn) {
    post([this, count, fn] {
      for (std::uint64_t i = 0; i < count; ++i) post(fn);
    });
  }

  auto finish(std::uint64_t /*expected*/) -> std::uint64_t {
    static_cast<void>(pool_.wait_idle());
    return tally::sum();
  }

  template <typename Fn>
  auto submit(Fn fn) {
    return braid::spawn(pool_, std::move(fn));
  }

 private:
  braid::pool pool_;
};

using stealing_system = braid_system<braid::scheduler::work_stealing>;
using least_loaded_system = braid_system<braid::scheduler::least_loaded>;
using shared_queue_system = braid_system<braid::scheduler::shared_queue>;

using measure = auto (*)(const parameters&) -> sample;

/// A case, as each of them is measured.
struct measured_pools {
  const char* name;
  measure stealing;
  measure least_loaded;
  measure shared_queue;
};

/// Each case on each of them.
inline auto on_each_pool(const std::vector<measured_pools>& cases) -> std::vector<solution> {
  std::vector<solution> all;
  for (const measured_pools& each : cases) {
    all.push_back({each.name, braid_contender(), each.stealing});
    all.push_back({each.name, braid_contender("braid least_loaded"), each.least_loaded});
    all.push_back({each.name, braid_contender("braid shared_queue"), each.shared_queue});
  }
  return all;
}

}  // namespace bench
