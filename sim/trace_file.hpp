// sim/trace_file.hpp: writes a trace of a run for Perfetto.
#pragma once

#include <sim/run_log.hpp>

#include <string>
#include <vector>

namespace sim {

/// The maximum number of switches of a traced process that are kept. Only the last switches are kept.
inline constexpr std::uint64_t traced_records = 4'000'000;

/// A machine in a trace.
struct traced_machine {
  std::string name;
  std::int32_t clock_drift_ppm = 0;
};

/// Checks, before a run, that a trace can be written to a file. Returns an error message, or an empty text.
auto check_trace(const std::string& file) -> std::string;

/// Changes the options so that the processes of a run record what a trace needs. Does nothing unless the options name a
/// trace file.
void prepare_trace(run_options& options);

/// Writes a trace of a run. Prints the name of the file. Throws std::system_error if the file cannot be written.
void write_trace(const std::string& file, const std::vector<traced_machine>& machines, const run_log& log);

}  // namespace sim
