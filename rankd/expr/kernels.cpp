// rankd/expr/kernels.cpp: the comparisons, by type and shape.
#include <rankd/expr/detail/kernels.hpp>

#include <utility>

namespace rankd::detail {
namespace {

/// An int64 and a double side by side. The double nearest to the int64 lies on the same side of any other double, so
/// that only a tie needs the exact look. No branches: ids are rarely predictable.
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
  template <typename T>
  auto operator()(T a, T b) const noexcept -> bool {
    return a == b;
  }
  auto operator()(std::int64_t a, double b) const noexcept -> bool {
    const mixed both(a, b);
    return (both.nearest == b) & both.fits & (a == both.exact);
  }
};

struct less {
  template <typename T>
  auto operator()(T a, T b) const noexcept -> bool {
    return a < b;
  }
  auto operator()(std::int64_t a, double b) const noexcept -> bool {
    const mixed both(a, b);
    return (both.nearest < b) | ((both.nearest == b) & (!both.fits | (a < both.exact)));
  }
};

struct greater {
  template <typename T>
  auto operator()(T a, T b) const noexcept -> bool {
    return a > b;
  }
  auto operator()(std::int64_t a, double b) const noexcept -> bool {
    const mixed both(a, b);
    return (both.nearest > b) | ((both.nearest == b) & both.fits & (a > both.exact));
  }
};

/// Either of two: `<=` is not the opposite of `>`, since neither holds for a NaN.
template <typename First, typename Second>
struct either {
  template <typename A, typename B>
  auto operator()(A a, B b) const noexcept -> bool {
    const bool first = First{}(a, b);
    const bool second = Second{}(a, b);
    return first | second;  // both, so that there is no branch
  }
};

template <typename Fn, typename A, typename B>
void compare(std::uint64_t* out, operand<A> a, operand<B> b, std::size_t rows) {
  with_shapes(a, b, [out, rows](auto left, auto right) {
    write_bits(out, rows, [left, right](std::size_t row) { return Fn{}(left[row], right[row]); });
  });
}

}  // namespace

template <typename A, typename B>
auto kernel_of(comparison how) noexcept -> compare_kernel<A, B> {
  switch (how) {
    case comparison::equal: return compare<equal, A, B>;
    case comparison::not_equal: return compare<either<less, greater>, A, B>;
    case comparison::less: return compare<less, A, B>;
    case comparison::less_equal: return compare<either<less, equal>, A, B>;
    case comparison::greater: return compare<greater, A, B>;
    case comparison::greater_equal: return compare<either<greater, equal>, A, B>;
  }
  std::unreachable();
}

template auto kernel_of<double, double>(comparison how) noexcept -> compare_kernel<double, double>;
template auto kernel_of<std::int64_t, std::int64_t>(comparison how) noexcept
    -> compare_kernel<std::int64_t, std::int64_t>;
template auto kernel_of<std::int64_t, double>(comparison how) noexcept -> compare_kernel<std::int64_t, double>;

auto mirrored(comparison how) noexcept -> comparison {
  switch (how) {
    case comparison::less: return comparison::greater;
    case comparison::less_equal: return comparison::greater_equal;
    case comparison::greater: return comparison::less;
    case comparison::greater_equal: return comparison::less_equal;
    case comparison::equal:
    case comparison::not_equal: return how;
  }
  std::unreachable();
}

}  // namespace rankd::detail
