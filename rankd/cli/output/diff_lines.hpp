// rankd/cli/output/diff_lines.hpp: the difference of two plans for people.
#pragma once

#include <rankd/engine/explain/plan_comparison.hpp>

#include <string>

namespace rankd {

/// Returns one printable line for each difference, each with its end: the output of `rankd diff` and `dslc diff`.
[[nodiscard]] auto diff_lines(const plan_comparison& found) -> std::string;

}  // namespace rankd
