// tests/support/bare_workers.hpp: workers without threads, for tests that play them.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/sync/detail/asymmetric_barrier.hpp>
#include <braid/task/worker.hpp>

#include <tests/support/manual_executor.hpp>

#include <cstddef>
#include <functional>
#include <memory>

namespace braid::testing {

/// Workers of no pool, which know each other as victims. Threads: one.
struct bare_workers {
  using driver_factory = std::function<std::unique_ptr<driver>(std::size_t)>;

  explicit bare_workers(std::size_t count, const clock_source& clock = steady_time())
      : bare_workers(count, [](std::size_t) { return std::make_unique<parking_driver>(); }, clock) {}
  bare_workers(std::size_t count, const driver_factory& driver_of, const clock_source& clock = steady_time()) {
    for (std::size_t index = 0; index < count; ++index) {
      list.push_back(std::make_unique<worker>(nowhere, index, barrier, clock, driver_of(index)));
      for (std::size_t step = 1; step < count; ++step) list.back()->victims.push_back((index + step) % count);
    }
  }

  auto operator[](std::size_t index) -> worker& { return *list[index]; }

  manual_executor nowhere;
  braid::detail::asymmetric_barrier barrier;
  worker_list list;
};

}  // namespace braid::testing
