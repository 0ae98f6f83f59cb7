// rankd/expr/kernels.cpp: contains the kernels, which are written once and compiled by Highway for each set of vector
// instructions.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rankd/expr/kernels.cpp"
#include <hwy/foreach_target.h>  // before highway.h: compiles this file again for each further set of instructions

#include <rankd/expr/detail/kernels.hpp>
#include <rankd/rows/bitmap.hpp>

#include <braid/base/config.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

#include <hwy/highway.h>

// The loops below contain no lambdas and call no functions of other headers, because those functions would be compiled
// for the baseline instructions. The file is compiled with -ffp-contract=off, so products and sums are rounded
// separately.
HWY_BEFORE_NAMESPACE();
namespace rankd::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// An operand with a value for each row.
template <typename T>
struct each_row {
  const T* values;

  template <typename D>
  HWY_INLINE auto load(D d, std::size_t row) const {
    return hn::LoadU(d, values + row);
  }
  HWY_INLINE auto at(std::size_t row) const -> T { return values[row]; }
};

/// An operand with a single value for all rows.
template <typename T>
struct same_row {
  explicit same_row(const T* address) : value(*address) {}

  template <typename D>
  HWY_INLINE auto load(D d, std::size_t /*row*/) const {
    return hn::Set(d, value);
  }
  HWY_INLINE auto at(std::size_t /*row*/) const -> T { return value; }

  T value;
};

struct add_fn {
  template <typename V>
  static HWY_INLINE auto vector(V a, V b) -> V {
    return hn::Add(a, b);
  }
  static HWY_INLINE auto scalar(double a, double b) -> double { return a + b; }
};

struct sub_fn {
  template <typename V>
  static HWY_INLINE auto vector(V a, V b) -> V {
    return hn::Sub(a, b);
  }
  static HWY_INLINE auto scalar(double a, double b) -> double { return a - b; }
};

struct mul_fn {
  template <typename V>
  static HWY_INLINE auto vector(V a, V b) -> V {
    return hn::Mul(a, b);
  }
  static HWY_INLINE auto scalar(double a, double b) -> double { return a * b; }
};

struct div_fn {
  template <typename V>
  static HWY_INLINE auto vector(V a, V b) -> V {
    return hn::Div(a, b);
  }
  static HWY_INLINE auto scalar(double a, double b) -> double { return a / b; }
};

/// Computes the minimum. If the values are equal, the result is the first value, even for zeros of different signs. The
/// CPU's instruction for the minimum behaves differently. If a value is NaN, the result is NaN. `Ne` is not used to
/// test for NaN, because some instruction sets compare NaN as equal to itself.
struct min_fn {
  template <typename V>
  static HWY_INLINE auto vector(V a, V b) -> V {
    return hn::IfThenElse(hn::Lt(b, a), b, hn::IfThenElse(hn::Eq(b, b), a, b));
  }
  static HWY_INLINE auto scalar(double a, double b) -> double { return b < a || b != b ? b : a; }
};

struct max_fn {
  template <typename V>
  static HWY_INLINE auto vector(V a, V b) -> V {
    return hn::IfThenElse(hn::Gt(b, a), b, hn::IfThenElse(hn::Eq(b, b), a, b));
  }
  static HWY_INLINE auto scalar(double a, double b) -> double { return b > a || b != b ? b : a; }
};

struct neg_fn {
  template <typename V>
  static HWY_INLINE auto vector(V x) -> V {
    return hn::Neg(x);
  }
  static HWY_INLINE auto scalar(double x) -> double { return -x; }
};

struct abs_fn {
  template <typename V>
  static HWY_INLINE auto vector(V x) -> V {
    return hn::Abs(x);
  }
  static HWY_INLINE auto scalar(double x) -> double { return std::fabs(x); }
};

/// Every double from this value on is an integer. Adding and then subtracting this value rounds a smaller number to an
/// integer.
constexpr double all_whole = 0x1p52;

/// Returns the integer nearest to `x`, or `x` itself if it is NaN. Highway's own rounding is not used, because it loses
/// the sign of zero on machines without a rounding instruction.
template <typename V>
HWY_INLINE auto rounded(V x) -> V {
  const hn::DFromV<V> d;
  const auto large = hn::Set(d, all_whole);
  const auto size = hn::Abs(x);
  const auto nearest = hn::CopySign(hn::Sub(hn::Add(size, large), large), x);
  return hn::IfThenElse(hn::Lt(size, large), nearest, x);
}

