// rankd/op/columns.hpp: which columns the rows of each node may have, and joins that would write over one.
#pragma once

#include <rankd/plan/plan.hpp>
#include <rankd/registry/registries.hpp>

#include <braid/base/diagnostics.hpp>

namespace rankd {

/// Complains with column_exists where a join adds a column that the rows of its first source may have: it never writes
/// over one. Every row has `id`.
/// Requires a plan whose nodes were bound without complaint. Cost: a bit for each node and key, where there is a join.
auto check_columns(const plan& loaded, const registries& declared) -> braid::diagnostics;

}  // namespace rankd
