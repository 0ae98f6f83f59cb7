// braid/task/detail/report_exception.hpp: reports the exceptions of jobs that have no waiter.
#pragma once

#include <braid/base/config.hpp>
#include <braid/task/executor.hpp>

#include <exception>

namespace braid::detail {

/// Hands what a job threw to `on_error`; without one, and when that throws too, the message goes to stderr.
BRAID_API void report_job_exception(const error_callback& on_error, std::exception_ptr error,
                                    const error_callback::origin& origin) noexcept;

}  // namespace braid::detail
