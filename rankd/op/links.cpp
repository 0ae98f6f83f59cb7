// rankd/op/links.cpp: converts sums to scores with the same operations in the same order as the trainers.
#include <rankd/op/detail/scoring.hpp>

#include <algorithm>
#include <cmath>

namespace rankd {
namespace {

/// The arithmetic of LightGBM and of rankd's own models, which compute in doubles.
struct in_doubles {
  using number = double;
  static auto sigmoid(double x, double steepness) noexcept -> double { return 1 / (1 + std::exp(-steepness * x)); }
};

/// The arithmetic of XGBoost, which computes in floats. The exponent is limited to avoid infinity.
struct in_floats {
  using number = float;
  static auto sigmoid(float x, double /*steepness*/) noexcept -> float {
    constexpr float max_exponent = 88.7F;
    return 1 / (std::exp(std::min(-x, max_exponent)) + 1);
  }
};

template <typename Width>
auto linked(typename Width::number x, const score_rule& rule) noexcept -> typename Width::number {
  switch (rule.link) {
    case score_link::sigmoid: return Width::sigmoid(x, rule.steepness);
    case score_link::exponential: return std::exp(x);
    case score_link::log1p_exp: return std::log1p(std::exp(x));
    case score_link::signed_square: return std::copysign(x * x, x);
    case score_link::identity:
    case score_link::softmax: break;
  }
  return x;
}

/// Replaces the sums of one row by their softmax: exp(x - max), divided by the sum of these values. The sum is computed
/// in doubles, as in XGBoost.
template <typename Width>
void soften(std::span<model_sums> sums, std::size_t row) noexcept {
  using number = typename Width::number;
  auto max = static_cast<number>(sums.front().writable[row]);
  for (const model_sums& each : sums) max = std::max(max, static_cast<number>(each.writable[row]));
  double sum = 0;
  for (const model_sums& each : sums) {
    each.writable[row] = std::exp(static_cast<number>(each.writable[row]) - max);
    sum += each.writable[row];
  }
  for (const model_sums& each : sums)
    each.writable[row] = static_cast<number>(each.writable[row]) / static_cast<number>(sum);
}

template <typename Width>
void link_all(std::span<model_sums> sums, const score_rule& rule) noexcept {
  using number = typename Width::number;
  for (const model_sums& output : sums)
    for (double& each : output.writable)
      each = linked<Width>(static_cast<number>(rule.divisor == 1 ? each : each / rule.divisor), rule);
  if (rule.link == score_link::softmax)
    for (std::size_t row = 0; row < sums.front().writable.size(); ++row) soften<Width>(sums, row);
}

}  // namespace

auto model::link(std::span<model_sums> sums) const noexcept -> bool {
  if (rule_.link == score_link::identity && rule_.divisor == 1) return false;
  const auto* trees = std::get_if<detail::tree_model>(&parts_);
  if (trees != nullptr && trees->width == number_width::floats)
    link_all<in_floats>(sums, rule_);
  else
    link_all<in_doubles>(sums, rule_);
  return true;
}

}  // namespace rankd
