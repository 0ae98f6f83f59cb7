// rankd/server/traffic/traffic_findings.hpp: files of recorded traffic given to a comparison of two plans, and what it
// finds.
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

/// A file of recorded traffic, once it is read.
struct read_record {
  std::string file;
  traffic_reader::end end{};
  std::uint64_t position = 0;
};

/// What came of a comparison of two plans on recorded traffic.
struct traffic_findings {
  std::string plan;  ///< whose requests were run
  std::size_t depth = 0;
  std::vector<read_record> records;
  std::uint64_t lost = 0;  ///< requests, when they were recorded
  traffic_differences found;
};

/// The files among these places, and the NAME.rec of the folders among them, in the order of their names.
/// Errors: no_records for a folder that holds none.
auto list_records(const std::vector<std::filesystem::path>& places)
    -> braid::checked<std::vector<std::filesystem::path>>;

/// Called with the bytes that were read, and those of all files. False: the comparison is given up.
using traffic_progress = std::function<bool(std::uint64_t done, std::uint64_t all)>;

/// Runs both plans for the requests in these files. Blocks: as long as it runs. Errors: those of `traffic_reader::open`
/// and `traffic_comparison`; unknown_plan where no recorded request is for the plan in question; comparison_stopped
/// where `progress` says so.
auto compare_on_records(const std::vector<std::filesystem::path>& files, traffic_comparison::settings how,
                        const traffic_progress& progress) -> braid::checked<traffic_findings>;

/// Returns a mean over the requests that both plans have answered, or 0 if there is none.
[[nodiscard]] auto mean_of(double sum, const traffic_differences& of) -> double;

/// One object on one line, without a line feed: the member `traffic` of `rankd diff A B --traffic REC --json`.
[[nodiscard]] auto to_json(const traffic_findings& of) -> std::string;

/// An array of `{id, was, is, node, why}`.
[[nodiscard]] auto to_json(const std::vector<moved_id>& moves) -> std::string;

}  // namespace rankd
