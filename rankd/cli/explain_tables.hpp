// rankd/cli/explain_tables.hpp: explanations for people.
#pragma once

#include <rankd/engine/explanation.hpp>

#include <string>

namespace rankd {

/// What each node did: a table, and the total.
auto nodes_text(const explanation& what) -> std::string;

/// The critical path with its share of the total, and what became of each id that was asked about.
auto path_text(const explanation& what) -> std::string;
auto fates_text(const explanation& what) -> std::string;

}  // namespace rankd
