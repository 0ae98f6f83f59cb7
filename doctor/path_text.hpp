// doctor/path_text.hpp: formats critical paths for people, as text and as additional tracks of the trace.
#pragma once

#include <doctor/critical_path.hpp>

#include <span>
#include <string>

namespace braid::doctor {

/// Formats requests, slowest first. For each request, lists the steps with their times in microseconds, and the sum of
/// the times for each kind of step. Consecutive short steps are merged.
auto to_text(const trace_file& trace, std::span<const traced_request> requests) -> std::string;

/// Returns packets to append to the trace file. The packets contain a track for each request, with the request's steps
/// as slices.
auto format_tracks(const trace_file& trace, std::span<const traced_request> requests) -> std::string;

/// Runs the command `braid-doctor trace` with the arguments after its name. Returns the exit status.
auto run_trace(std::span<const std::string> words) -> int;

}  // namespace braid::doctor
