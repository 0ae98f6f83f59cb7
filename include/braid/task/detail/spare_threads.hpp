// braid/task/detail/spare_threads.hpp: spare (compensating) threads for blocked workers.
#pragma once

#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/detail/user_code.hpp>
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

class scheduler_base;

/// Spare threads for blocked workers, like ForkJoinPool's compensation and Tokio's `block_in_place`. One thread at a
/// time owns the context of a worker: the thread that was started with the pool, or a spare thread. When a job blocks
/// on a future, its thread passes the context to a spare thread, so that the worker's other jobs continue. When the
/// future is ready, the blocked thread requests the context. The current owner returns the context at the end of its
/// own job, or when that job blocks. No job runs on top of the stack of a blocked job, so no job can deadlock the
/// blocked job. Threads: any; the argument `self` must be a context that the caller owns. Protocol:
/// docs/design/future.md
class BRAID_API spare_threads {
 public:
  /// The function that a spare thread runs. Its arguments are the number of the thread, which is the lowest free
  /// number, and a function that does the thread's work.
  using thread_body = std::function<void(std::size_t number, const std::function<void()>& serve)>;

  /// Constructs the set. At most `max_threads` spare threads exist at a time, and at most `max_idle` of them stay when
  /// they are idle.
  spare_threads(scheduler_base& jobs, std::size_t max_threads, std::size_t max_idle, thread_body around)
      : jobs_(jobs), max_threads_(max_threads), max_idle_(max_idle), around_(std::move(around)) {}
  spare_threads(const spare_threads&) = delete;
  auto operator=(const spare_threads&) -> spare_threads& = delete;
  ~spare_threads() { join(); }

  /// Runs the job that the caller waits for if the job is in this context and has not started.
  auto run_awaited(worker& self, job& awaited) noexcept -> bool;

  /// Returns whether there is work for the worker that owns this context.
  [[nodiscard]] auto has_work(worker& self) noexcept -> bool;

  /// Passes the context to another thread until `reacquire`. Returns false if no thread is available; the caller then
  /// keeps the context.
  [[nodiscard]] auto try_release(worker& self) noexcept -> bool;

  /// Blocks until the caller owns the context again. `helps` is the number of stolen forks that are nested on the
  /// caller's stack; this function stores that number in the context.
  void reacquire(worker& self, std::uint32_t helps) noexcept;

  /// Passes the context to the first thread that waits to get it back. Returns when the caller owns the context again.
  /// If the stack of the calling thread contains no code of the program, `marker` is the marker of this thread;
  /// otherwise it is null.
  void yield_context(worker& self, code_marker* marker = nullptr) noexcept;

  /// Blocks for a moment, but returns early if a thread requests the context of this worker. Workers call this instead
  /// of sleeping while blocked threads have unfinished jobs of this context, because these threads will request the
  /// context.
  static void pause(worker& self) noexcept;

  /// Ends the spare threads. Requires that no blocked thread will request a context again.
  void join() noexcept;

  /// Returns the number of threads that have been started so far.
  [[nodiscard]] auto started() const noexcept -> std::size_t { return started_.load(relaxed); }

 private:
  struct returning;
  struct spare_thread {
    std::thread thread;
    worker* context = nullptr;          // the context that this thread gets next; guarded by mutex_
    atomic<std::uint32_t> call{0};      // the number of contexts that this thread was given; plus 1 at its end
    bool ends = false;                  // under mutex_
    spare_thread* next_idle = nullptr;  // under mutex_
  };
  using spare_list = std::list<spare_thread>;

  auto hand_over(worker& self, spare_list& done) noexcept -> bool;
  auto give_to_returning(worker& self) noexcept -> bool;
  auto free_spare() noexcept -> spare_thread*;
  auto stays(spare_thread& self) noexcept -> bool;
  void run_spare(spare_thread& self, std::size_t number) noexcept;
  auto await_context(spare_thread& self) noexcept -> worker*;
  auto serve(spare_thread& self, worker& context) noexcept -> bool;

  scheduler_base& jobs_;
  const std::size_t max_threads_;
  const std::size_t max_idle_;
  const thread_body around_;
  atomic<std::size_t> started_{0};
  std::mutex mutex_;
  // The following members are guarded by mutex_.
  returning* first_ = nullptr;  // threads that wait to get their contexts back, in order
  spare_thread* idle_ = nullptr;
  std::size_t idle_count_ = 0;
  std::vector<bool> numbers_;  // the numbers that are in use
  spare_list threads_;
  spare_list ended_;  // surplus threads that have ended and were not joined yet
};

}  // namespace braid::detail