struct floor_fn {
  template <typename V>
  static HWY_INLINE auto vector(V x) -> V {
    const auto near = rounded(x);
    const auto one = hn::Set(hn::DFromV<V>(), 1.0);
    return hn::CopySign(hn::IfThenElse(hn::Gt(near, x), hn::Sub(near, one), near), x);
  }
  static HWY_INLINE auto scalar(double x) -> double { return std::floor(x); }
};

struct ceil_fn {
  template <typename V>
  static HWY_INLINE auto vector(V x) -> V {
    const auto near = rounded(x);
    const auto one = hn::Set(hn::DFromV<V>(), 1.0);
    return hn::CopySign(hn::IfThenElse(hn::Lt(near, x), hn::Add(near, one), near), x);
  }
  static HWY_INLINE auto scalar(double x) -> double { return std::ceil(x); }
};

struct sqrt_fn {
  template <typename V>
  static HWY_INLINE auto vector(V x) -> V {
    return hn::Sqrt(x);
  }
  static HWY_INLINE auto scalar(double x) -> double { return std::sqrt(x); }
};

template <typename Fn, template <typename> typename Left, template <typename> typename Right>
void binary(double* HWY_RESTRICT out, const double* HWY_RESTRICT a, const double* HWY_RESTRICT b, std::size_t rows) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  const Left<double> left{a};
  const Right<double> right{b};
  std::size_t row = 0;
  for (; row + lanes <= rows; row += lanes) hn::StoreU(Fn::vector(left.load(d, row), right.load(d, row)), d, out + row);
  for (; row < rows; ++row) out[row] = Fn::scalar(left.at(row), right.at(row));
}

template <typename Fn>
constexpr std::array<kernel_table::binary, 3> binaries{binary<Fn, each_row, each_row>, binary<Fn, each_row, same_row>,
                                                       binary<Fn, same_row, each_row>};

template <typename Fn>
void unary(double* HWY_RESTRICT out, const double* HWY_RESTRICT x, std::size_t rows) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t row = 0;
  for (; row + lanes <= rows; row += lanes) hn::StoreU(Fn::vector(hn::LoadU(d, x + row)), d, out + row);
  for (; row < rows; ++row) out[row] = Fn::scalar(x[row]);
}

/// An operand with a single value for all rows, or with a value for each row.
template <bool Single>
using operand = std::conditional_t<Single, same_row<double>, each_row<double>>;

/// Limits `x` to the range from `lo` to `hi`. The result is NaN if the range is empty or a bound is NaN.
template <std::size_t Singles>
void clamp(double* HWY_RESTRICT out, const double* HWY_RESTRICT x, const double* HWY_RESTRICT lo,
           const double* HWY_RESTRICT hi, std::size_t rows) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  const operand<(Singles & 1U) != 0> value{x};
  const operand<(Singles & 2U) != 0> low{lo};
  const operand<(Singles & 4U) != 0> high{hi};
  const auto nothing = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
  std::size_t row = 0;
  for (; row + lanes <= rows; row += lanes) {
    const auto v = value.load(d, row);
    const auto min_value = low.load(d, row);
    const auto max_value = high.load(d, row);
    const auto inside =
        hn::IfThenElse(hn::Lt(v, min_value), min_value, hn::IfThenElse(hn::Lt(max_value, v), max_value, v));
    hn::StoreU(hn::IfThenElse(hn::Le(min_value, max_value), inside, nothing), d, out + row);
  }
  for (; row < rows; ++row) {
    const double v = value.at(row);
    const double min_value = low.at(row);
    const double max_value = high.at(row);
    const double inside = v < min_value ? min_value : (max_value < v ? max_value : v);
    out[row] = min_value <= max_value ? inside : std::numeric_limits<double>::quiet_NaN();
  }
}

/// Returns the bits of a mask. The bits after the last lane of the mask are zero.
template <typename D>
HWY_INLINE auto bits_of(D d, hn::Mask<D> mask) -> std::uint64_t {
  std::uint8_t bytes[word_bits / 8] = {};
  hn::StoreMaskBits(d, mask, bytes);
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes, sizeof bits);
  return bits;
}

