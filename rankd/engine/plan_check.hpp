// rankd/engine/plan_check.hpp: checks a plan by its artifact and its registries only.
#pragma once

#include <rankd/plan/plan.hpp>
#include <rankd/registry/registries.hpp>

#include <braid/base/error.hpp>

#include <string>
#include <vector>

namespace rankd {

/// The inputs on which the rows in the cache of a node depend.
struct cache_inputs {
  std::string node_id;
  bool reads_user = false;                 ///< the user of the request
  std::vector<const param_entry*> params;  ///< ascending by id
};

/// Returns everything that the rows of a node depend on. Requires a plan whose nodes were bound without diagnostic.
/// Lifetime: the registries outlive the result.
[[nodiscard]] auto inputs_of_cache(const plan& loaded, node_index node, const registries& declared) -> cache_inputs;

/// The errors in a plan, or else its likely mistakes.
struct plan_findings {
  braid::diagnostics problems;
  braid::diagnostics warnings;       ///< empty if there are problems
  std::vector<cache_inputs> caches;  ///< one for each node that has a cache; empty if there are problems
};

/// Returns the diagnostics of `bind_plan`, without reading the files of models and of vectors that the plan names.
/// Messages do not end with places in source files. Lifetime: the registries outlive the result.
[[nodiscard]] auto check_plan(const plan& loaded, const registries& declared) -> plan_findings;

}  // namespace rankd
