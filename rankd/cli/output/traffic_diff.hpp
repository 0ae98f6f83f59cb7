// rankd/cli/output/traffic_diff.hpp: rankd diff --traffic: compares the answers of two plans to recorded requests.
#pragma once

#include <rankd/cli/commands/commands.hpp>
#include <rankd/embed/workspace.hpp>
#include <rankd/engine/plans/bound_plan.hpp>

#include <braid/base/error.hpp>

#include <string>

namespace rankd {

/// A report about the differences between the answers of two plans. It is printed after the structural differences of
/// the plans.
struct traffic_report {
  std::string text;           ///< lines for people, or one JSON object without a line feed
  bool is_all_equal = false;  ///< every request could be compared, and no answer differs
};

/// Runs both plans for the recorded requests, and shows the progress on standard error. Blocks: until all requests have
/// run.
/// Errors: those of `traffic_reader::open`, `traffic_comparison` and `open_all_stores`; no_records for a folder without
/// records; unknown_plan if no record contains a request to the compared plan.
auto compare_on_traffic(const diff_options& options, const workspace& workspace, const bound_plan& before,
                        const bound_plan& after) -> braid::checked<traffic_report>;

}  // namespace rankd
