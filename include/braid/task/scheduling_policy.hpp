// braid/task/scheduling_policy.hpp: what a scheduler supplies to a pool: where jobs go, and where workers look for
// them.
#pragma once

#include <braid/base/intrusive_queue.hpp>
#include <braid/task/job.hpp>
#include <braid/task/worker.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace braid {

/// What a scheduler did with a job, and what the pool has to do for it.
struct placement {
  enum class verdict : std::uint8_t {
    refused,   ///< the scheduler is closed; the job still belongs to the caller
    can_wait,  ///< the worker whose seat it lies at comes to it, unless a job holds it up: then who watches will see
    urgent,    ///< another worker is worth its wake
  };
  static constexpr std::size_t no_seat = SIZE_MAX;

  verdict how = verdict::refused;
  std::size_t seat = no_seat;  ///< the worker that must not sleep beside the job; no_seat: any
};

/// Why a worker looks for work.
enum class search : std::uint8_t {
  routine,  ///< it has run a job
  woken,    ///< somebody thought that it is needed
  watch,    ///< it has watched the others for a while
};

/// Everything that differs between the schedulers of `basic_pool`. Calls for one worker come from that worker.
/// A `place` or `close` and a `may_park` of the worker whose seat it is, or of any worker where there are no seats,
/// happen one after the other; so do a `place` or `close` and an `empty`. Whichever comes later knows of the earlier,
/// and sees everything that its caller did before (docs/design/pool.md).
template <typename P>
concept scheduling_policy =
    std::constructible_from<P, std::size_t> && requires(P& policy, worker& self, const worker* poster, job& work) {
      { P::watches } -> std::convertible_to<bool>;
      { policy.place(work, poster) } noexcept -> std::same_as<placement>;
      { policy.refill(self, search::routine) } noexcept -> std::same_as<job*>;
      { policy.tick(self) } noexcept -> std::same_as<job*>;
      { policy.may_park(self) } noexcept -> std::same_as<bool>;
      { policy.empty() } noexcept -> std::same_as<bool>;
      { policy.close() } noexcept;
      { policy.take_all() } noexcept -> std::same_as<intrusive_queue<job>>;
    };

}  // namespace braid
