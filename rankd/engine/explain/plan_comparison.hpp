// rankd/engine/explain/plan_comparison.hpp: the differences between two plans: their nodes, and the consequences for
// answers and budgets.
#pragma once

#include <rankd/engine/plans/bound_plan.hpp>
#include <rankd/plan/diff.hpp>
#include <rankd/registry/registries.hpp>

#include <string>
#include <vector>

namespace rankd {

/// A consequence of the differences between the nodes or names of two plans. It concerns the columns of answers, the
/// budget, the required capabilities, models, libraries of operators, or files of vectors.
struct plan_consequence {
  std::string what;
  std::vector<std::string> before;
  std::vector<std::string> after;
};

/// All differences between two plans.
struct plan_comparison {
  std::vector<plan_change> changes;
  std::vector<plan_consequence> consequences;

  [[nodiscard]] auto is_equal() const -> bool { return changes.empty() && consequences.empty(); }
};

/// Compares two plans. Each plan is read with the registries that it is bound to. Cost: that of a call of
/// `differences`, and of a call of `find_columns` for each plan.
[[nodiscard]] auto compare_plans(const bound_plan& before, const bound_plan& after) -> plan_comparison;

/// Returns the comparison as one line of JSON with a line feed. `rankd diff A B --json` and `GET /v1/plans/NAME/diff`
/// return this text.
[[nodiscard]] auto comparison_json(const plan_comparison& found, const bound_plan& before, const bound_plan& after)
    -> std::string;

}  // namespace rankd
