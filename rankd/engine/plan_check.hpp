// rankd/engine/plan_check.hpp: all that is wrong with a plan by its artifact and its registries alone.
#pragma once

#include <rankd/plan/plan.hpp>
#include <rankd/registry/registries.hpp>

#include <braid/base/error.hpp>

#include <string>
#include <vector>

namespace rankd {

/// What the rows in the cache of a node depend on.
struct cache_inputs {
  std::string node_id;
  bool reads_user = false;                 ///< the user of the request
  std::vector<const param_entry*> params;  ///< ascending by id
};

/// Returns what the rows of a node are a function of. Requires a plan whose nodes were bound without diagnostic.
/// Lifetime: the registries outlive the result.
[[nodiscard]] auto inputs_of_cache(const plan& loaded, node_index node, const registries& declared) -> cache_inputs;

/// What is wrong with a plan, or else what is most likely a mistake.
struct plan_findings {
  braid::diagnostics problems;
  braid::diagnostics warnings;       ///< empty if there are problems
  std::vector<cache_inputs> caches;  ///< one for each node that has a cache; empty if there are problems
};

/// Returns the diagnostics of `bind_plan`, without reading the files of models and of vectors that the plan names.
/// Messages do not end with places in source files. Lifetime: the registries outlive the result.
[[nodiscard]] auto check_plan(const plan& loaded, const registries& declared) -> plan_findings;

}  // namespace rankd
