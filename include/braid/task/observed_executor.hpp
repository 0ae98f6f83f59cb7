// braid/task/observed_executor.hpp: hooks for the jobs that go into an executor, and counts of them.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/task/detail/executor_layer.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/job.hpp>
#include <braid/task/task_id.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace braid {

/// How a job ended.
enum class job_end : std::uint8_t {
  finished,  ///< it returned
  failed,    ///< it threw
  stopped,   ///< it was left out, because a stop came first
  dropped,   ///< a shutdown dropped it
};

/// What hooks get to know of a job.
struct job_report {
  /// The name of the function that was posted or spawned, as in a trace: `main::{lambda()#1}`. Blocks: where the table
  /// of names is read, the first time for each program and library. Errors: std::bad_alloc.
  [[nodiscard]] BRAID_API auto function() const -> std::string;

  task_id id;                          ///< counted from 1 by its observed_executor
  job::act_fn code = nullptr;          ///< what `function` names
  duration queued{};                   ///< from its post to its beginning
  duration ran{};                      ///< to its end; 0 in `on_start`
  job_end how = job_end::finished;     ///< in `on_end`
  std::exception_ptr error = nullptr;  ///< what it threw, or was left out or dropped for
};

/// Called for each job; either may be empty. Threads: those of the executor, several at a time. What they throw is
/// reported as what a job throws.
struct job_hooks {
  std::function<void(const job_report&)> on_start = {};  ///< before it runs; not for one that is dropped
  std::function<void(const job_report&)> on_end = {};    ///< after its result can be seen
};

/// What went through an observed_executor so far.
struct job_counts {
  std::uint64_t posted = 0;
  std::uint64_t refused = 0;
  std::size_t pending = 0;  ///< at the moment: accepted and not begun
  std::size_t running = 0;  ///< at the moment
  std::uint64_t finished = 0;
  std::uint64_t failed = 0;
  std::uint64_t stopped = 0;
  std::uint64_t dropped = 0;
  duration queued{};  ///< of all that have begun, together; divide by their number
  duration ran{};
  duration max_queued{};
  duration max_ran{};
};

/// A way into another executor that sees each job that is posted or spawned through it: hooks, which may be changed
/// while jobs run, and counts with times. What does not go through it costs nothing more. Of a task it sees the job
/// that begins it, up to its first wait; continuations and resumptions go to the executor itself.
/// Threads: any. Lifetime: within that of the executor. The destructor waits until all that was posted here has ended.
/// Cost: two looks at the clock, two locks and a block of memory for jobs more than the executor.
class BRAID_API observed_executor final : public detail::executor_layer {
 public:
  /// `clock` outlives it.
  explicit observed_executor(executor& over, job_hooks hooks = {}, const clock_source& clock = steady_time());
  ~observed_executor() override;

  [[nodiscard]] auto try_post(job& work) noexcept -> bool override;

  /// From now on jobs that begin or end call these; calls of the former ones may still be running. Errors:
  /// std::bad_alloc.
  void set_hooks(job_hooks hooks);

  [[nodiscard]] auto counts() const -> job_counts;

 private:
  class seen_job;
  class wait_for_all;
  using shared_hooks = std::shared_ptr<const job_hooks>;

  void begin(const job_report& report) noexcept;
  void end(job_report report, duration ran, job_end how, const std::exception_ptr& error) noexcept;
  auto count_of(job_end how) noexcept -> std::uint64_t&;  // under mutex_
  void call(const std::function<void(const job_report&)>& hook, const job_report& report) noexcept;

  const clock_source& clock_;
  atomic<std::uint64_t> next_id_{1};
  mutable std::mutex mutex_;
  // Under mutex_:
  shared_hooks hooks_;
  job_counts counts_;
  std::size_t inside_ = 0;  // jobs that may still use this object
  std::condition_variable none_;
};

}  // namespace braid
