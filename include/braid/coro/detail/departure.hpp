// braid/coro/detail/departure.hpp: the job that moves a task to another executor.
#pragma once

#include <braid/base/config.hpp>
#include <braid/coro/detail/sent_job.hpp>
#include <braid/coro/scope.hpp>

namespace braid::detail {

class schedule_awaiter;

/// The job that continues a task on another executor. If the task's scope is stopped before the job begins, the job is
/// withdrawn. The job is linked into the scope's list of callbacks, which only the home's thread may change. Therefore,
/// the scope frees the job later, on that thread.
class departure final : public sent_job, public stop_callback {
 public:
  explicit departure(schedule_awaiter& hop) noexcept : sent_job(&arrived), stop_callback(&stopped), hop_(&hop) {}
  ~departure() {
    if (is_linked()) unlink();
  }

 private:
  BRAID_API static void arrived(job& self, action action);
  BRAID_API static void stopped(stop_callback& self) noexcept;

  schedule_awaiter* hop_;
};

}  // namespace braid::detail
