// tests/rankd/expr/kernels_test.cpp: the kernels of all instructions that this machine has, against plain loops.
#include <rankd/expr/detail/arithmetic.hpp>
#include <rankd/expr/detail/kernels.hpp>
#include <rankd/expr/detail/mixed.hpp>
#include <tests/rankd/rows/rows_model.hpp>

#include <braid/base/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace rankd;
using namespace rankd::detail;
using namespace rankd::testing;

namespace {

constexpr std::array all_comparisons{comparison::equal,      comparison::not_equal, comparison::less,
                                     comparison::less_equal, comparison::greater,   comparison::greater_equal};
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint64_t marker = 0xa5a5a5a5a5a5a5a5U;

/// Numbers of hard values, and one behind the last row that nobody may look at.
template <typename T>
auto some(std::size_t rows, std::uint64_t seed) -> std::vector<T> {
  braid::random_source random(seed);
  std::vector<T> out(rows);
  for (T& each : out) {
    if constexpr (std::is_same_v<T, double>) {
      constexpr std::array more{infinity, -infinity, no_number, std::numeric_limits<double>::denorm_min(), 0.1, 1e308};
      const std::size_t pick = random.below(hard_floats.size() + more.size());
      each = pick < hard_floats.size() ? hard_floats[pick] : more[pick - hard_floats.size()];
    } else {
      each = hard_integers[random.below(hard_integers.size())];
    }
  }
  return out;
}

auto some_bits(std::size_t rows, std::uint64_t seed) -> std::vector<std::uint64_t> {
  braid::random_source random(seed);
  std::vector<std::uint64_t> out(words_for(rows) + 1);
  for (std::uint64_t& each : out) each = (std::uint64_t{random.below(1U << 31U)} << 33U) ^ random.below(1U << 31U);
  return out;
}

/// Runs `check(table)` for each set of instructions.
template <typename Check>
void with_all_instructions(Check&& check) {
  const auto names = kernel_instructions();
  REQUIRE_FALSE(names.empty());
  for (const std::string_view name : names) {
    CAPTURE(std::string(name));
    const forced_instructions forced(name);
    REQUIRE(kernels().instructions == name);
    check(kernels());
  }
}

template <typename Check>
void with_all_sizes(Check&& check) {
  for (const std::size_t rows : edge_sizes) {
    CAPTURE(rows);
    check(rows);
  }
  for (std::size_t rows = 1; rows <= 130; ++rows) check(rows);
}

/// The same bits, any NaN standing for all of them.
auto same_bits(double a, double b) -> bool {
  return std::isnan(a) ? std::isnan(b) : std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

/// Room for `rows` results and a mark behind them.
struct results {
  explicit results(std::size_t rows) : values(rows + 1, std::bit_cast<double>(marker)) {}

  [[nodiscard]] auto ended_in_time() const -> bool { return std::bit_cast<std::uint64_t>(values.back()) == marker; }

  std::vector<double> values;
};

struct bits {
  explicit bits(std::size_t rows) : words(words_for(rows) + 1, marker) {}

  /// Whether they are what `test(row)` says, with zeros behind, and nothing behind their last word was written.
  template <typename Test>
  [[nodiscard]] auto are(std::size_t rows, Test&& test) const -> bool {
    for (std::size_t row = 0; row < (words.size() - 1) * word_bits; ++row)
      if (test_bit(words.data(), row) != (row < rows && test(row))) return false;
    return words.back() == marker;
  }

  std::vector<std::uint64_t> words;
};

template <typename T>
auto holds(comparison how, T a, T b) -> bool {
  switch (how) {
    case comparison::equal: return a == b;
    case comparison::not_equal: return a < b || a > b;
    case comparison::less: return a < b;
    case comparison::less_equal: return a <= b;
    case comparison::greater: return a > b;
    default: return a >= b;
  }
}

/// Long doubles hold every int64 and every double.
auto holds(comparison how, std::int64_t a, double b) -> bool {
  return holds(how, static_cast<long double>(a), static_cast<long double>(b));
}

constexpr std::array all_binaries{arithmetic::add, arithmetic::sub, arithmetic::mul,
                                  arithmetic::div, arithmetic::min, arithmetic::max};
constexpr std::array all_unaries{arithmetic::neg, arithmetic::abs, arithmetic::floor, arithmetic::ceil,
                                 arithmetic::sqrt};

/// The operand of a row, of a lane that has one for each or a single one.
template <typename T>
auto operand(const std::vector<T>& column, bool single, std::size_t row) -> T {
  return column[single ? 0 : row];
}

template <typename T>
void check_comparisons(const kernel_table& table, std::size_t rows) {
  const std::vector<T> a = some<T>(rows, 1);
  const std::vector<T> b = some<T>(rows + 1, 2);
  for (const comparison how : all_comparisons) {
    const auto& kernel = table.compare<T>()[static_cast<std::size_t>(how)];
    bits each(rows);
    kernel[0](each.words.data(), a.data(), b.data(), rows);
    CHECK(each.are(rows, [&](std::size_t row) { return holds(how, a[row], b[row]); }));
    bits same(rows);
    kernel[1](same.words.data(), a.data(), b.data(), rows);
    CHECK(same.are(rows, [&](std::size_t row) { return holds(how, a[row], b[0]); }));
  }
}

template <typename T>
void check_finding(const kernel_table& table, std::size_t rows) {
  const std::vector<T> x = some<T>(rows, 3);
  for (const std::size_t listed : {0, 1, 2, 7, 33}) {
    const std::vector<T> list = some<T>(listed, 4);
    bits found(rows);
    table.find<T>()(found.words.data(), x.data(), list.data(), listed, rows);
    CHECK(found.are(
        rows, [&](std::size_t row) { return std::ranges::any_of(list, [&](T each) { return each == x[row]; }); }));
  }
}

template <typename T>
void check_choosing(const kernel_table& table, std::size_t rows) {
  const std::vector<T> a = some<T>(rows + 1, 5);
  const std::vector<T> b = some<T>(rows + 1, 6);
  const auto valid = some_bits(rows, 7);
  for (std::size_t of = 0; of < 4; ++of) {
    std::vector<T> out(rows + 1, std::bit_cast<T>(marker));
    table.choose<T>()[of](out.data(), valid.data(), a.data(), b.data(), rows);
    bool right = std::bit_cast<std::uint64_t>(out.back()) == marker;
    for (std::size_t row = 0; row < rows; ++row) {
      const T left = operand(a, of >= static_cast<std::size_t>(shape::same_each), row);
      const T other = operand(b, of % 2 == static_cast<std::size_t>(shape::each_same), row);
      const T wanted = test_bit(valid.data(), row) ? left : other;
      right = right && std::bit_cast<std::uint64_t>(out[row]) == std::bit_cast<std::uint64_t>(wanted);
    }
    CHECK(right);
  }
}

}  // namespace

TEST_CASE("arithmetic gives the bits of IEEE 754 in every shape") {
  with_all_instructions([](const kernel_table& table) {
    with_all_sizes([&](std::size_t rows) {
      const std::vector<double> a = some<double>(rows + 1, 8);
      const std::vector<double> b = some<double>(rows + 1, 9);
      for (const arithmetic what : all_binaries) {
        for (std::size_t of = 0; of < 3; ++of) {
          results out(rows);
          table.binaries[static_cast<std::size_t>(what)][of](out.values.data(), a.data(), b.data(), rows);
          bool right = out.ended_in_time();
          for (std::size_t row = 0; row < rows; ++row) {
            const double left = operand(a, of == static_cast<std::size_t>(shape::same_each), row);
            const double other = operand(b, of == static_cast<std::size_t>(shape::each_same), row);
            right = right && same_bits(out.values[row], computed(what, {left, other}));
          }
          CHECK(right);
        }
      }
    });
  });
}

TEST_CASE("arithmetic of one operand gives the same bits for every sign, zero, and beyond what an int64 holds") {
  with_all_instructions([](const kernel_table& table) {
    with_all_sizes([&](std::size_t rows) {
      std::vector<double> x = some<double>(rows, 10);
      braid::random_source random(rows);
      for (std::size_t row = 0; row < rows; row += 3)
        x[row] =
            std::ldexp(static_cast<double>(random.below(2'000'001)) - 1e6, static_cast<int>(random.below(70)) - 25);
      for (const arithmetic what : all_unaries) {
        results out(rows);
        table.unaries[static_cast<std::size_t>(what) - static_cast<std::size_t>(arithmetic::neg)](out.values.data(),
                                                                                                  x.data(), rows);
        CHECK(std::ranges::equal(x, std::span(out.values).first(rows),
                                 [what](double from, double to) { return same_bits(computed(what, {from}), to); }));
        CHECK(out.ended_in_time());
      }
    });
  });
}

TEST_CASE("a value is clamped in every shape, and to nothing where the ends cross") {
  with_all_instructions([](const kernel_table& table) {
    with_all_sizes([&](std::size_t rows) {
      const std::vector<double> x = some<double>(rows + 1, 15);
      const std::vector<double> lo = some<double>(rows + 1, 16);
      const std::vector<double> hi = some<double>(rows + 1, 17);
      for (std::size_t of = 0; of < table.clamps.size(); ++of) {
        results out(rows);
        table.clamps[of](out.values.data(), x.data(), lo.data(), hi.data(), rows);
        bool right = out.ended_in_time();
        for (std::size_t row = 0; row < rows; ++row) {
          const double value = operand(x, (of & 1U) != 0, row);
          const double min_value = operand(lo, (of & 2U) != 0, row);
          const double max_value = operand(hi, (of & 4U) != 0, row);
          right = right && same_bits(out.values[row], computed(arithmetic::clamp, {value, min_value, max_value}));
        }
        CHECK(right);
      }
    });
  });
}

TEST_CASE("single values are computed as their names say") {
  CHECK(same_bits(computed(arithmetic::div, {1, -0.0}), -infinity));
  CHECK(same_bits(computed(arithmetic::min, {-0.0, 0.0}), -0.0));
  CHECK(same_bits(computed(arithmetic::min, {0.0, -0.0}), 0.0));
  CHECK(same_bits(computed(arithmetic::max, {-0.0, 0.0}), -0.0));
  CHECK(computed(arithmetic::max, {-infinity, 3}) == 3);
  for (const arithmetic what : {arithmetic::min, arithmetic::max, arithmetic::pow}) {
    CHECK(std::isnan(computed(what, {1, no_number})));
    CHECK(std::isnan(computed(what, {no_number, 0})));
  }
  CHECK(same_bits(computed(arithmetic::ceil, {-0.5}), -0.0));
  CHECK(same_bits(computed(arithmetic::floor, {-0.5}), -1.0));
  CHECK(same_bits(computed(arithmetic::clamp, {-0.0, 0.0, 1}), -0.0));
  CHECK(computed(arithmetic::clamp, {5, -infinity, 3}) == 3);
  CHECK(computed(arithmetic::clamp, {-5, -3, infinity}) == -3);
  CHECK(std::isnan(computed(arithmetic::clamp, {5, 3, 2})));
  CHECK(std::isnan(computed(arithmetic::clamp, {5, no_number, 2})));
  CHECK(std::isnan(computed(arithmetic::clamp, {no_number, 1, 2})));
}

TEST_CASE("functions of the C library give its bits, whichever operand is the same for every row") {
  constexpr std::size_t rows = 131;
  const std::vector<double> a = some<double>(rows + 1, 18);
  const std::vector<double> b = some<double>(rows + 1, 19);
  for (const arithmetic what : {arithmetic::pow, arithmetic::exp, arithmetic::log, arithmetic::log1p}) {
    for (const auto& [step_a, step_b] : {std::pair(1U, 1U), std::pair(0U, 1U), std::pair(1U, 0U), std::pair(0U, 0U)}) {
      results out(rows);
      library_rows(what, out.values.data(), {a.data(), step_a}, {b.data(), step_b}, rows);
      bool right = out.ended_in_time();
      for (std::size_t row = 0; row < rows; ++row)
        right = right && same_bits(out.values[row], computed(what, {a[row * step_a], b[row * step_b]}));
      CHECK(right);
    }
  }
}

TEST_CASE("comparisons of doubles and of int64 are right for every pair, and false for what is no number") {
  with_all_instructions([](const kernel_table& table) {
    with_all_sizes([&](std::size_t rows) {
      check_comparisons<double>(table, rows);
      check_comparisons<std::int64_t>(table, rows);
    });
  });
}

TEST_CASE("lists are searched for each value") {
  with_all_instructions([](const kernel_table& table) {
    with_all_sizes([&](std::size_t rows) {
      check_finding<double>(table, rows);
      check_finding<std::int64_t>(table, rows);
    });
  });
}

TEST_CASE("a choice takes the first where its bit is set and the second elsewhere") {
  with_all_instructions([](const kernel_table& table) {
    with_all_sizes([&](std::size_t rows) {
      check_choosing<double>(table, rows);
      check_choosing<std::int64_t>(table, rows);
    });
  });
}

TEST_CASE("every int64 becomes the double nearest to it") {
  with_all_instructions([](const kernel_table& table) {
    std::vector<std::int64_t> in = some<std::int64_t>(200, 11);
    braid::random_source random(12);
    // Around every power of two, where rounding changes, and anything at all.
    for (unsigned power = 1; power < 63; ++power)
      for (const std::int64_t off : {-3, -2, -1, 0, 1, 2, 3})
        for (const std::int64_t sign : {-1, 1}) in.push_back(sign * ((std::int64_t{1} << power) + off));
    for (int i = 0; i < 5000; ++i)
      in.push_back(static_cast<std::int64_t>((std::uint64_t{random.below(1U << 31U)} << 33U) ^
                                             (std::uint64_t{random.below(1U << 31U)} << 9U) ^
                                             random.below(1U << 12U)) >>
                   random.below(60));
    results out(in.size());
    table.widen(out.values.data(), in.data(), in.size());
    CHECK(std::ranges::equal(in, std::span(out.values).first(in.size()),
                             [](std::int64_t from, double to) { return same_bits(static_cast<double>(from), to); }));
    CHECK(out.ended_in_time());
    with_all_sizes([&](std::size_t rows) {
      results few(rows);
      table.widen(few.values.data(), in.data(), rows);
      CHECK(few.ended_in_time());
    });
  });
}

TEST_CASE("what is not valid becomes zero") {
  with_all_instructions([](const kernel_table& table) {
    with_all_sizes([&](std::size_t rows) {
      const std::vector<double> before = some<double>(rows, 13);
      const auto valid = some_bits(rows, 14);
      results out(rows);
      std::ranges::copy(before, out.values.begin());
      table.drop_invalid(out.values.data(), valid.data(), rows);
      bool right = out.ended_in_time();
      for (std::size_t row = 0; row < rows; ++row)
        right = right && same_bits(out.values[row], test_bit(valid.data(), row) ? before[row] : 0.0);
      CHECK(right);
    });
  });
}

TEST_CASE("each row has a bit that says whether its value is finite") {
  with_all_instructions([](const kernel_table& table) {
    with_all_sizes([&](std::size_t rows) {
      const std::vector<double> values = some<double>(rows, 20);
      bits found(rows);
      table.finite_bits(found.words.data(), values.data(), rows);
      CHECK(found.are(rows, [&](std::size_t row) { return std::isfinite(values[row]); }));
    });
  });
}

TEST_CASE("a single value that is not finite is found wherever it stands") {
  with_all_instructions([](const kernel_table& table) {
    with_all_sizes([&](std::size_t rows) {
      std::vector<double> values(rows, -std::numeric_limits<double>::max());
      CHECK(table.all_finite(values.data(), rows));
      for (std::size_t row = 0; row < rows; row += 1 + rows / 50) {
        for (const double wrong : {infinity, -infinity, no_number}) {
          values[row] = wrong;
          CHECK_FALSE(table.all_finite(values.data(), rows));
        }
        values[row] = 0;
      }
      values.push_back(no_number);
      CHECK(table.all_finite(values.data(), rows));
    });
  });
}

TEST_CASE("codes are looked up in sets of any size") {
  with_all_instructions([](const kernel_table& table) {
    with_all_sizes([&](std::size_t rows) {
      for (const std::uint32_t size : {1U, 31U, 32U, 33U, 200U, 5000U}) {
        braid::random_source random(size);
        std::vector<std::uint32_t> set(size / 32 + 1);
        for (std::uint32_t& word : set) word = static_cast<std::uint32_t>(random.below(1ULL << 32U));
        std::vector<std::uint32_t> codes(rows);
        for (std::uint32_t& code : codes) code = static_cast<std::uint32_t>(random.below(size));
        bits found(rows);
        table.match_codes(found.words.data(), codes.data(), set.data(), set.size(), rows);
        CHECK(
            found.are(rows, [&](std::size_t row) { return ((set[codes[row] / 32] >> (codes[row] % 32)) & 1U) != 0; }));
      }
    });
  });
}

TEST_CASE("an int64 and a double are compared by value, whichever of them is the same for every row") {
  std::vector<double> doubles(hard_floats.begin(), hard_floats.end());
  for (const double more : {infinity, -infinity, no_number, -0x1p53 - 2, 0.5, -0.5, 0x1p62, -0x1p63 - 2048, 7.5})
    doubles.push_back(more);
  for (const std::int64_t whole : hard_integers) {
    doubles.push_back(static_cast<double>(whole));
    doubles.push_back(std::nextafter(static_cast<double>(whole), infinity));
    doubles.push_back(std::nextafter(static_cast<double>(whole), -infinity));
  }
  for (const comparison how : all_comparisons) {
    for (const std::int64_t a : hard_integers) {
      const auto for_b = bound_for_floats(mirrored(how), a);
      for (const double b : doubles) {
        CAPTURE(a);
        CAPTURE(b);
        CAPTURE(static_cast<int>(how));
        const bool wanted = holds(how, a, b);
        const auto for_a = bound_for_exacts(how, b);
        CHECK(holds(for_a.how, a, for_a.bound) == wanted);
        CHECK(holds(for_b.how, b, for_b.bound) == wanted);
        std::uint64_t found = 0;
        compare_mixed(how, &found, &a, &b, 1);
        CHECK(found == (wanted ? 1 : 0));
      }
    }
  }
}
