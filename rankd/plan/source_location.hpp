// rankd/plan/source_location.hpp: maps positions in an artifact to the author's source files.
#pragma once

#include <braid/base/error.hpp>
#include <rankd/plan/plan.hpp>

#include <string>
#include <string_view>

namespace rankd {

/// Returns the location of the smallest node or part of a tree that contains `pointer`, such as
/// "plans/feed.plan.ts:12:5". Returns an empty text if the location is unknown.
auto source_location(const plan& plan, std::string_view pointer) -> std::string;

/// Appends the location in the author's files to the message of each diagnostic, if the location is known.
auto with_locations(const braid::diagnostics& problems, const plan& plan) -> braid::diagnostics;

}  // namespace rankd
