// rankd/cli/experiments/experiment_split.cpp: counts units by arm, and tests the counts with Pearson's chi-squared
// test.
#include <rankd/cli/experiments/experiment_split.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace rankd {
namespace {

constexpr int max_terms = 10'000;

/// Returns the upper tail of the gamma distribution, Q(a, x). Uses a series if x is less than a + 1, and a continued
/// fraction otherwise. Source: Press et al., Numerical Recipes, 6.2.
auto upper_gamma(double a, double x) -> double {
  if (x <= 0) return 1;
  const double factor = std::exp(a * std::log(x) - x - std::lgamma(a));
  constexpr double enough = 1e-14;
  if (x < a + 1) {
    double term = 1 / a;
    double sum = term;
    for (int n = 1; n < max_terms && term > sum * enough; ++n) sum += term *= x / (a + n);
    return std::max(0.0, 1 - sum * factor);
  }
  constexpr double tiny = std::numeric_limits<double>::min() / enough;
  double b = x + 1 - a;
  double c = 1 / tiny;
  double d = 1 / b;
  double product = d;
  for (int n = 1; n < max_terms; ++n) {
    const double step = -n * (n - a);
    b += 2;
    d = step * d + b;
    if (std::abs(d) < tiny) d = tiny;
    c = b + step / c;
    if (std::abs(c) < tiny) c = tiny;
    d = 1 / d;
    product *= d * c;
    if (std::abs(d * c - 1) < enough) break;
  }
  return factor * product;
}

auto measure_deviation(std::uint64_t count, double share, std::uint64_t total) -> double {
  const double variance = static_cast<double>(total) * share * (1 - share);
  if (variance <= 0) return 0;
  return (static_cast<double>(count) - static_cast<double>(total) * share) / std::sqrt(variance);
}

/// An experiment whose units are counted. `arm_of` contains the number of an arm for each bucket of the layer, or the
/// total number of arms for a bucket that belongs to no arm.
struct counted_experiment {
  const experiment_entry* entry = nullptr;
  std::vector<std::uint32_t> arm_of;
  std::vector<double> shares;
  std::vector<std::uint64_t> counts;
};

auto to_be_counted(const experiment_entry& entry, const experiment_layer& layer) -> counted_experiment {
  const std::size_t outside = entry.arms.size();
  counted_experiment out{.entry = &entry,
                         .arm_of = std::vector(layer.buckets, static_cast<std::uint32_t>(outside)),
                         .shares = std::vector(outside + 1, 0.0),
                         .counts = std::vector<std::uint64_t>(outside + 1)};
  double rest = 1;
  for (std::size_t arm = 0; arm < outside; ++arm) {
    const experiment_arm& each = entry.arms[arm];
    std::fill(out.arm_of.begin() + each.from, out.arm_of.begin() + each.to + 1, static_cast<std::uint32_t>(arm));
    out.shares[arm] = static_cast<double>(each.to - each.from + 1) / layer.buckets;
    rest -= out.shares[arm];
  }
  constexpr double rounding = 1e-9;
  out.shares[outside] = rest < rounding ? 0 : rest;
  return out;
}

/// Two experiments of different layers, with the number of units for each pair of their arms.
struct counted_pair {
  std::size_t first = 0;
  std::size_t second = 0;
  std::vector<std::uint64_t> counts;
};

auto list_pairs(const std::vector<counted_experiment>& all) -> std::vector<counted_pair> {
  std::vector<counted_pair> out;
  for (std::size_t second = 0; second < all.size(); ++second)
    for (std::size_t first = 0; first < second; ++first)
      if (all[first].entry->layer != all[second].entry->layer)
        out.push_back(
            {first, second, std::vector<std::uint64_t>(all[first].shares.size() * all[second].shares.size())});
  return out;
}

/// Counts units in all experiments and pairs of experiments.
class unit_counter {
 public:
  unit_counter(const experiment_set& all, std::vector<counted_experiment>& experiments,
               std::vector<counted_pair>& pairs)
      : layers_(all.layers()),
        experiments_(experiments),
        pairs_(pairs),
        buckets_(layers_.size()),
        arms_(experiments.size()),
        is_used_(layers_.size()) {
    for (const counted_experiment& each : experiments) is_used_[each.entry->layer] = true;
  }

