// rankd/embed/plan_verdicts.hpp: checks which plans of a project can be run, and reports the errors of all other plans.
#pragma once

#include <rankd/embed/workspace.hpp>
#include <rankd/engine/plans/bound_plan.hpp>

#include <braid/base/error.hpp>

#include <string>
#include <vector>

namespace rankd {

/// The result of checking one plan, or of checking a project file that affects several plans, such as the index.
struct plan_verdict {
  std::string plan;
  braid::checked<bound_plan> bound;
};

/// The plans of a project that can be run, and the errors of all other plans and of the index.
struct plan_list {
  std::vector<bound_plan> right;
  braid::diagnostics problems;
};

/// Loads all plans of a project. Blocks: on the disk. Errors: unreadable_folder.
auto list_plans(const workspace& workspace) -> braid::checked<plan_list>;

/// Checks plans by name or file. Without names, checks all plans of the project, its index and its budgets. The index
/// and the budgets have a verdict only if they are wrong. Blocks: on the disk. Errors: unreadable_folder.
auto validate_plans(const workspace& workspace, std::vector<std::string> names)
    -> braid::checked<std::vector<plan_verdict>>;

/// Returns the output of `rankd validate --json` or `rankd plans --json`.
auto to_json(const std::vector<plan_verdict>& all) -> std::string;
auto to_json(const plan_list& found) -> std::string;

}  // namespace rankd
