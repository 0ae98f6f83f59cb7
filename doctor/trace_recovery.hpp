// doctor/trace_recovery.hpp: completing the trace of a killed program.
#pragma once

#include <string>

namespace braid::doctor {

/// Appends to the trace in `file` the records that only FILE.rings contains, and removes FILE.rings. Returns a line
/// that says what was done.
/// Errors: std::runtime_error with a sentence; std::system_error; std::bad_alloc. Both files are then unchanged.
auto recover_trace(const std::string& file) -> std::string;

}  // namespace braid::doctor
