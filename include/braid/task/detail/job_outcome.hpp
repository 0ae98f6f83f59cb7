// braid/task/detail/job_outcome.hpp: reports how a spawned job ended to an observer on the same thread.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/task/job.hpp>

#include <exception>
#include <optional>

namespace braid::detail {

/// An observer of one job. A spawned job stores its exception in its future, so its `run` throws nothing. While this
/// object exists, the job records its outcome here. The object is a local variable of the thread that runs the job.
class BRAID_API job_outcome {
 public:
  explicit job_outcome(const job& observed) noexcept;
  job_outcome(const job_outcome&) = delete;
  auto operator=(const job_outcome&) -> job_outcome& = delete;
  ~job_outcome();

  /// Records that the job `work`, which this thread runs, has thrown an exception or was skipped. Called only after an
  /// exception or a skip. If the job has no observer, the cost is a load of a thread-local variable.
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
