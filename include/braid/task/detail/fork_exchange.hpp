// braid/task/detail/fork_exchange.hpp: work stealing of forks between workers, and waiting for stolen ones.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/detail/asymmetric_barrier.hpp>
#include <braid/task/detail/fork_record.hpp>
#include <braid/task/detail/sleepers.hpp>
#include <braid/task/worker.hpp>

#include <cstdint>
#include <utility>

namespace braid::detail {

/// The part of a pool that steals forks. A missed request or wake costs parallelism and loses nothing: the forking
/// worker takes its fork back in any case.
/// Threads: each worker for itself.
/// Protocol: docs/design/fork_join.md
class BRAID_API fork_exchange {
 public:
  /// `looks`: how often a worker that waits looks about itself before it blocks.
  fork_exchange(const worker_list& workers, asymmetric_barrier& barrier, sleepers& asleep, std::uint32_t looks) noexcept
      : workers_(workers), barrier_(barrier), asleep_(asleep), looks_(looks) {}

  // --- workers that fork ---

  /// A thief has asked: shares forks, and wakes a sleeping worker.
  void answer(worker& self) noexcept;

  /// Called by a waiting worker: answers a thief, and shares even if no thief has asked, unless something is shared
  /// already.
  void share(worker& self) noexcept;

  /// Returns when the record, which a thief has taken, has ended. Requires an empty deque of the worker.
  void wait_for(worker& self, fork_record& stolen) noexcept;

  /// Runs one fork of another worker. Returns false if there is no fork, or if the stack holds enough of them already.
  auto help(worker& self) noexcept -> bool;

  /// Runs a posted job, once, within the same bounds. For waits that may need one.
  static auto help_with_jobs(worker& self) noexcept -> bool;

  /// Returns how often a waiting worker looks for work before it blocks.
  [[nodiscard]] auto looks() const noexcept -> std::uint32_t { return looks_; }

  // --- workers without a job ---

  /// Steals the oldest fork of the nearest worker that has shared one; if there is none, all workers have been asked.
  /// It may also return a fork of the worker's own context, if a thread that waits in the middle of a job has left it.
  [[nodiscard]] auto steal(worker& self) noexcept -> fork_record*;

  /// Runs the stolen fork, and what it left in the worker's deque.
  static void run_stolen(worker& self, fork_record& stolen) noexcept;

  /// Returns true if no worker has shared anything, and no worker leaves a request unanswered although it has entries
  /// to share.
  [[nodiscard]] auto empty() const noexcept -> bool;

  /// Returns true if no fork of the worker can still be in its deque.
  [[nodiscard]] static auto has_none(const worker& self) noexcept -> bool {
    return self.forks.private_size() == 0 && self.forks.shared_size() == 0;
  }

  /// Asks all, on behalf of a worker that is about to sleep and has announced that.
  void ask_all() noexcept;

  /// A worker that was woken has found work: it asks on behalf of the workers that still sleep.
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

/// Runs all that was added to the worker's deque since its position was this.
BRAID_API void run_forks_since(worker& self, std::uint32_t position) noexcept;

/// Does the same at the end of a job, which began at this position.
BRAID_API void run_left_forks(worker& self, std::uint32_t position) noexcept;

/// Pops and runs the forks above `child`, and then waits for the child if it is not there. Returns whether it was
/// there.
BRAID_API auto take_back_slowly(worker& self, fork_record& child, fork_record* newest) noexcept -> bool;

/// Pushes a fork. Returns false if the deque is full.
[[nodiscard]] inline auto push_fork(worker& self, fork_record& record) noexcept -> bool {
  const bool pushed = self.forks.try_push_privately(record);
  if (self.forks.wanted()) [[unlikely]]
    self.exchange->answer(self);
  return pushed;
}

/// Takes the child back. Returns true if no thief has taken it, and false if it has ended elsewhere.
[[nodiscard]] inline auto take_back(worker& self, fork_record& child) noexcept -> bool {
  fork_record* const newest = self.forks.pop();
  if (newest == &child) [[likely]] {
    self.forking.pace.came_back();
    return true;
  }
  return take_back_slowly(self, child, newest);
}

}  // namespace braid::detail
