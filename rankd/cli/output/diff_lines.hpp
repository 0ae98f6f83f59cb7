// rankd/cli/output/diff_lines.hpp: prints the differences of two plans for people.
#pragma once

#include <rankd/engine/explain/plan_comparison.hpp>

#include <string>

namespace rankd {

/// Returns one printable line for each difference, with a line feed. `rankd diff` and `dslc diff` print this text.
[[nodiscard]] auto diff_lines(const plan_comparison& found) -> std::string;

}  // namespace rankd
