// rankd/engine/plans/plan_caches.hpp: the cached nodes of a plan, and the inputs that the rows of each cached node
// depend on.
#pragma once

#include <rankd/engine/plans/branches.hpp>
#include <rankd/expr/compile.hpp>
#include <rankd/plan/plan.hpp>
#include <rankd/registry/registries.hpp>

#include <braid/base/error.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rankd {

/// A node with a cache and its *part* of the plan: the node itself, and all nodes that its rows depend on.
struct bound_cache {
  node_index node = 0;
  node_cache how;
  /// A digest of the plan, the registries and the node. The cache keys of the node's rows begin with this digest.
  std::string digest;
  bool reads_user = false;                    ///< whether a node of the part reads the user
  std::vector<std::size_t> params;            ///< params that the part reads: positions in registries::params
  std::shared_ptr<const plan_branches> part;  ///< the routes of this part
};

/// The caches of one plan. Immutable. Threads: any.
struct plan_caches {
  std::vector<bound_cache> all;
  std::vector<const bound_cache*> of_node;    ///< by node number; null if the node has no cache
  std::shared_ptr<const plan_branches> rest;  ///< the routes of requests that read rows from caches

  plan_caches() = default;
  plan_caches(const plan_caches&) = delete;
  auto operator=(const plan_caches&) -> plan_caches& = delete;
};

/// Reports why nodes cannot have a cache. Requires a plan whose nodes were bound without diagnostics.
/// Errors: too_many_caches; uncacheable if the cached part of the plan reads something that is not in the cache key
/// (candidates, cursors, the time of the request), or if this part contains a fallback or another cache.
[[nodiscard]] auto check_caches(const plan& loaded, const registries& declared) -> braid::diagnostics;

/// Returns the caches of a plan, or null if no node has a cache. Requires that `check_caches` reports no error.
/// `identity` is the digest of the plan and of everything that it was built from. Lifetime: the registries must outlive
/// the result.
[[nodiscard]] auto bind_caches(const std::shared_ptr<const plan>& loaded, std::span<const pred_program> preds,
                               const registries& declared, std::string_view identity)
    -> std::shared_ptr<const plan_caches>;

}  // namespace rankd
