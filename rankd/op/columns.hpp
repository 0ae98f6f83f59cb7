// rankd/op/columns.hpp: finds the columns that the rows of each node may have, and reports nodes that would overwrite a
// column.
#pragma once

#include <rankd/plan/plan.hpp>
#include <rankd/registry/registries.hpp>

#include <braid/base/error.hpp>

#include <cstdint>
#include <vector>

namespace rankd {

/// Reports three problems in a plan. column_exists: a node adds a column that its input rows may already have.
/// Operators that add columns, such as a join, never overwrite a column. unknown_column: a key template has a hole for
/// a column that the rows cannot have. fallback_lacks_column: the fallback of a node lacks columns of the node's rows.
/// Every row has `id`. Requires a plan whose nodes were bound without diagnostics. Cost: one bit of memory for each
/// node and key.
auto check_columns(const plan& loaded, const registries& declared) -> braid::diagnostics;

/// Reports column_missing for each key that a node reads although the rows of its sources cannot have it. The key is
/// null in every row, so a filter may drop all rows, but the plan can run. Requires a plan whose nodes were bound
/// without diagnostics. Cost: one bit of memory for each node and key.
[[nodiscard]] auto missing_columns(const plan& loaded, const registries& declared) -> braid::diagnostics;

/// Three ascending lists of keys: those that one node reads, those that it writes, and all those that its rows may
/// have.
struct node_columns {
  std::vector<std::uint32_t> reads;   ///< keys that the params and formulas of the node name
  std::vector<std::uint32_t> writes;  ///< keys that the node adds to its rows
  std::vector<std::uint32_t> has;     ///< all keys that the rows of the node may have
};

/// Returns the columns of each node of a plan, in the order of the artifact. Requires a plan whose nodes were bound
/// without diagnostics. Cost: one bit of memory for each node and key.
[[nodiscard]] auto find_columns(const plan& loaded, const registries& declared) -> std::vector<node_columns>;

}  // namespace rankd
