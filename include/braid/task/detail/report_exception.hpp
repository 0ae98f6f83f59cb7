// braid/task/detail/report_exception.hpp: reports exceptions of jobs that no code waits for.
#pragma once

#include <braid/base/config.hpp>
#include <braid/task/executor.hpp>

#include <exception>

namespace braid::detail {

/// Passes the exception of a job to `on_error`. If `on_error` is empty, or if it throws an exception itself, the
/// message goes to stderr.
BRAID_API void report_job_exception(const error_callback& on_error, std::exception_ptr error,
                                    const error_callback::origin& origin) noexcept;

}  // namespace braid::detail
