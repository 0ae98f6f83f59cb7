// src/task/executor.cpp: where the tables of the abstract classes of this layer live, and what they do by default.
#include <braid/task/detail/report_exception.hpp>
#include <braid/task/driver.hpp>
#include <braid/task/executor.hpp>
#include <braid/task/timer_service.hpp>

#include <utility>

namespace braid {

driver::~driver() = default;
executor::~executor() = default;
timer_service::~timer_service() = default;

void executor::report(std::exception_ptr error) noexcept { detail::report_job_exception({}, std::move(error), {}); }

}  // namespace braid
