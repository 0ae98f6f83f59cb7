// rankd/cli/output/explain_tables.hpp: explanations for people.
#pragma once

#include <rankd/engine/explain/explanation.hpp>

#include <string>

namespace rankd {

/// Returns a table of what each node did, and the total.
auto nodes_text(const explanation& what) -> std::string;

/// The critical path with its share of the total, and what became of each id that was asked about.
auto path_text(const explanation& what) -> std::string;
auto fates_text(const explanation& what) -> std::string;

/// "id 7 ends at `nearby` (core::filter): the predicate is false; country BR": what became of an id, in one line.
auto fate_sentence(const id_fate& fate) -> std::string;

}  // namespace rankd
