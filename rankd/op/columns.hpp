// rankd/op/columns.hpp: which columns the rows of each node may have, and nodes that would write over one.
#pragma once

#include <rankd/plan/plan.hpp>
#include <rankd/registry/registries.hpp>

#include <braid/base/diagnostics.hpp>

namespace rankd {

/// Complains with column_exists where a node of an operator that adds columns, such as a join, adds one that the rows
/// of its first source may have: these never write over one. Every row has `id`. Requires a plan whose nodes were bound
/// without diagnostic. Cost: a bit for each node and key, where there are such.
auto check_columns(const plan& loaded, const registries& declared) -> braid::diagnostics;

}  // namespace rankd
