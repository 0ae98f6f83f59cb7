// doctor/print.hpp: prints the findings as text or JSON.
#pragma once

#include <doctor/findings.hpp>

#include <string>

namespace braid::doctor {

/// Formats the findings as sections and tables for people.
auto to_text(const findings& found) -> std::string;

/// Formats the findings as one JSON object on one line. Sets of CPUs are strings such as `0-3,8`; indexes count from 0.
auto to_json(const findings& found) -> std::string;

/// Returns the name of a kind of core, or of a source of the topology.
auto name_of(topology::core_kind kind) -> const char*;
auto name_of(topology_source source) -> const char*;

}  // namespace braid::doctor
