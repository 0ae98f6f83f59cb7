// braid/task/detail/failure_of.hpp: the exceptions with which the library itself fails futures and waits.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>

#include <exception>

namespace braid::detail {

/// Returns the exception with which the library fails work that it refuses or drops. Each error code has one
/// preallocated exception, so no memory is allocated.
BRAID_API auto failure_of(errc code) noexcept -> const std::exception_ptr&;

}  // namespace braid::detail
