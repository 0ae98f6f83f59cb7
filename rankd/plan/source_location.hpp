// rankd/plan/source_location.hpp: from a place in an artifact to the place in the author's file that it was made from.
#pragma once

#include <braid/base/error.hpp>
#include <rankd/plan/plan.hpp>

#include <string>
#include <string_view>

namespace rankd {

/// "plans/feed.plan.ts:12:5" of the smallest node or part of a tree around `pointer` whose source is known, or empty.
auto source_location(const plan& plan, std::string_view pointer) -> std::string;

/// Returns the diagnostics, each with its place in the author's files at the end of its message, if that is known.
auto with_locations(const braid::diagnostics& problems, const plan& plan) -> braid::diagnostics;

}  // namespace rankd
