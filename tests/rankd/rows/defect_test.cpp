// tests/rankd/rows/defect_test.cpp: finding the value that must not be.
#include <rankd/rows/defect.hpp>
#include <tests/rankd/rows/rows_model.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <vector>

using namespace rankd;
using namespace rankd::testing;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// A hundred and thirty rows of ones, to be spoilt.
struct sample {
  std::vector<std::int64_t> ids = std::vector<std::int64_t>(130);
  std::vector<double> values = std::vector<double>(130, 1.0);
  std::vector<std::uint64_t> valid = std::vector<std::uint64_t>(3, ~std::uint64_t{0});

  [[nodiscard]] auto values_column() const -> column {
    return {.values = std::span<const double>(values), .validity = bitmap(valid.data())};
  }
  [[nodiscard]] auto rows() const -> row_set { return row_set(batch(ids)); }
};

}  // namespace

TEST_CASE("finite values without nulls have no defect") {
  sample all;
  all.values[3] = std::numeric_limits<double>::max();
  all.values[4] = -std::numeric_limits<double>::max();
  all.values[5] = std::numeric_limits<double>::denorm_min();
  CHECK_FALSE(find_defect(all.rows(), all.values_column(), null_rule::refused).has_value());
  CHECK_FALSE(find_defect(row_set(), column(), null_rule::refused).has_value());
}

TEST_CASE("the first value that is not finite is found, wherever it lies") {
  for (const double bad : {inf, -inf, nan}) {
    for (const std::size_t at : {0, 63, 64, 128, 129}) {
      sample all;
      all.values[at] = bad;
      all.values[129] = bad;
      const auto found = find_defect(all.rows(), all.values_column(), null_rule::allowed);
      REQUIRE(found.has_value());
      CHECK(found->kind == defect_kind::non_finite);
      CHECK(found->row == at);
    }
  }
}

TEST_CASE("a null is a defect only where nulls are refused") {
  sample all;
  clear_bit(all.valid.data(), 100);
  CHECK_FALSE(find_defect(all.rows(), all.values_column(), null_rule::allowed).has_value());
  const auto found = find_defect(all.rows(), all.values_column(), null_rule::refused);
  REQUIRE(found.has_value());
  CHECK(found->kind == defect_kind::null_value);
  CHECK(found->row == 100);
}

TEST_CASE("what lies under a null is not looked at") {
  sample all;
  all.values[100] = nan;
  clear_bit(all.valid.data(), 100);
  CHECK_FALSE(find_defect(all.rows(), all.values_column(), null_rule::allowed).has_value());
  all.values[101] = inf;
  CHECK(find_defect(all.rows(), all.values_column(), null_rule::allowed)->row == 101);
}

TEST_CASE("inactive rows are not looked at, and the first is the first in order") {
  sample all;
  all.values[5] = inf;
  clear_bit(all.valid.data(), 7);
  all.values[129] = nan;
  CHECK_FALSE(find_defect(all.rows().take(5), all.values_column(), null_rule::refused).has_value());
  const std::vector<std::uint32_t> order{1, 7, 5};
  const row_set rows(batch(all.ids), order);
  CHECK(find_defect(rows, all.values_column(), null_rule::refused)->row == 7);
  CHECK(find_defect(rows, all.values_column(), null_rule::allowed)->row == 5);
  CHECK_FALSE(find_defect(rows.take(1), all.values_column(), null_rule::refused).has_value());
}