/// Returns the bits `first` to `first + count` - 1 of a test as one word.
template <typename D, typename Test>
HWY_INLINE auto word_of(D d, const Test& test, std::size_t first, std::size_t count) -> std::uint64_t {
  const std::size_t lanes = hn::Lanes(d);
  std::uint64_t word = 0;
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) word |= bits_of(d, test.mask(d, first + i)) << i;
  for (; i < count; ++i) word |= std::uint64_t{test.holds(first + i)} << i;
  return word;
}

template <typename D, typename Test>
HWY_INLINE void write_bits(D d, const Test& test, std::uint64_t* HWY_RESTRICT out, std::size_t rows) {
  std::size_t first = 0;
  for (; first + word_bits <= rows; first += word_bits) out[first / word_bits] = word_of(d, test, first, word_bits);
  if (first < rows) out[first / word_bits] = word_of(d, test, first, rows - first);
}

/// Compares two vectors. For doubles, `<=` is computed by its own instruction, because for NaN it is not the negation
/// of `>`. For integers, `<=` is computed as the negation of `>`, because there is no instruction for it.
template <comparison How, typename V>
HWY_INLINE auto compared(V a, V b) {
  constexpr bool floats = hwy::IsFloat<hn::TFromV<V>>();
  if constexpr (How == comparison::equal) {
    return hn::Eq(a, b);
  } else if constexpr (How == comparison::not_equal) {
    if constexpr (floats)
      return hn::Or(hn::Lt(a, b), hn::Gt(a, b));
    else
      return hn::Ne(a, b);
  } else if constexpr (How == comparison::less) {
    return hn::Lt(a, b);
  } else if constexpr (How == comparison::greater) {
    return hn::Gt(a, b);
  } else if constexpr (How == comparison::less_equal) {
    if constexpr (floats)
      return hn::Le(a, b);
    else
      return hn::Not(hn::Gt(a, b));
  } else {
    if constexpr (floats)
      return hn::Ge(a, b);
    else
      return hn::Not(hn::Lt(a, b));
  }
}

template <comparison How, typename T>
HWY_INLINE auto compared_numbers(T a, T b) -> bool {
  if constexpr (How == comparison::equal) return a == b;
  if constexpr (How == comparison::not_equal) return (a < b) | (a > b);
  if constexpr (How == comparison::less) return a < b;
  if constexpr (How == comparison::less_equal) return a <= b;
  if constexpr (How == comparison::greater) return a > b;
  if constexpr (How == comparison::greater_equal) return a >= b;
}

template <comparison How, typename Left, typename Right>
struct comparing {
  Left left;
  Right right;

  template <typename D>
  HWY_INLINE auto mask(D d, std::size_t row) const {
    return compared<How>(left.load(d, row), right.load(d, row));
  }
  HWY_INLINE auto holds(std::size_t row) const -> bool { return compared_numbers<How>(left.at(row), right.at(row)); }
};

template <comparison How, typename T, template <typename> typename Right>
void compare(std::uint64_t* HWY_RESTRICT out, const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, std::size_t rows) {
  write_bits(hn::ScalableTag<T>(), comparing<How, each_row<T>, Right<T>>{each_row<T>{a}, Right<T>{b}}, out, rows);
}

template <comparison How, typename T>
constexpr std::array<kernel_table::comparer<T>, 2> comparers_of{compare<How, T, each_row>, compare<How, T, same_row>};

template <typename T>
constexpr kernel_table::comparers<T> all_comparers{
    comparers_of<comparison::equal, T>,   comparers_of<comparison::not_equal, T>,
    comparers_of<comparison::less, T>,    comparers_of<comparison::less_equal, T>,
    comparers_of<comparison::greater, T>, comparers_of<comparison::greater_equal, T>,
};

template <typename T>
struct finding {
  const T* x;
  const T* list;
  std::size_t listed;

  template <typename D>
  HWY_INLINE auto mask(D d, std::size_t row) const {
    const auto value = hn::LoadU(d, x + row);
    auto found = hn::Eq(value, hn::Set(d, list[0]));
    for (std::size_t i = 1; i < listed; ++i) found = hn::Or(found, hn::Eq(value, hn::Set(d, list[i])));
    return found;
  }
  HWY_INLINE auto holds(std::size_t row) const -> bool {
    bool found = false;
    for (std::size_t i = 0; i < listed; ++i) found |= list[i] == x[row];
    return found;
  }
};

template <typename T>
void find(std::uint64_t* HWY_RESTRICT out, const T* x, const T* list, std::size_t listed, std::size_t rows) {
  if (listed != 0) return write_bits(hn::ScalableTag<T>(), finding<T>{x, list, listed}, out, rows);
  for (std::size_t word = 0; word < words_for(rows); ++word) out[word] = 0;
}

