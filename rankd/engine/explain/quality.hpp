// rankd/engine/explain/quality.hpp: measures rankings against judgements: NDCG, MAP, MRR, recall, with intervals.
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

/// How the relevance of an id becomes its gain in NDCG.
enum class gain_form : std::uint8_t {
  linear,       ///< the relevance itself
  exponential,  ///< 2^relevance - 1
};

struct quality_options {
  std::size_t depth = 10;  ///< the first candidates that count
  gain_form gain = gain_form::linear;
};

/// The relevance of ids for one request, never negative; above 0 is relevant. An id that is absent is not judged.
using judgements = std::map<row_id, double>;

enum class quality_metric : std::uint8_t { ndcg, map, mrr, recall, judged, diversity };
inline constexpr std::size_t quality_metrics = 6;
[[nodiscard]] auto name_of(quality_metric metric) noexcept -> std::string_view;

/// The value of each metric for one answer, from 0 to 1; nothing if a metric is undefined: the first four if no id is
/// relevant, `judged` without a candidate, `diversity` without two.
using quality = std::array<std::optional<double>, quality_metrics>;

/// Returns the quality of an answer, whose ids come best first. A repeated id counts as not relevant. `values` are
/// empty, or the text of one column for each id, nothing for null, which differs from all others.
[[nodiscard]] auto measure_quality(std::span<const row_id> ids, std::span<const std::optional<std::string>> values,
                                   const judgements& judged, const quality_options& options) -> quality;

struct bootstrap_options {
  std::size_t resamples = 1000;
  std::uint64_t seed = 1;
  double confidence = 0.95;
};

/// A mean with a percentile bootstrap interval around it.
struct mean_estimate {
  double mean = 0;
  double low = 0;
  double high = 0;
  std::size_t count = 0;  ///< of values
};

/// Returns an estimate that is the same for the same values and options; nothing without values. Cost: `resamples`
/// passes over the values. Source: Efron, "Bootstrap methods", 1979.
[[nodiscard]] auto estimate_mean(std::span<const double> values, const bootstrap_options& options)
    -> std::optional<mean_estimate>;

}  // namespace rankd
