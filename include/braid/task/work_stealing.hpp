// braid/task/work_stealing.hpp: the scheduler with a queue for each worker, from which idle workers take.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/intrusive_queue.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/seat.hpp>
#include <braid/task/pool.hpp>
#include <braid/task/scheduling_policy.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace braid {

/// A job that a worker posts lies at its own seat; one that comes from elsewhere at that of the worker that is being
/// kept busy. A second worker is woken when the backlog there, in time, exceeds about twice what a wake takes, so that
/// a stream of short jobs stays on one core. A worker that has nothing takes half of such a backlog. Whatever lies
/// behind a long job is taken by a worker that sleeps and watches, within about two of its intervals.
/// Jobs of one seat start in their order, those of several seats in none. A policy for `basic_pool`.
class BRAID_API work_stealing {
 public:
  static constexpr bool watches = true;

  explicit work_stealing(std::size_t workers, const clock_source& clock = steady_time());
  ~work_stealing();

  [[nodiscard]] auto place(job& work, const worker* poster) noexcept -> placement;
  [[nodiscard]] auto refill(worker& self, search why) noexcept -> job*;
  [[nodiscard]] auto tick(worker& /*self*/) noexcept -> job* { return nullptr; }
  [[nodiscard]] auto may_park(const worker& self) noexcept -> bool;
  [[nodiscard]] auto empty() noexcept -> bool;
  void close() noexcept;
  [[nodiscard]] auto take_all() noexcept -> intrusive_queue<job>;

 private:
  [[nodiscard]] auto steal(worker& self, search why) noexcept -> job*;

  std::vector<std::unique_ptr<detail::seat>> seats_;
  atomic<std::size_t> kept_busy_{0};  // where jobs from elsewhere go; written by who takes work over
  atomic<bool> closed_{false};        // written once
};

extern template class BRAID_API basic_pool<work_stealing>;

}  // namespace braid
