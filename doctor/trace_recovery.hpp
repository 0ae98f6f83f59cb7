// doctor/trace_recovery.hpp: completes the trace of a killed program.
#pragma once

#include <string>

namespace braid::doctor {

/// Appends the records that only FILE.rings contains to the trace in `file`, and removes FILE.rings. Returns a line of
/// text about the result.
/// Errors: std::runtime_error with a message; std::system_error; std::bad_alloc. Both files are unchanged after an
/// error.
auto recover_trace(const std::string& file) -> std::string;

}  // namespace braid::doctor
