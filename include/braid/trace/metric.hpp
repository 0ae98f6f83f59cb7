// braid/trace/metric.hpp: metrics as values, and their text format for Prometheus and OpenMetrics.
#pragma once

#include <braid/base/config.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace braid {

/// One measured value: a sample of the family `name`. Its labels distinguish it from other samples of that family.
struct metric {
  /// The text format of metrics.
  enum class format : std::uint8_t {
    prometheus,    ///< text format 0.0.4
    open_metrics,  ///< OpenMetrics 1.0: with units, and `# EOF` at the end
  };

  enum class type : std::uint8_t {
    counter,    ///< grows as long as the measured object exists
    gauge,      ///< can increase and decrease
    histogram,  ///< the number of measured values up to a bound, for each of its buckets
  };
  struct label {
    std::string name = {};
    std::string value = {};
    auto operator==(const label&) const -> bool = default;
  };
  /// A bucket of a histogram.
  struct bucket {
    double bound = 0;  ///< infinity for the last bucket
    /// The number of values up to the bound, including the values of earlier buckets.
    std::uint64_t count = 0;
    auto operator==(const bucket&) const -> bool = default;
  };

  std::string name = {};  ///< `braid_` and letters, digits and `_`; the unit is its last word; without `_total`
  std::string unit = {};  ///< "seconds", "bytes", or empty for a number of things
  type kind = type::gauge;
  std::string help = {};  ///< a sentence; it is the same for all samples of a family
  std::vector<label> labels = {};
  double value = 0;                  ///< the value; for a histogram, the sum of all measured values
  std::vector<bucket> buckets = {};  ///< the buckets of a histogram, ordered by their bounds; otherwise empty
};

/// Formats metrics, with the lines HELP and TYPE for each family. The samples of a family come one after the other, and
/// families come in the order of their first sample. Threads: any. Errors: std::bad_alloc. Source: Prometheus text
/// format 0.0.4; OpenMetrics 1.0.
[[nodiscard]] BRAID_API auto metrics_text(std::span<const metric> all,
                                          metric::format format = metric::format::prometheus) -> std::string;

}  // namespace braid