/// Returns a mask of the lanes whose bits are set, beginning with the bit of `row`. Requires that `row` is a multiple
/// of the number of lanes.
template <typename D>
HWY_INLINE auto mask_at(D d, const std::uint64_t* bits, std::size_t row) -> hn::Mask<D> {
  const hn::RebindToUnsigned<D> du;
  const auto lane_bits = hn::Shl(hn::Set(du, 1), hn::Iota(du, 0));
  return hn::RebindMask(d, hn::TestBit(hn::Set(du, bits[row / word_bits] >> (row % word_bits)), lane_bits));
}

HWY_INLINE auto bit_at(const std::uint64_t* bits, std::size_t row) -> bool {
  return ((bits[row / word_bits] >> (row % word_bits)) & 1U) != 0;
}

template <typename T, template <typename> typename Left, template <typename> typename Right>
void choose(T* HWY_RESTRICT out, const std::uint64_t* HWY_RESTRICT valid, const T* HWY_RESTRICT a,
            const T* HWY_RESTRICT b, std::size_t rows) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const Left<T> left{a};
  const Right<T> right{b};
  std::size_t row = 0;
  for (; row + lanes <= rows; row += lanes)
    hn::StoreU(hn::IfThenElse(mask_at(d, valid, row), left.load(d, row), right.load(d, row)), d, out + row);
  for (; row < rows; ++row) out[row] = bit_at(valid, row) ? left.at(row) : right.at(row);
}

template <typename T>
constexpr kernel_table::choosers<T> choosers{choose<T, each_row, each_row>, choose<T, each_row, same_row>,
                                             choose<T, same_row, each_row>, choose<T, same_row, same_row>};

void widen(double* HWY_RESTRICT out, const std::int64_t* HWY_RESTRICT in, std::size_t rows) {
  const hn::ScalableTag<double> d;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t row = 0;
  for (; row + lanes <= rows; row += lanes) hn::StoreU(hn::ConvertTo(d, hn::LoadU(di, in + row)), d, out + row);
  for (; row < rows; ++row) out[row] = static_cast<double>(in[row]);
}

void drop_invalid(double* values, const std::uint64_t* HWY_RESTRICT valid, std::size_t rows) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t row = 0;
  for (; row + lanes <= rows; row += lanes)
    hn::StoreU(hn::IfThenElseZero(mask_at(d, valid, row), hn::LoadU(d, values + row)), d, values + row);
  for (; row < rows; ++row) values[row] = bit_at(valid, row) ? values[row] : 0.0;
}

auto all_finite(const double* values, std::size_t rows) -> bool {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto largest = hn::Set(d, std::numeric_limits<double>::max());
  auto fine = hn::Eq(largest, largest);
  std::size_t row = 0;
  for (; row + lanes <= rows; row += lanes) fine = hn::And(fine, hn::Le(hn::Abs(hn::LoadU(d, values + row)), largest));
  const auto is_finite = [](double value) { return std::fabs(value) <= std::numeric_limits<double>::max(); };
  return hn::AllTrue(d, fine) && std::all_of(values + row, values + rows, is_finite);
}

struct finite {
  const double* values;

  template <typename D>
  HWY_INLINE auto mask(D d, std::size_t row) const {
    return hn::Le(hn::Abs(hn::LoadU(d, values + row)), hn::Set(d, std::numeric_limits<double>::max()));
  }
  HWY_INLINE auto holds(std::size_t row) const -> bool {
    return std::fabs(values[row]) <= std::numeric_limits<double>::max();
  }
};

void finite_bits(std::uint64_t* HWY_RESTRICT out, const double* values, std::size_t rows) {
  write_bits(hn::ScalableTag<double>(), finite{values}, out, rows);
}

/// States whether a set of codes fits into one word. Looking up a code in such a set needs no memory access.
enum class set_size : std::uint8_t { one_word, any };

template <set_size Size>
struct matching {
  const std::uint32_t* codes;
  const std::uint32_t* set;

  template <typename D>
  HWY_INLINE auto mask(D d, std::size_t row) const {
    const auto code = hn::LoadU(d, codes + row);
    const auto bit = hn::Shl(hn::Set(d, 1U), hn::And(code, hn::Set(d, 31U)));
    return hn::TestBit(words(d, code), bit);
  }
  HWY_INLINE auto holds(std::size_t row) const -> bool {
    return ((set[codes[row] / 32] >> (codes[row] % 32)) & 1U) != 0;
  }

