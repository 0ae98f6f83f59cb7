// rankd/cli/output/explain_tables.hpp: formats explanations of answers for people.
#pragma once

#include <rankd/engine/explain/explanation.hpp>

#include <string>

namespace rankd {

/// Returns a table of the work of each node, and the totals.
auto nodes_text(const explanation& explanation) -> std::string;

/// Returns the critical path with its share of the total time, and what happened to each requested id.
auto path_text(const explanation& explanation) -> std::string;
auto fates_text(const explanation& explanation) -> std::string;

/// Returns one line about what happened to an id, such as "id 7 ends at `nearby` (core::filter): the predicate is
/// false; country BR".
auto fate_sentence(const id_fate& fate) -> std::string;

}  // namespace rankd
