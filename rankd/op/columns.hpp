// rankd/op/columns.hpp: which columns the rows of each node may have, and nodes that would write over one.
#pragma once

#include <rankd/plan/plan.hpp>
#include <rankd/registry/registries.hpp>

#include <braid/base/error.hpp>

#include <cstdint>
#include <vector>

namespace rankd {

/// Complains with column_exists where a node of an operator that adds columns, such as a join, adds one that the rows
/// of its first source may have: these never write over one. Every row has `id`. Complains with unknown_column where a
/// key template has a hole for a column that the rows cannot have, and with fallback_lacks_column where what stands in
/// for a node lacks columns of its rows. Requires a plan whose nodes were bound without
/// diagnostic. Cost: a bit for each node and key, where there are such.
auto check_columns(const plan& loaded, const registries& declared) -> braid::diagnostics;

/// A diagnostic, column_missing, for each key that a node reads and that the rows of none of its sources can have: it
/// is null in every row, so that a filter may drop them all. A plan of which it reports something can be run all the
/// same. Requires a plan whose nodes were bound without diagnostic. Cost: a bit for each node and key.
[[nodiscard]] auto missing_columns(const plan& loaded, const registries& declared) -> braid::diagnostics;

/// The keys that one node has to do with, each list ascending.
struct node_columns {
  std::vector<std::uint32_t> reads;   ///< that its params and formulas name
  std::vector<std::uint32_t> writes;  ///< that its rows have by this node
  std::vector<std::uint32_t> has;     ///< that its rows may have in all
};

/// Of each node of a plan, in the order of the artifact. Requires a plan whose nodes were bound without diagnostic.
/// Cost: a bit for each node and key.
[[nodiscard]] auto columns_of(const plan& loaded, const registries& declared) -> std::vector<node_columns>;

}  // namespace rankd