 private:
  template <typename D, typename V>
  HWY_INLINE auto words(D d, V code) const -> V {
    if constexpr (Size == set_size::one_word)
      return hn::Set(d, set[0]);
    else
      return hn::GatherIndex(d, set, hn::BitCast(hn::RebindToSigned<D>(), hn::ShiftRight<5>(code)));
  }
};

void match_codes(std::uint64_t* HWY_RESTRICT out, const std::uint32_t* codes, const std::uint32_t* set,
                 std::size_t set_words, std::size_t rows) {
  const hn::ScalableTag<std::uint32_t> d;
  if (set_words == 1)
    write_bits(d, matching<set_size::one_word>{codes, set}, out, rows);
  else
    write_bits(d, matching<set_size::any>{codes, set}, out, rows);
}

constexpr kernel_table table{
    .instructions = {},
    .unaries = {unary<neg_fn>, unary<abs_fn>, unary<floor_fn>, unary<ceil_fn>, unary<sqrt_fn>},
    .binaries = {binaries<add_fn>, binaries<sub_fn>, binaries<mul_fn>, binaries<div_fn>, binaries<min_fn>,
                 binaries<max_fn>},
    .clamps = {clamp<0>, clamp<1>, clamp<2>, clamp<3>, clamp<4>, clamp<5>, clamp<6>, clamp<7>},
    .compare_floats = all_comparers<double>,
    .compare_exacts = all_comparers<std::int64_t>,
    .find_float = find<double>,
    .find_exact = find<std::int64_t>,
    .choose_float = choosers<double>,
    .choose_exact = choosers<std::int64_t>,
    .widen = widen,
    .drop_invalid = drop_invalid,
    .all_finite = all_finite,
    .finite_bits = finite_bits,
    .match_codes = match_codes,
};

auto named_table() -> const kernel_table& {
  static const kernel_table named = [] {
    kernel_table out = table;
    out.instructions = hwy::TargetName(HWY_TARGET);
    return out;
  }();
  return named;
}

}  // namespace rankd::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rankd::detail {
namespace {

HWY_EXPORT(named_table);

auto best_table() -> const kernel_table& { return HWY_DYNAMIC_DISPATCH(named_table)(); }

/// Returns Highway's bit for the instruction set with this name, or 0 if the name is unknown. A lower bit stands for a
/// better instruction set.
auto target_called(std::string_view name) -> std::int64_t {
  constexpr unsigned worst = 62;
  for (unsigned bit = 0; bit <= worst; ++bit)
    if (name == hwy::TargetName(std::int64_t{1} << bit)) return std::int64_t{1} << bit;
  return 0;
}

/// Prevents Highway from using a better instruction set than `target`. If `target` is 0, removes the restriction.
void allow_up_to(std::int64_t target) {
  hwy::SetSupportedTargetsForTest(0);
  const std::int64_t all = hwy::SupportedTargets();
  if (target != 0) hwy::SetSupportedTargetsForTest(all & ~(target - 1));
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

/// Returns the best instruction set that the environment variable RANKD_SIMD allows. Reads the variable once.
auto allowed_target() -> std::int64_t {
  static const std::int64_t chosen = [] {
    const char* name = std::getenv("RANKD_SIMD");
    if (name == nullptr) return std::int64_t{0};
    const std::int64_t target = target_called(name);
    BRAID_EXPECTS(target != 0, "RANKD_SIMD must be the name of a Highway target, such as SSE4 or AVX2");
    allow_up_to(target);
    return target;
  }();
  return chosen;
}

}  // namespace

auto kernels() noexcept -> const kernel_table& {
  allowed_target();
  return best_table();
}

auto kernel_instructions() -> std::vector<std::string_view> {
  std::vector<std::string_view> names;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) names.push_back(hwy::TargetName(target));
  return names;
}

forced_instructions::forced_instructions(std::string_view name) {
  allowed_target();
  const std::int64_t target = target_called(name);
  BRAID_EXPECTS(target != 0, "only an instruction set of kernel_instructions() can be forced");
  allow_up_to(target);
}

forced_instructions::~forced_instructions() { allow_up_to(allowed_target()); }

}  // namespace rankd::detail
#endif
