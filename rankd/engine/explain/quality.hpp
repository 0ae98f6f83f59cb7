// rankd/engine/explain/quality.hpp: measures rankings against judgements with NDCG, MAP, MRR and recall, with
// confidence intervals.
#pragma once

#include <rankd/registry/row_id.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rankd {

/// The function that converts the relevance of an id to its gain in NDCG.
enum class gain_form : std::uint8_t {
  linear,       ///< the relevance itself
  exponential,  ///< 2^relevance - 1
};

struct quality_options {
  std::size_t depth = 10;  ///< the number of candidates from the top that count
  gain_form gain = gain_form::linear;
};

/// The relevance of ids for one request. It is never negative. An id with a relevance above 0 is relevant. An id that
/// is not in the map is not judged.
using judgements = std::map<row_id, double>;

enum class quality_metric : std::uint8_t { ndcg, map, mrr, recall, judged, diversity };
inline constexpr std::size_t quality_metrics = 6;
[[nodiscard]] auto name_of(quality_metric metric) noexcept -> std::string_view;

/// The value of each metric for one answer, from 0 to 1, or nothing if the metric is undefined. The first four metrics
/// are undefined if the request has no relevant id. `judged` is undefined if there is no candidate, and `diversity` if
/// there are fewer than two candidates.
using quality = std::array<std::optional<double>, quality_metrics>;

/// Returns the quality of an answer, given its ids in order. A repeated id counts as not relevant. `values` is empty,
/// or contains the text of one column for each id. A null in this column differs from every other value.
[[nodiscard]] auto measure_quality(std::span<const row_id> ids, std::span<const std::optional<std::string>> values,
                                   const judgements& judged, const quality_options& options) -> quality;

struct bootstrap_options {
  std::size_t resamples = 1000;
  std::uint64_t seed = 1;
  double confidence = 0.95;
};

/// A mean, and its confidence interval from a percentile bootstrap.
struct mean_estimate {
  double mean = 0;
  double low = 0;
  double high = 0;
  std::size_t count = 0;  ///< of values
};

/// Returns the mean of the values and its confidence interval, or nothing if there are no values. The result depends
/// only on the values and the options. Cost: `resamples` passes over the values. Source: Efron, "Bootstrap methods",
/// 1979.
[[nodiscard]] auto estimate_mean(std::span<const double> values, const bootstrap_options& options)
    -> std::optional<mean_estimate>;

}  // namespace rankd
