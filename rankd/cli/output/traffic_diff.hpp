// rankd/cli/output/traffic_diff.hpp: rankd diff --traffic: how the answers of two plans to recorded requests differ.
#pragma once

#include <rankd/cli/commands/commands.hpp>
#include <rankd/embed/workspace.hpp>
#include <rankd/engine/plans/bound_plan.hpp>

#include <braid/base/error.hpp>

#include <string>

namespace rankd {

/// The report that is printed after the difference of the plans themselves.
struct traffic_report {
  std::string text;           ///< lines for people, or one JSON object without a line feed
  bool is_all_equal = false;  ///< every request could be compared, and no answer differs
};

/// Runs both plans for the requests that the options name, with progress on standard error. Blocks: as long as it runs.
/// Errors: those of `traffic_reader::open`, `traffic_comparison` and `open_all_stores`; no_records for a folder without
/// records; unknown_plan if no recorded request is for the plan in question.
auto compare_on_traffic(const diff_options& options, const workspace& workspace, const bound_plan& before,
                        const bound_plan& after) -> braid::checked<traffic_report>;

}  // namespace rankd
