// rankd/engine/plan_check.hpp: checks a plan against its registries. No other files are read.
#pragma once

#include <rankd/plan/plan.hpp>
#include <rankd/registry/registries.hpp>

#include <braid/base/error.hpp>

#include <string>
#include <vector>

namespace rankd {

/// The inputs that the cached rows of a node depend on.
struct cache_inputs {
  std::string node_id;
  bool reads_user = false;                 ///< the user of the request
  std::vector<const param_entry*> params;  ///< ascending by id
};

/// Returns all inputs that the rows of a node depend on. Requires a plan whose nodes were bound without diagnostics.
/// Lifetime: the registries must outlive the result.
[[nodiscard]] auto inputs_of_cache(const plan& loaded, node_index node, const registries& declared) -> cache_inputs;

/// The errors in a plan. If there are no errors, the warnings about the plan.
struct plan_findings {
  braid::diagnostics problems;
  braid::diagnostics warnings;       ///< empty if there are problems
  std::vector<cache_inputs> caches;  ///< one for each node that has a cache; empty if there are problems
};

/// Returns the diagnostics that `bind_plan` would report, except those of models and vectors, whose files are not read.
/// Messages do not contain positions in source files. Lifetime: the registries must outlive the result.
[[nodiscard]] auto check_plan(const plan& loaded, const registries& declared) -> plan_findings;

}  // namespace rankd
