// rankd/engine/explain/plan_comparison.hpp: how two plans differ: their nodes, and what follows from these.
#pragma once

#include <rankd/engine/plans/bound_plan.hpp>
#include <rankd/plan/diff.hpp>
#include <rankd/registry/registries.hpp>

#include <string>
#include <vector>

namespace rankd {

/// A difference that is not written in the nodes but results from them, or from the plans' names: the columns of the
/// answer, the budget, the capabilities, the models, the libraries of operators, the files of vectors.
struct plan_consequence {
  std::string what;
  std::vector<std::string> before;
  std::vector<std::string> after;
};

/// All that distinguishes two plans.
struct plan_comparison {
  std::vector<plan_change> changes;
  std::vector<plan_consequence> consequences;

  [[nodiscard]] auto is_equal() const -> bool { return changes.empty() && consequences.empty(); }
};

/// Each plan comes with the registries that it is bound to. Cost: `differences`, and `find_columns` for both.
[[nodiscard]] auto compare_plans(const bound_plan& before, const bound_plan& after) -> plan_comparison;

/// Returns one object on one line, with its end: what `rankd diff A B --json` prints, and `GET /v1/plans/NAME/diff`
/// answers.
[[nodiscard]] auto comparison_json(const plan_comparison& found, const bound_plan& before, const bound_plan& after)
    -> std::string;

}  // namespace rankd
