// rankd/plan/source_place.hpp: from a place in an artifact to the place in the author's file that it was made from.
#pragma once

#include <braid/base/diagnostics.hpp>
#include <rankd/plan/plan.hpp>

#include <string>
#include <string_view>

namespace rankd {

/// "plans/feed.plan.ts:12:5" of the smallest node or part of a tree around `pointer` whose source is known, or empty.
auto source_place(const plan& of, std::string_view pointer) -> std::string;

/// The complaints, each with its place in the author's files at the end of its message, where that is known.
auto with_places(braid::diagnostics problems, const plan& of) -> braid::diagnostics;

}  // namespace rankd
