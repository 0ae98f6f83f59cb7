// rankd/engine/plans/plan_needs.hpp: what a plan demands of its requests, and a request held against that.
#pragma once

#include <rankd/engine/requests/request.hpp>
#include <rankd/plan/plan.hpp>
#include <rankd/registry/registries.hpp>
#include <rankd/registry/value.hpp>

#include <braid/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rankd {

/// The values of a param that every option which is bound to it takes; both ends included.
struct param_range {
  std::size_t param = 0;  ///< a position in registries::params
  scalar min;             ///< int64 or double, as the param
  scalar max;
};

/// The parts of a request that the nodes of a plan read.
struct plan_needs {
  bool user = false;                                    ///< a node reads `user_id`
  bool candidates = false;                              ///< a node reads `candidates`
  bool pages = false;                                   ///< a node reads `cursor`, or one that the request does not run
  bool takes_candidates = false;                        ///< the same, or a node that the request does not run
  std::vector<const key_entry*> candidate_keys = {};    ///< columns that all of these take, ascending, without `id`
  std::vector<const key_entry*> read_keys = {};         ///< those of nodes that run
  std::vector<const param_entry*> context_params = {};  ///< that these read and a request must give, ascending
  std::vector<param_range> ranges = {};                 ///< of params that give options of nodes, each once, ascending
};

/// Of the nodes that run: all but those with a mark in `bypassed`, which is empty or has one for each node. Requires a
/// plan whose nodes were bound without diagnostic. Lifetime: the registries outlive the result.
auto needs_of(const plan& loaded, const registries& declared, const std::vector<bool>& bypassed = {}) -> plan_needs;

/// All params that a plan reads, in formulas, in keys, and as options of nodes: each once, ascending. Of all nodes but
/// those with a mark in `bypassed`, as `needs_of`. Lifetime: the registries outlive the result.
[[nodiscard]] auto params_read_by(const plan& loaded, const registries& declared,
                                  const std::vector<bool>& bypassed = {}) -> std::vector<const param_entry*>;

/// What a request lacks for a plan, or carries although no node of the plan takes it.
/// Errors: missing_field, unknown_field, unknown_column, param_out_of_range.
auto check_needs(const rank_request& request, const plan_needs& needs, const registries& declared)
    -> braid::diagnostics;

}  // namespace rankd
