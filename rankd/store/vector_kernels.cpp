// rankd/store/vector_kernels.cpp: contains the kernels, which are written once and compiled by Highway for each
// instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rankd/store/vector_kernels.cpp"
#include <hwy/foreach_target.h>  // before highway.h: compiles this file again for each further set of instructions

#include <rankd/store/vector_kernels.hpp>

#include <hwy/highway.h>

// The code below has no lambdas, and its loops call no function of other headers, because those functions would be
// compiled for the lowest instruction set. The file is compiled with -ffp-contract=off, so differences are rounded
// before they are squared, and squares before they are added. Products of float32 are exact in float64, so a fused step
// gives the same bits.
HWY_BEFORE_NAMESPACE();
namespace rankd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using lanes_of_doubles = hn::CappedTag<double, 16>;  // vector_block

struct product {
  template <typename V>
  static HWY_INLINE auto step(V sum, V query, V value) -> V {
    return hn::MulAdd(query, value, sum);
  }
};

struct squared_difference {
  template <typename V>
  static HWY_INLINE auto step(V sum, V query, V value) -> V {
    const auto apart = hn::Sub(query, value);
    return hn::Add(sum, hn::Mul(apart, apart));
  }
};

/// Computes four registers of sums at a time, so that an addition need not wait for the result of the previous one.
template <typename Step>
HWY_INLINE void four_sums(const float* block, const double* query, std::size_t dimensions, double* out) {
  const lanes_of_doubles d;
  const hn::Rebind<float, lanes_of_doubles> narrow;
  const std::size_t lanes = hn::Lanes(d);
  auto a = hn::Zero(d);
  auto b = a;
  auto c = a;
  auto e = a;
  for (std::size_t at = 0; at < dimensions; ++at) {
    const float* values = block + at * 16;
    const auto q = hn::Set(d, query[at]);
    a = Step::step(a, q, hn::PromoteTo(d, hn::LoadU(narrow, values)));
    b = Step::step(b, q, hn::PromoteTo(d, hn::LoadU(narrow, values + lanes)));
    c = Step::step(c, q, hn::PromoteTo(d, hn::LoadU(narrow, values + 2 * lanes)));
    e = Step::step(e, q, hn::PromoteTo(d, hn::LoadU(narrow, values + 3 * lanes)));
  }
  hn::StoreU(a, d, out);
  hn::StoreU(b, d, out + lanes);
  hn::StoreU(c, d, out + 2 * lanes);
  hn::StoreU(e, d, out + 3 * lanes);
}

template <typename Step>
HWY_INLINE void one_sum(const float* block, const double* query, std::size_t dimensions, double* out) {
  const lanes_of_doubles d;
  const hn::Rebind<float, lanes_of_doubles> narrow;
  auto sum = hn::Zero(d);
  for (std::size_t at = 0; at < dimensions; ++at)
    sum = Step::step(sum, hn::Set(d, query[at]), hn::PromoteTo(d, hn::LoadU(narrow, block + at * 16)));
  hn::StoreU(sum, d, out);
}

/// Computes the sums of a block. If a register is wider than a quarter of a block, several passes are needed, with one
/// register in each pass.
template <typename Step>
HWY_INLINE void sums(const float* block, const double* query, std::size_t dimensions, double* out) {
  const std::size_t lanes = hn::Lanes(lanes_of_doubles());
  if (4 * lanes <= 16) {
    for (std::size_t at = 0; at < 16; at += 4 * lanes) four_sums<Step>(block + at, query, dimensions, out + at);
  } else {
    for (std::size_t at = 0; at < 16; at += lanes) one_sum<Step>(block + at, query, dimensions, out + at);
  }
}

void dot(const float* block, const double* query, std::size_t dimensions, double* out) {
  sums<product>(block, query, dimensions, out);
}

void squared_distance(const float* block, const double* query, std::size_t dimensions, double* out) {
  sums<squared_difference>(block, query, dimensions, out);
}

void interleave_one(const float* row, std::size_t first, std::size_t dimensions, float* block) {
  for (std::size_t at = first; at < dimensions; ++at) block[at * 16] = row[at];
}

#if HWY_TARGET == HWY_SCALAR
void interleave(const float* const* rows, std::size_t count, std::size_t dimensions, float* block) {
  for (std::size_t row = 0; row < count; ++row) interleave_one(rows[row], 0, dimensions, block + row);
}
#else
/// Transposes four numbers of four vectors at a time. If fewer than four vectors are left, the last vector is repeated.
void interleave(const float* const* rows, std::size_t count, std::size_t dimensions, float* block) {
  const hn::CappedTag<float, 4> d;
  const hn::RepartitionToWide<decltype(d)> pairs;
  for (std::size_t first = 0; first < count; first += 4) {
    const float* a = rows[first];
    const float* b = rows[first + 1 < count ? first + 1 : count - 1];
    const float* c = rows[first + 2 < count ? first + 2 : count - 1];
    const float* e = rows[first + 3 < count ? first + 3 : count - 1];
    float* out = block + first;
    std::size_t at = 0;
    for (; at + 4 <= dimensions; at += 4) {
      const auto row_a = hn::LoadU(d, a + at);
      const auto row_b = hn::LoadU(d, b + at);
      const auto row_c = hn::LoadU(d, c + at);
      const auto row_e = hn::LoadU(d, e + at);
      const auto low_ab = hn::BitCast(pairs, hn::InterleaveLower(d, row_a, row_b));
      const auto low_ce = hn::BitCast(pairs, hn::InterleaveLower(d, row_c, row_e));
      const auto high_ab = hn::BitCast(pairs, hn::InterleaveUpper(d, row_a, row_b));
      const auto high_ce = hn::BitCast(pairs, hn::InterleaveUpper(d, row_c, row_e));
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, low_ab, low_ce)), d, out + at * 16);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, low_ab, low_ce)), d, out + (at + 1) * 16);
      hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, high_ab, high_ce)), d, out + (at + 2) * 16);
      hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, high_ab, high_ce)), d, out + (at + 3) * 16);
    }
    interleave_one(a, at, dimensions, out);
    interleave_one(b, at, dimensions, out + 1);
    interleave_one(c, at, dimensions, out + 2);
    interleave_one(e, at, dimensions, out + 3);
  }
}
#endif

constexpr vector_kernels table{.dot = &dot, .squared_distance = &squared_distance, .interleave = &interleave};

auto named_vector_table() -> const vector_kernels* { return &table; }

}  // namespace rankd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rankd {

static_assert(vector_block == 16, "the kernels are written for blocks of 16 vectors");

HWY_EXPORT(named_vector_table);

auto vector_kernels_here() noexcept -> const vector_kernels& { return *HWY_DYNAMIC_DISPATCH(named_vector_table)(); }

}  // namespace rankd
#endif
