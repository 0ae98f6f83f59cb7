// doctor/top_table.hpp: parses the metrics of a program that runs with BRAID_TOP=1, and formats them as tables.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace braid::doctor {

/// The value of one metric of a program at the time of a sample.
struct top_sample {
  std::string family;  ///< such as `braid_worker_jobs`, without `_total`
  bool is_counter = false;
  std::map<std::string, std::string> labels;
  double value = 0;
};

/// Parses metrics in the OpenMetrics text format. Other lines are ignored.
auto parse_samples(std::string_view text) -> std::vector<top_sample>;

/// Formats two samples that were taken `seconds` apart: workers, loops, queues, the waits of tasks, and the rates of
/// other counters.
auto to_table(std::span<const top_sample> before, std::span<const top_sample> now, double seconds) -> std::string;

/// Runs the command `braid-doctor top` with the arguments after its name. Returns the exit status.
auto run_top(std::span<const std::string> words) -> int;

}  // namespace braid::doctor
