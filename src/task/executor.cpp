// src/task/executor.cpp: defines the default implementations of the virtual functions of this folder's abstract
// classes.
#include <braid/task/detail/report_exception.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/worker.hpp>

#include <utility>

namespace braid {

driver::~driver() = default;
timer_service::~timer_service() = default;

auto driver::sleep_until(time_point deadline) noexcept -> wake_reason {
  if (deadline != time_point::max()) return park_until(deadline) ? wake_reason::permit : wake_reason::deadline;
  park();
  return wake_reason::permit;
}

void executor::report(std::exception_ptr error) noexcept { detail::report_job_exception({}, std::move(error), {}); }

}  // namespace braid
