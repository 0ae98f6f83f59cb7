// rankd/server/traffic/traffic_findings.hpp: compares two plans on files of recorded traffic, and reports the
// differences.
#pragma once

#include <rankd/engine/explain/moved_ids.hpp>
#include <rankd/server/traffic/traffic_comparison.hpp>
#include <rankd/server/traffic/traffic_file.hpp>

#include <braid/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace rankd {

/// A file of recorded traffic that was read.
struct read_record {
  std::string file;
  traffic_reader::end end{};
  std::uint64_t position = 0;
};

/// The result of a comparison of two plans on recorded traffic.
struct traffic_findings {
  std::string plan;  ///< the plan whose requests were run
  std::size_t depth = 0;
  std::vector<read_record> records;
  std::uint64_t lost = 0;  ///< requests that were lost when the traffic was recorded
  traffic_differences found;
};

/// Returns the files of recorded traffic at these paths: the given files, and the files NAME.rec in the given folders,
/// sorted by name.
/// Errors: no_records for a folder without records.
auto list_records(const std::vector<std::filesystem::path>& places)
    -> braid::checked<std::vector<std::filesystem::path>>;

/// Receives the number of bytes read so far, and the total size of all files. If the function returns false, the
/// comparison stops.
using traffic_progress = std::function<bool(std::uint64_t done, std::uint64_t all)>;

/// Runs both plans for the requests in these files. Blocks: until all requests have run. Errors: those of
/// `traffic_reader::open` and `traffic_comparison`; unknown_plan if no recorded request was sent to the compared plan;
/// comparison_stopped if `progress` returns false.
auto compare_on_records(const std::vector<std::filesystem::path>& files, traffic_comparison::settings settings,
                        const traffic_progress& progress) -> braid::checked<traffic_findings>;

/// Returns the mean over the requests that both plans have answered, or 0 if there are no such requests.
[[nodiscard]] auto compute_mean(double sum, const traffic_differences& differences) -> double;

/// Returns the findings as one JSON object on one line, without a line feed. `rankd diff A B --traffic REC --json`
/// prints it as the member `traffic`.
[[nodiscard]] auto to_json(const traffic_findings& findings) -> std::string;

/// Returns the moved ids as a JSON array of `{id, was, is, node, why}`.
[[nodiscard]] auto to_json(const std::vector<moved_id>& moves) -> std::string;

}  // namespace rankd