  void count(std::string_view unit) {
    for (std::size_t layer = 0; layer < layers_.size(); ++layer)
      if (is_used_[layer]) buckets_[layer] = hash_to_bucket(layers_[layer].salt, unit, layers_[layer].buckets);
    for (std::size_t at = 0; at < experiments_.size(); ++at) {
      arms_[at] = experiments_[at].arm_of[buckets_[experiments_[at].entry->layer]];
      ++experiments_[at].counts[arms_[at]];
    }
    for (counted_pair& each : pairs_)
      ++each.counts[arms_[each.first] * experiments_[each.second].shares.size() + arms_[each.second]];
  }

 private:
  std::span<const experiment_layer> layers_;
  std::vector<counted_experiment>& experiments_;
  std::vector<counted_pair>& pairs_;
  std::vector<std::uint32_t> buckets_;
  std::vector<std::size_t> arms_;
  std::vector<bool> is_used_;
};

auto count_split(const counted_experiment& one, const experiment_set& experiments, std::uint64_t ids)
    -> experiment_split {
  experiment_split out{.experiment = one.entry->name,
                       .layer = experiments.layers()[one.entry->layer].name,
                       .arms = {},
                       .test = test_split(one.counts, one.shares, ids)};
  for (std::size_t arm = 0; arm < one.entry->arms.size(); ++arm) {
    const experiment_arm& each = one.entry->arms[arm];
    out.arms.push_back({.arm = each.name,
                        .from = each.from,
                        .to = each.to,
                        .expected_share = one.shares[arm],
                        .units = one.counts[arm],
                        .deviation = measure_deviation(one.counts[arm], one.shares[arm], ids)});
  }
  return out;
}

auto count_overlap(const counted_pair& pair, const std::vector<counted_experiment>& all, std::uint64_t ids)
    -> split_overlap {
  const counted_experiment& first = all[pair.first];
  const counted_experiment& second = all[pair.second];
  split_overlap out{
      .first = first.entry->name, .second = second.entry->name, .expected_share = 0, .units = 0, .test = {}};
  std::vector<double> shares;
  for (std::size_t a = 0; a < first.shares.size(); ++a)
    for (std::size_t b = 0; b < second.shares.size(); ++b) {
      shares.push_back(first.shares[a] * second.shares[b]);
      if (a + 1 == first.shares.size() || b + 1 == second.shares.size()) continue;  // outside of one of them
      out.expected_share += shares.back();
      out.units += pair.counts[a * second.shares.size() + b];
    }
  out.test = test_split(pair.counts, shares, ids);
  return out;
}

}  // namespace

auto test_split(const std::vector<std::uint64_t>& counts, const std::vector<double>& shares, std::uint64_t total)
    -> split_test {
  split_test out;
  std::size_t cells = 0;
  for (std::size_t at = 0; at < counts.size(); ++at) {
    const double expected = static_cast<double>(total) * shares[at];
    if (expected <= 0) continue;
    ++cells;
    const double off = static_cast<double>(counts[at]) - expected;
    out.chi_squared += off * off / expected;
    out.largest_deviation = std::max(out.largest_deviation, std::abs(measure_deviation(counts[at], shares[at], total)));
  }
  out.degrees = cells == 0 ? 0 : cells - 1;
  if (out.degrees > 0) out.p_value = upper_gamma(static_cast<double>(out.degrees) / 2, out.chi_squared / 2);
  return out;
}

auto split_report::is_fair() const noexcept -> bool {
  const auto fair = [](const auto& each) { return each.test.is_fair(); };
  return std::ranges::all_of(experiments, fair) && std::ranges::all_of(overlaps, fair);
}

auto simulate_split(const experiment_set& all, std::uint64_t ids) -> split_report {
  std::vector<counted_experiment> experiments;
  for (const experiment_entry& each : all.experiments())
    if (each.status != experiment_status::ended) experiments.push_back(to_be_counted(each, all.layers()[each.layer]));
  std::vector<counted_pair> pairs = list_pairs(experiments);
  unit_counter counter(all, experiments, pairs);
  for (std::uint64_t id = 1; id <= ids; ++id) counter.count(std::to_string(id));
  split_report out{.ids = ids, .experiments = {}, .overlaps = {}};
  for (const counted_experiment& each : experiments) out.experiments.push_back(count_split(each, all, ids));
  for (const counted_pair& each : pairs) out.overlaps.push_back(count_overlap(each, experiments, ids));
  return out;
}

}  // namespace rankd
