// rankd/op/columns.hpp: which columns the rows of each node may have, and nodes that would write over one.
#pragma once

#include <rankd/plan/plan.hpp>
#include <rankd/registry/registries.hpp>

#include <braid/base/error.hpp>

#include <cstdint>
#include <vector>

namespace rankd {

/// Reports column_exists if a node of an operator that adds columns, such as a join, adds one that the rows of its
/// first source may have: these operators never overwrite a column. Every row has `id`. Reports unknown_column if a key
/// template has a hole for a column that the rows cannot have, and fallback_lacks_column if the substitute of a node
/// lacks columns of its rows. Requires a plan whose nodes were bound without diagnostics. Cost: a bit for each node and
/// key.
auto check_columns(const plan& loaded, const registries& declared) -> braid::diagnostics;

/// Reports column_missing for each key that a node reads and that the rows of none of its sources can have: it is null
/// in every row, so a filter may drop all rows. Such a plan can still run. Requires a plan whose nodes were bound
/// without diagnostics. Cost: a bit for each node and key.
[[nodiscard]] auto missing_columns(const plan& loaded, const registries& declared) -> braid::diagnostics;

/// The keys that one node has to do with, each list ascending.
struct node_columns {
  std::vector<std::uint32_t> reads;   ///< that its params and formulas name
  std::vector<std::uint32_t> writes;  ///< that its rows have by this node
  std::vector<std::uint32_t> has;     ///< that its rows may have in all
};

/// Returns the columns of each node of a plan, in the order of the artifact. Requires a plan whose nodes were bound
/// without diagnostics. Cost: a bit for each node and key.
[[nodiscard]] auto find_columns(const plan& loaded, const registries& declared) -> std::vector<node_columns>;

}  // namespace rankd
