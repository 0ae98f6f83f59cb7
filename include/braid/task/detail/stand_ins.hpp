// braid/task/detail/stand_ins.hpp: spare (compensating) threads for blocked workers.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/job.hpp>
#include <braid/task/worker.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace braid::detail {

class crew;

/// Spare threads for blocked workers: ForkJoinPool's compensation, Tokio's `block_in_place`. One thread at a time owns
/// the context of a worker: the thread that was made with the pool, or a spare one. When a job blocks on a future, its
/// thread hands the context to a spare thread, so that the worker's other jobs go on. When the future is ready, the
/// blocked thread asks for the context back, and the owner returns it at the end of its own job, or when that blocks.
/// No job ever runs on top of a blocked stack frame, so none can deadlock it.
/// Threads: `self` is a context that the caller owns. Protocol: docs/design/future.md
class BRAID_API stand_ins {
 public:
  /// What a stand-in does: it gets its number, the lowest that no other has, and calls the function for its work.
  using life = std::function<void(std::size_t number, const std::function<void()>& serve)>;

  /// There are `most` at once, and `most_idle` stay when they have nothing to do.
  stand_ins(crew& jobs, std::size_t most, std::size_t most_idle, life around)
      : jobs_(jobs), most_(most), most_idle_(most_idle), around_(std::move(around)) {}
  stand_ins(const stand_ins&) = delete;
  auto operator=(const stand_ins&) -> stand_ins& = delete;
  ~stand_ins() { join(); }

  /// Runs what the caller waits for, if it lies at this seat and has not started.
  auto run_awaited(worker& self, job& awaited) noexcept -> bool;

  /// Whether there is something that a worker of this seat would do.
  [[nodiscard]] auto has_work(worker& self) noexcept -> bool;

  /// Somebody else gets the seat, until `come_back`. False when there is nobody: then the caller keeps it.
  [[nodiscard]] auto try_leave(worker& self) noexcept -> bool;

  /// Blocks until the caller has the seat again that it had left.
  void come_back(worker& self) noexcept;

  /// Hands the context to the first thread that has come back for it, and returns when the caller owns it again.
  void give_way(worker& self) noexcept;

  /// Blocks for a moment, or until somebody comes back. Instead of a sleep, while threads are away from the seat: their
  /// jobs are not done.
  static void pause(worker& self) noexcept;

  /// Ends the stand-ins. Requires that no thread is away from a seat.
  void join() noexcept;

  /// How many were started so far.
  [[nodiscard]] auto started() const noexcept -> std::size_t { return started_.load(relaxed); }

 private:
  struct coming;
  struct stand_in {
    std::thread thread;
    worker* seat = nullptr;         // where it is to work; under mutex_
    atomic<std::uint32_t> call{0};  // counts the seats that it was given, and its end
    bool ends = false;              // under mutex_
    stand_in* next_idle = nullptr;  // under mutex_
  };
  using stand_in_list = std::list<stand_in>;

  auto hand_over(worker& self, stand_in_list& done) noexcept -> bool;
  auto give_to_coming(worker& self) noexcept -> bool;
  auto free_stand_in() noexcept -> stand_in*;
  auto stays(stand_in& self) noexcept -> bool;
  void live(stand_in& self, std::size_t number) noexcept;
  auto await_seat(stand_in& self) noexcept -> worker*;
  auto serve(stand_in& self, worker& seat) noexcept -> bool;

  crew& jobs_;
  const std::size_t most_;
  const std::size_t most_idle_;
  const life around_;
  atomic<std::size_t> started_{0};
  std::mutex mutex_;
  // Under mutex_:
  coming* first_ = nullptr;  // threads that have come back, in order
  stand_in* idle_ = nullptr;
  std::size_t idle_count_ = 0;
  std::vector<bool> numbers_;  // which are in use
  stand_in_list all_;
  stand_in_list ended_;  // threads that were too many, and are still to be joined
};

}  // namespace braid::detail
