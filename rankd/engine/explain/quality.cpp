// rankd/engine/explain/quality.cpp: computes quality metrics of answers, and their means.
#include <rankd/engine/explain/quality.hpp>

#include <braid/base/random.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <set>
#include <vector>

namespace rankd {
namespace {

auto measure_gain(double relevance, gain_form form) -> double {
  return form == gain_form::linear ? relevance : std::expm1(relevance * std::numbers::ln2);
}

auto discount(std::size_t place) -> double { return std::log2(static_cast<double>(place) + 2); }

/// Returns the relevance of each id. The relevance is 0 for an id that is repeated or not judged.
auto list_relevance(std::span<const row_id> ids, const judgements& judged) -> std::vector<double> {
  std::vector<double> out;
  std::set<row_id> seen;
  for (const row_id& id : ids) {
    const auto found = judged.find(id);
    out.push_back(seen.insert(id).second && found != judged.end() ? found->second : 0);
  }
  return out;
}

/// Returns the relevances of all relevant ids, highest first.
auto find_ideal(const judgements& judged) -> std::vector<double> {
  std::vector<double> out;
  for (const auto& [id, relevance] : judged)
    if (relevance > 0) out.push_back(relevance);
  std::ranges::sort(out, std::greater());
  return out;
}

auto measure_dcg(std::span<const double> relevance, gain_form form) -> double {
  double sum = 0;
  for (std::size_t at = 0; at < relevance.size(); ++at) sum += measure_gain(relevance[at], form) / discount(at);
  return sum;
}

/// Returns the share of all pairs of rows in which the two rows have different values.
auto measure_diversity(std::span<const std::optional<std::string>> values) -> std::optional<double> {
  if (values.size() < 2) return std::nullopt;
  std::map<std::string_view, std::size_t> counts;
  for (const auto& each : values)
    if (each) ++counts[*each];
  std::size_t equal = 0;
  for (const auto& [value, count] : counts) equal += count * (count - 1) / 2;
  const std::size_t pairs = values.size() * (values.size() - 1) / 2;
  return 1 - static_cast<double>(equal) / static_cast<double>(pairs);
}

/// Returns a quantile of sorted values, interpolated between two values if necessary.
auto quantile(std::span<const double> sorted, double share) -> double {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - static_cast<double>(below));
}

}  // namespace

auto name_of(quality_metric metric) noexcept -> std::string_view {
  switch (metric) {
    case quality_metric::ndcg: return "ndcg";
    case quality_metric::map: return "map";
    case quality_metric::mrr: return "mrr";
    case quality_metric::recall: return "recall";
    case quality_metric::judged: return "judged";
    case quality_metric::diversity: break;
  }
  return "diversity";
}

auto measure_quality(std::span<const row_id> ids, std::span<const std::optional<std::string>> values,
                     const judgements& judged, const quality_options& options) -> quality {
  quality out;
  const auto put = [&out](quality_metric metric, std::optional<double> value) {
    out[static_cast<std::size_t>(metric)] = value;
  };
  ids = ids.first(std::min(ids.size(), options.depth));
  values = values.first(std::min(values.size(), options.depth));
  put(quality_metric::diversity, measure_diversity(values));
  if (!ids.empty()) {
    const auto known = std::ranges::count_if(ids, [&](const row_id& id) { return judged.contains(id); });
    put(quality_metric::judged, static_cast<double>(known) / static_cast<double>(ids.size()));
  }
  std::vector<double> ideal = find_ideal(judged);
  if (ideal.empty()) return out;
  const auto relevant = static_cast<double>(ideal.size());
  const std::vector<double> relevance = list_relevance(ids, judged);
  double hits = 0;
  double precisions = 0;
  double reciprocal = 0;
  for (std::size_t at = 0; at < relevance.size(); ++at) {
    if (!(relevance[at] > 0)) continue;
    const auto rank = static_cast<double>(at + 1);
    if (hits == 0) reciprocal = 1 / rank;
    precisions += ++hits / rank;
  }
  ideal.resize(std::min(ideal.size(), options.depth));
  const double best = measure_dcg(ideal, options.gain);
  put(quality_metric::ndcg, best > 0 ? measure_dcg(relevance, options.gain) / best : 0);
  put(quality_metric::map, precisions / relevant);
  put(quality_metric::mrr, reciprocal);
  put(quality_metric::recall, hits / relevant);
  return out;
}

auto estimate_mean(std::span<const double> values, const bootstrap_options& options) -> std::optional<mean_estimate> {
  if (values.empty()) return std::nullopt;
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (const double each : values) sum += each;
  mean_estimate out{.mean = sum / count, .low = sum / count, .high = sum / count, .count = values.size()};
  if (options.resamples == 0) return out;
  braid::random_source random(options.seed);
  std::vector<double> means(options.resamples);
  for (double& mean : means) {
    double resampled = 0;
    for (std::size_t drawn = 0; drawn < values.size(); ++drawn) resampled += values[random.below(values.size())];
    mean = resampled / count;
  }
  std::ranges::sort(means);
  out.low = quantile(means, (1 - options.confidence) / 2);
  out.high = quantile(means, (1 + options.confidence) / 2);
  return out;
}

}  // namespace rankd
