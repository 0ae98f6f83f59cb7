// braid/task/detail/failure_of.hpp: the exceptions that the library itself fails futures and waits with.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>

#include <exception>

namespace braid::detail {

/// Returns the failure for a refusal of the library's own. Always the same object for the same code, so that nothing is
/// allocated when work is refused or dropped.
BRAID_API auto failure_of(errc code) noexcept -> const std::exception_ptr&;

}  // namespace braid::detail
