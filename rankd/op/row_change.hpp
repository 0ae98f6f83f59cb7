// rankd/op/row_change.hpp: checks that the rows that an operator returned satisfy its declared `row_change`.
#pragma once

#include <rankd/op/operator.hpp>
#include <rankd/rows/row_set.hpp>

#include <span>

namespace rankd {

/// Returns whether `output` has the relation `promise` to `inputs`. Only for checked builds and tests. Cost: linear in
/// the number of rows.
auto keeps_promise(row_change promise, std::span<const row_set> inputs, const row_set& output) -> bool;

}  // namespace rankd
