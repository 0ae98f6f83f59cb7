// doctor/path_text.hpp: critical paths for people: as text, and as tracks of the trace itself.
#pragma once

#include <doctor/critical_path.hpp>

#include <span>
#include <string>

namespace braid::doctor {

/// Returns the output of `trace` for requests, slowest first: their steps with times in microseconds, and sums by kind.
/// Steps that are short compared with the request are merged.
auto to_text(const trace_file& trace, std::span<const traced_request> requests) -> std::string;

/// Packets for the end of the file: a track for each request, on which its steps are slices.
auto format_tracks(const trace_file& trace, std::span<const traced_request> requests) -> std::string;

/// Runs the command `braid-doctor trace` with the arguments after its name. Returns the exit status.
auto run_trace(std::span<const std::string> words) -> int;

}  // namespace braid::doctor
