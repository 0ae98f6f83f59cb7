// rankd/cli/output/explain_tables.hpp: explanations for people.
#pragma once

#include <rankd/engine/explain/explanation.hpp>

#include <string>

namespace rankd {

/// Returns a table of what each node did, and the total.
auto nodes_text(const explanation& explanation) -> std::string;

/// Returns the critical path with its share of the total, and the fate of each id that was asked about.
auto path_text(const explanation& explanation) -> std::string;
auto fates_text(const explanation& explanation) -> std::string;

/// Returns the fate of an id in one line: "id 7 ends at `nearby` (core::filter): the predicate is false; country BR".
auto fate_sentence(const id_fate& fate) -> std::string;

}  // namespace rankd
