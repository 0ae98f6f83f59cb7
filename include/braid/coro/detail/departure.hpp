// braid/coro/detail/departure.hpp: a task on its way to another executor.
#pragma once

#include <braid/base/config.hpp>
#include <braid/coro/detail/sent_job.hpp>
#include <braid/coro/scope.hpp>

namespace braid::detail {

class schedule_awaiter;

/// The way of a task to another executor. Until that begins with it, a stop of the task's scope withdraws it. The scope
/// frees it later, at home: it is in the scope's list of callbacks until then.
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
