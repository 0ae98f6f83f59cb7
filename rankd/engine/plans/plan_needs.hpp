// rankd/engine/plans/plan_needs.hpp: the fields that a plan needs in its requests, and the check of a request.
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

/// The range of values that are accepted by all options bound to a param. It includes both ends.
struct param_range {
  std::size_t param = 0;  ///< a position in registries::params
  scalar min;             ///< int64 or double, like the param
  scalar max;
};

/// The fields of a request that the nodes of a plan read.
struct plan_needs {
  bool user = false;              ///< whether a node reads `user_id`
  bool candidates = false;        ///< whether a node reads `candidates`
  bool pages = false;             ///< whether a node reads `cursor`, even if the request does not run that node
  bool takes_candidates = false;  ///< whether a node reads `candidates`, even if the request does not run that node
  /// The columns that the nodes read from the candidates, ordered by key id, without `id`.
  std::vector<const key_entry*> candidate_keys = {};
  std::vector<const key_entry*> read_keys = {};  ///< columns that running nodes read
  /// The params that nodes read and that a request must set, in the order of the registry.
  std::vector<const param_entry*> context_params = {};
  std::vector<param_range> ranges = {};  ///< for params that set options of nodes: each param once, ascending
};

/// Returns the needs of the nodes that run. `bypassed` has an entry for each node, which is true if the node does not
/// run. If `bypassed` is empty, all nodes run. Requires a plan whose nodes were bound without diagnostics. Lifetime:
/// the registries must outlive the result.
auto find_needs(const plan& loaded, const registries& declared, const std::vector<bool>& bypassed = {}) -> plan_needs;

/// Returns all params that a plan reads in formulas, in keys and as options of nodes. Each param is returned once, in
/// ascending order. Ignores bypassed nodes, as `find_needs` does. Lifetime: the registries must outlive the result.
[[nodiscard]] auto params_read_by(const plan& loaded, const registries& declared,
                                  const std::vector<bool>& bypassed = {}) -> std::vector<const param_entry*>;

/// Reports fields that the plan needs but the request lacks, and fields of the request that no node of the plan reads.
/// Errors: missing_field, unknown_field, unknown_column, param_out_of_range.
auto check_needs(const rank_request& request, const plan_needs& needs, const registries& declared)
    -> braid::diagnostics;

}  // namespace rankd
