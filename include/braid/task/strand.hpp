// braid/task/strand.hpp: a serial executor (Asio's strand): jobs run one at a time, in order, on another executor.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/detail/intrusive_queue.hpp>
#include <braid/task/detail/strand_queue.hpp>
#include <braid/task/detail/drain_limit.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/job.hpp>

#include <cstddef>
#include <exception>
#include <stop_token>

namespace braid {

/// Whatever is posted here runs alone, after what was posted before it, and sees what that did: data that only jobs of
/// one strand touch needs no lock. A job that waits for another one of its strand waits for itself, and gets an error.
/// No lock is held while a job runs. After `max_consecutive` jobs, or about `max_drain`, a strand lets other work of
/// the executor go first.
///
/// Where the executor is closed or gone the strand is closed too, from the next time on that it needs it; where the
/// executor drops the strand's drain, all jobs that wait are dropped.
/// Threads: any. Cost: a compare-exchange a job, and a post to the executor for each time that the strand was empty.
/// Lifetime: the destructor waits for the jobs that were posted; on a worker the other work of its pool goes on
/// meanwhile.
/// Protocol: docs/design/strand.md
class BRAID_API strand final : public executor {
 public:
  static constexpr std::size_t max_consecutive = detail::drain_limit::max_consecutive;
  static constexpr duration max_drain = detail::drain_limit::max_time;

  /// `clock` measures the jobs, and outlives the strand.
  explicit strand(executor& where, const clock_source& clock = steady_time())
      : where_(where.id()), clock_(clock), drain_job_(*this) {}
  ~strand() override;

  [[nodiscard]] auto try_post(job& work) noexcept -> bool override;

  /// Whether the calling thread runs a job of this strand, or one inside of such a job.
  [[nodiscard]] auto is_current() const noexcept -> bool override;
  [[nodiscard]] auto needs_polls() const noexcept -> bool override;
  [[nodiscard]] auto poll() noexcept -> bool override;
  [[nodiscard]] auto stop_token() const noexcept -> std::stop_token override;
  void report(std::exception_ptr error) noexcept override;

 private:
  struct drain_job final : job {
    explicit drain_job(strand& whose) noexcept : job(&act), owner(whose) {}
    static void act(job& self, action what);
    strand& owner;
  };

  void drain() noexcept;
  void drop_all_jobs() noexcept;
  void run(job& work) noexcept;
  [[nodiscard]] auto has_more() noexcept -> bool;

  const detail::executor_id where_;
  const clock_source& clock_;
  detail::strand_queue<job> queue_;
  // For the thread that holds the strand:
  detail::intrusive_queue<job> ready_;  // taken out of the queue
  bool yields_ = true;                  // the executor has not refused a drain yet
  detail::drain_limit length_;
  drain_job drain_job_;
};

}  // namespace braid
