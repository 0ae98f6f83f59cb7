// rankd/expr/arithmetic.cpp: implements arithmetic on single values. The code is used for constants when a tree is
// compiled, and for operations that the C library computes.
#include <rankd/expr/detail/arithmetic.hpp>

#include <cmath>
#include <limits>
#include <utility>

namespace rankd::detail {
namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

/// Computes a power. The result is NaN if an operand is NaN. For the base 1 or the exponent 0, the C library would
/// return 1 even then.
auto power(double a, double b) noexcept -> double { return std::isunordered(a, b) ? no_number : std::pow(a, b); }

auto clamped(double x, double lo, double hi) noexcept -> double {
  if (!(lo <= hi)) return no_number;
  if (x < lo) return lo;
  return hi < x ? hi : x;
}

template <typename Fn>
void each_row(double* out, library_operand x, std::size_t rows, Fn fn) {
  for (std::size_t row = 0; row < rows; ++row) out[row] = fn(x.values[row * x.step]);
}

}  // namespace

auto computed(arithmetic operation, const std::array<double, 3>& operands) noexcept -> double {
  const auto [a, b, c] = operands;
  switch (operation) {
    case arithmetic::add: return a + b;
    case arithmetic::sub: return a - b;
    case arithmetic::mul: return a * b;
    case arithmetic::div: return a / b;
    case arithmetic::min: return b < a || std::isnan(b) ? b : a;
    case arithmetic::max: return b > a || std::isnan(b) ? b : a;
    case arithmetic::pow: return power(a, b);
    case arithmetic::neg: return -a;
    case arithmetic::abs: return std::fabs(a);
    case arithmetic::floor: return std::floor(a);
    case arithmetic::ceil: return std::ceil(a);
    case arithmetic::sqrt: return std::sqrt(a);
    case arithmetic::exp: return std::exp(a);
    case arithmetic::log: return std::log(a);
    case arithmetic::log1p: return std::log1p(a);
    case arithmetic::clamp: return clamped(a, b, c);
  }
  std::unreachable();
}

void library_rows(arithmetic operation, double* out, library_operand a, library_operand b, std::size_t rows) noexcept {
  switch (operation) {
    case arithmetic::exp: return each_row(out, a, rows, [](double x) { return std::exp(x); });
    case arithmetic::log: return each_row(out, a, rows, [](double x) { return std::log(x); });
    case arithmetic::log1p: return each_row(out, a, rows, [](double x) { return std::log1p(x); });
    default:
      for (std::size_t row = 0; row < rows; ++row) out[row] = power(a.values[row * a.step], b.values[row * b.step]);
  }
}

}  // namespace rankd::detail
