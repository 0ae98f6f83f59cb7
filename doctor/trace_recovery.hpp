// doctor/trace_recovery.hpp: completing the trace of a killed program.
#pragma once

#include <string>

namespace braid::doctor {

/// Adds to the trace in `file` what FILE.rings has beyond it, and removes that. What was done, as a line.
/// Errors: std::runtime_error with a sentence; std::system_error; std::bad_alloc. Both files are then as they were.
auto recover_trace(const std::string& file) -> std::string;

}  // namespace braid::doctor
