// braid/task/detail/job_outcome.hpp: what a spawned job says of its end to an observer around it on the same thread.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/task/job.hpp>

#include <exception>
#include <optional>

namespace braid::detail {

/// A spawned job keeps what it throws for its future: nothing leaves its `run`. While such an object exists, the job
/// that it names records here how it ended. They lie on the stack of the thread that runs the job.
class BRAID_API job_outcome {
 public:
  explicit job_outcome(const job& of) noexcept;
  job_outcome(const job_outcome&) = delete;
  auto operator=(const job_outcome&) -> job_outcome& = delete;
  ~job_outcome();

  /// Says that `work`, which this thread runs, has thrown, or was left out. If nothing observes the job, this costs a
  /// load of a thread-local variable, and only if there was an exception.
  static void note_failure(const job& work, const std::exception_ptr& error) noexcept;
  static void note_stop(const job& work, errc reason) noexcept;

  std::exception_ptr error;
  bool is_stopped = false;

 private:
  static auto find(const job& work) noexcept -> job_outcome*;

  const job* job_;
  job_outcome* outer_;
};

}  // namespace braid::detail
