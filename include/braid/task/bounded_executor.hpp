// braid/task/bounded_executor.hpp: a bounded queue in front of an executor: what comes from outside waits, or is
// refused.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/task/detail/executor_layer.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/job.hpp>
#include <braid/task/when_full.hpp>

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace braid {

/// How much may wait, and what happens to more.
struct bounded_options {
  std::size_t capacity = 1024;  ///< jobs that were posted here and have not begun; not 0
  when_full full = when_full::wait;
};

/// A way into another executor that lets a bounded number of jobs wait there: what produces faster than it is worked
/// off has to wait, to help, or to hear of it, in place of memory that fills up. `post`, `spawn` and `spawn_all` take
/// it as they take a pool.
///
/// Only what is given to this object counts. What follows from it goes to the executor itself: continuations, the
/// resumptions of a task, and what workers of the executor post here, which so never wait for themselves.
/// Threads: any. Blocks: `post` and `spawn`, where `when_full::wait` says so: not on an event loop. Errors: errc::full
/// where `when_full::refuse` says so; errc::closed as the executor.
/// Lifetime: within that of the executor. The destructor waits until what was posted here has begun, or was dropped.
/// Cost: a lock and a block of memory for jobs more than the executor; a wake for each half of the room that producers
/// wait for.
class BRAID_API bounded_executor final : public detail::executor_layer {
 public:
  explicit bounded_executor(executor& over, bounded_options options = {});
  ~bounded_executor() override;

  [[nodiscard]] auto try_post(job& work) noexcept -> bool override;
  [[nodiscard]] auto why_refused() const noexcept -> errc override;

  /// How many jobs that were posted here have not begun.
  [[nodiscard]] auto pending() const -> std::size_t;

 private:
  class counted_job;
  class wait_for_room;
  class wait_for_none;
  enum class entry { counted, refused, caller_runs };

  auto enter() noexcept -> entry;
  void leave() noexcept;
  [[nodiscard]] auto has_room() const noexcept -> bool { return pending_ < options_.capacity; }  // under mutex_

  const bounded_options options_;
  mutable std::mutex mutex_;
  // Under mutex_:
  std::condition_variable room_;
  std::condition_variable none_;
  std::size_t pending_ = 0;
  std::size_t waiting_ = 0;  // threads that wait for room
  bool is_closed_ = false;   // the executor has refused a job
};

}  // namespace braid
