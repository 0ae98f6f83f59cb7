// doctor/path_text.hpp: formats critical paths for people, as text and as additional tracks of the trace.
#pragma once

#include <doctor/critical_path.hpp>

#include <span>
#include <string>

namespace braid::doctor {

/// Formats requests, slowest first. For each request, lists its steps with times in microseconds, and the sums by kind.
/// Consecutive short steps are merged.
auto to_text(const trace_file& trace, std::span<const traced_request> requests) -> std::string;

/// Returns packets to append to the trace file. They contain a track for each request, with its steps as slices.
auto format_tracks(const trace_file& trace, std::span<const traced_request> requests) -> std::string;

/// Runs the command `braid-doctor trace` with the arguments after its name. Returns the exit status.
auto run_trace(std::span<const std::string> words) -> int;

}  // namespace braid::doctor
