// rankd/expr/mixed.cpp: compares int64 with double by their exact values, without rounding.
#include <rankd/expr/detail/bits.hpp>
#include <rankd/expr/detail/mixed.hpp>

#include <cmath>
#include <limits>
#include <utility>

namespace rankd::detail {
namespace {

constexpr std::int64_t min_value = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t greatest = std::numeric_limits<std::int64_t>::max();
constexpr double infinity = std::numeric_limits<double>::infinity();

// Tests that are always true or always false. For NaN, however, every test of doubles is false.
constexpr bound_test<std::int64_t> every_exact{comparison::less_equal, greatest};
constexpr bound_test<std::int64_t> no_exact{comparison::less, min_value};
constexpr bound_test<double> every_float{comparison::less_equal, infinity};
constexpr bound_test<double> no_float{comparison::less, -infinity};

constexpr auto is_upper(comparison operation) noexcept -> bool {
  return operation == comparison::less || operation == comparison::less_equal;
}
constexpr auto is_lower(comparison operation) noexcept -> bool {
  return operation == comparison::greater || operation == comparison::greater_equal;
}

/// An int64 and a double for an exact comparison. Rounding the int64 to a double does not change its order relative to
/// another double. So the exact values are needed only if both doubles are equal. There are no branches, because ids
/// are rarely predictable.
struct mixed {
  mixed(std::int64_t a, double b) noexcept
      : nearest(static_cast<double>(a)),
        fits(b >= -0x1p63 && b < 0x1p63),
        exact(static_cast<std::int64_t>(fits ? b : 0.0)) {}

  double nearest;
  bool fits;  ///< `b` is no larger than an int64 can be; on a tie it is never smaller
  std::int64_t exact;
};

struct equal {
  auto operator()(std::int64_t a, double b) const noexcept -> bool {
    const mixed both(a, b);
    return (both.nearest == b) & both.fits & (a == both.exact);
  }
};

struct less {
  auto operator()(std::int64_t a, double b) const noexcept -> bool {
    const mixed both(a, b);
    return (both.nearest < b) | ((both.nearest == b) & (!both.fits | (a < both.exact)));
  }
};

struct greater {
  auto operator()(std::int64_t a, double b) const noexcept -> bool {
    const mixed both(a, b);
    return (both.nearest > b) | ((both.nearest == b) & both.fits & (a > both.exact));
  }
};

/// The disjunction of two comparisons. For example, `<=` is tested as `<` or `==`. The negation of `>` would be wrong
/// for NaN.
template <typename First, typename Second>
struct either {
  auto operator()(std::int64_t a, double b) const noexcept -> bool {
    const bool first = First{}(a, b);
    const bool second = Second{}(a, b);
    return first | second;  // both, so that there is no branch
  }
};

template <typename Fn>
void compare(std::uint64_t* out, const std::int64_t* a, const double* b, std::size_t rows) {
  write_bits(out, rows, [a, b](std::size_t row) { return Fn{}(a[row], b[row]); });
}

}  // namespace

auto bound_for_exacts(comparison operation, double bound) noexcept -> bound_test<std::int64_t> {
  if (std::isnan(bound)) return no_exact;
  if (bound >= 0x1p63) return is_upper(operation) || operation == comparison::not_equal ? every_exact : no_exact;
  if (bound < -0x1p63) return is_lower(operation) || operation == comparison::not_equal ? every_exact : no_exact;
  const auto below = static_cast<std::int64_t>(std::floor(bound));
  if (std::floor(bound) == bound) return {operation, below};
  switch (operation) {
    case comparison::equal: return no_exact;
    case comparison::not_equal: return every_exact;
    case comparison::less:
    case comparison::less_equal: return {comparison::less_equal, below};
    case comparison::greater:
    case comparison::greater_equal: return {comparison::greater, below};
  }
  std::unreachable();
}

auto bound_for_floats(comparison operation, std::int64_t bound) noexcept -> bound_test<double> {
  const auto nearest = static_cast<double>(bound);
  const bool fits = nearest < 0x1p63;
  if (fits && static_cast<std::int64_t>(nearest) == bound) return {operation, nearest};
  // There is no other double between the bound and the double that is nearest to it, so a comparison with that double
  // is exact.
  const bool above = !fits || static_cast<std::int64_t>(nearest) > bound;
  switch (operation) {
    case comparison::equal: return no_float;
    case comparison::not_equal: return every_float;
    case comparison::less:
    case comparison::less_equal: return {above ? comparison::less : comparison::less_equal, nearest};
    case comparison::greater:
    case comparison::greater_equal: return {above ? comparison::greater_equal : comparison::greater, nearest};
  }
  std::unreachable();
}

void compare_mixed(comparison operation, std::uint64_t* out, const std::int64_t* a, const double* b, std::size_t rows) {
  switch (operation) {
    case comparison::equal: return compare<equal>(out, a, b, rows);
    case comparison::not_equal: return compare<either<less, greater>>(out, a, b, rows);
    case comparison::less: return compare<less>(out, a, b, rows);
    case comparison::less_equal: return compare<either<less, equal>>(out, a, b, rows);
    case comparison::greater: return compare<greater>(out, a, b, rows);
    case comparison::greater_equal: return compare<either<greater, equal>>(out, a, b, rows);
  }
  std::unreachable();
}

auto mirrored(comparison operation) noexcept -> comparison {
  switch (operation) {
    case comparison::less: return comparison::greater;
    case comparison::less_equal: return comparison::greater_equal;
    case comparison::greater: return comparison::less;
    case comparison::greater_equal: return comparison::less_equal;
    case comparison::equal:
    case comparison::not_equal: return operation;
  }
  std::unreachable();
}

}  // namespace rankd::detail
