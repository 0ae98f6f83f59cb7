// braid/task/detail/fork_exchange.hpp: steals forks between workers, and waits for stolen forks.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/detail/asymmetric_barrier.hpp>
#include <braid/task/detail/fork_record.hpp>
#include <braid/task/detail/sleepers.hpp>
#include <braid/task/worker.hpp>

#include <cstdint>
#include <utility>

namespace braid::detail {

/// The part of a pool that steals forks. A missed request or wake only reduces parallelism, because the forking worker
/// itself runs every fork that no thief has taken.
/// Threads: each worker calls the functions only for itself.
/// Protocol: docs/design/fork_join.md
class BRAID_API fork_exchange {
 public:
  /// Constructs the exchange. `looks` is the number of times that a waiting worker looks for work before it blocks.
  fork_exchange(const worker_list& workers, asymmetric_barrier& barrier, sleepers& asleep, std::uint32_t looks) noexcept
      : workers_(workers), barrier_(barrier), asleep_(asleep), looks_(looks) {}

  // --- Functions for workers that fork. ---

  /// Shares forks and wakes a sleeping worker, because a thief has requested work.
  void answer(worker& self) noexcept;

  /// Called by a waiting worker. Answers a thief's request. If there is no request, shares forks, unless the worker has
  /// already shared some.
  void share(worker& self) noexcept;

  /// Waits until the fork `stolen`, which a thief has taken, has ended. Requires that the worker's deque is empty.
  void wait_for(worker& self, fork_record& stolen) noexcept;

  /// Runs one fork of another worker. Returns false if there is no fork, or if too many forks are already nested on
  /// this stack.
  auto help(worker& self) noexcept -> bool;

  /// Runs one posted job, with the same limits as `help`. It is used in waits that may depend on a posted job.
  static auto help_with_jobs(worker& self) noexcept -> bool;

  /// Returns how often a waiting worker looks for work before it blocks.
  [[nodiscard]] auto looks() const noexcept -> std::uint32_t { return looks_; }

  // --- Functions for workers without a job. ---

  /// Steals the oldest fork of the nearest worker that has shared a fork. If no worker has shared a fork, requests work
  /// from all workers. May also return a fork that a thread left in this worker's context when the thread blocked in
  /// the middle of a job.
  [[nodiscard]] auto steal(worker& self) noexcept -> fork_record*;

  /// Runs the stolen fork, and the forks that it left in the worker's deque.
  static void run_stolen(worker& self, fork_record& stolen) noexcept;

  /// Returns true if no worker has shared a fork, and no worker still has to answer a request to share forks.
  [[nodiscard]] auto empty() const noexcept -> bool;

  /// Returns true if no fork of the worker can still be in the worker's deque.
  [[nodiscard]] static auto has_none(const worker& self) noexcept -> bool {
    return self.forks.private_size() == 0 && self.forks.shared_size() == 0;
  }

  /// Requests work from all workers. Called for a worker that has announced that it is about to sleep.
  void ask_all() noexcept;

  /// Requests work from all workers if other workers still sleep. Called by a worker that was woken and has found work.
  void ask_for_sleepers() noexcept {
    if (asleep_.anybody_sleeps()) ask_all();
  }

 private:
  static constexpr std::uint32_t max_helps_elsewhere = 16;
  static constexpr std::uint32_t max_helps = 256;
  static constexpr int pauses_for_an_answer = 64;  // about a microsecond

  auto steal_shared(worker& self) noexcept -> fork_record*;
  auto steal_own(worker& self) noexcept -> fork_record*;
  [[nodiscard]] auto somebody_holds_back(const worker& self) const noexcept -> bool;

  auto steal_back(worker& self, const fork_record& stolen) noexcept -> fork_record*;

  const worker_list& workers_;
  asymmetric_barrier& barrier_;
  sleepers& asleep_;
  const std::uint32_t looks_;
};

/// Runs all forks that were added to the worker's deque since its end was at `position`.
BRAID_API void run_forks_since(worker& self, std::uint32_t position) noexcept;

/// Runs the forks that a job has left in the worker's deque. `position` is the position of the deque's end at the start
/// of the job. Called at the end of the job.
BRAID_API void run_left_forks(worker& self, std::uint32_t position) noexcept;

/// Pops and runs the forks above `child`. If `child` was stolen, waits for its end. Returns whether `child` was still
/// in the deque.
BRAID_API auto take_back_slowly(worker& self, fork_record& child, fork_record* newest) noexcept -> bool;

/// Pushes a fork. Returns false if the deque is full.
[[nodiscard]] inline auto push_fork(worker& self, fork_record& record) noexcept -> bool {
  const bool pushed = self.forks.try_push_privately(record);
  if (self.forks.wanted()) [[unlikely]]
    self.exchange->answer(self);
  return pushed;
}

/// Takes the child back. Returns true if no thief has taken the child, and false if the child has ended on another
/// thread.
[[nodiscard]] inline auto take_back(worker& self, fork_record& child) noexcept -> bool {
  fork_record* const newest = self.forks.pop();
  if (newest == &child) [[likely]] {
    self.forking.pace.came_back();
    return true;
  }
  return take_back_slowly(self, child, newest);
}

}  // namespace braid::detail
