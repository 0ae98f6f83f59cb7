// bench/harness/percentiles.hpp: what many measured values look like: their median, percentiles and extremes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace bench {

/// The smallest of the values that no less than this part of them does not exceed: 0.5 for the median, 1 for the
/// largest. Requires: there are values.
inline auto percentile(std::vector<double> values, double part) -> double {
  const auto wanted = static_cast<std::size_t>(std::ceil(part * static_cast<double>(values.size())));
  const std::size_t index = std::clamp<std::size_t>(wanted, 1, values.size()) - 1;
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(index));
  return values[index];
}

/// One value from each round.
struct over_rounds {
  std::vector<double> values;

  /// The median with the least and the greatest, as `8.1 (7.9..9.3)`.
  [[nodiscard]] auto text() const -> std::string {
    char buffer[96];
    std::snprintf(buffer, sizeof buffer, "%.*f (%.*f..%.*f)", digits(), percentile(values, 0.5), digits(),
                  std::ranges::min(values), digits(), std::ranges::max(values));
    return buffer;
  }

 private:
  [[nodiscard]] auto digits() const -> int {
    const double middle = percentile(values, 0.5);
    if (middle < 1) return 3;
    if (middle < 10) return 2;
    return middle < 100 ? 1 : 0;
  }
};

}  // namespace bench
