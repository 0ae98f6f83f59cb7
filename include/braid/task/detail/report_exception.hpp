// braid/task/detail/report_exception.hpp: where exceptions go that nobody waits for.
#pragma once

#include <braid/base/config.hpp>

#include <exception>
#include <functional>

namespace braid::detail {

/// Hands what a job threw to `on_error`; without one, and when that throws too, the message goes to stderr.
BRAID_API void report_job_exception(const std::function<void(std::exception_ptr)>& on_error,
                                    std::exception_ptr error) noexcept;

}  // namespace braid::detail
