// rankd/op/extra_columns.hpp: finds out how a plan uses extra columns. An extra column is a column that an operator
// adds although no option names it.
#pragma once

#include <rankd/plan/plan.hpp>
#include <rankd/registry/registries.hpp>

#include <cstdint>
#include <vector>

namespace rankd {

/// The way in which a plan uses the extra column of a node (op_entry::extra_column).
enum class extra_use : std::uint8_t {
  read,    ///< a node may read it, the plan captures rows, or the node adds no such column
  shown,   ///< only answers use it, if they show it
  unused,  ///< nothing uses it: no node may read it, and no answer contains a row that has it
};

/// Returns the use of the extra column of each node, in the order of the artifact. A model counts as a reader of every
/// column. Requires a plan whose nodes were bound without diagnostics.
[[nodiscard]] auto uses_of_extra_columns(const plan& loaded, const registries& declared) -> std::vector<extra_use>;

}  // namespace rankd
