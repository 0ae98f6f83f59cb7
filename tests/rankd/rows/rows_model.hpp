// tests/rankd/rows/rows_model.hpp: rows as plain values, to say what operators must do, and random sets to try them on.
#pragma once

#include <braid/base/arena.hpp>
#include <braid/base/random.hpp>
#include <rankd/rows/column_builder.hpp>
#include <rankd/rows/row_set.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rankd::testing {

/// Null or one value.
using cell = std::variant<std::monostate, double, std::int64_t, bool, std::string>;

struct model_row {
  std::int64_t id = 0;
  std::map<std::uint32_t, cell> fields;  ///< without nulls

  auto operator==(const model_row&) const -> bool = default;
};

inline auto cell_of(const column& values, std::size_t row) -> cell {
  if (values.is_null(row)) return {};
  if (const auto* floats = values.floats()) return (*floats)[row];
  if (const auto* integers = values.integers()) return (*integers)[row];
  if (const auto* booleans = values.booleans()) return (*booleans)[row];
  return std::string((*values.strings())[row]);
}

/// One row of a batch, active or not.
inline auto row_of(const batch& table, std::size_t row) -> model_row {
  model_row out{.id = table.ids()[row], .fields = {}};
  for (const keyed_column& each : table.columns()) {
    if (cell value = cell_of(each.values, row); value.index() != 0) out.fields[each.key_id] = std::move(value);
  }
  return out;
}

/// The active rows in order.
inline auto rows_of(const row_set& rows) -> std::vector<model_row> {
  std::vector<model_row> out;
  for (std::size_t position = 0; position < rows.size(); ++position)
    out.push_back(row_of(rows.table(), rows.row(position)));
  return out;
}

/// Keys of the random sets.
enum : std::uint32_t {
  float_key = 1001,
  full_float_key = 1002,
  int_key = 1501,
  bool_key = 1502,
  text_key = 3001,
  other_text_key = 3002,
  absent_key = 9000
};

inline constexpr std::int64_t two_to_53 = std::int64_t{1} << 53U;

inline constexpr std::array<std::int64_t, 12> hard_integers{0,
                                                            1,
                                                            -1,
                                                            2,
                                                            7,
                                                            two_to_53 - 1,
                                                            two_to_53,
                                                            two_to_53 + 1,
                                                            -two_to_53 - 1,
                                                            std::numeric_limits<std::int64_t>::max(),
                                                            std::numeric_limits<std::int64_t>::max() - 1,
                                                            std::numeric_limits<std::int64_t>::min()};

inline constexpr std::array<double, 12> hard_floats{0.0,    -0.0,       1.0,    -1.0,    2.5,   7.0,
                                                    0x1p53, 0x1p53 + 2, 0x1p63, -0x1p63, 1e300, -1e-300};

/// Sizes around the edges of words and blocks.
inline constexpr std::array<std::size_t, 12> edge_sizes{0, 1, 2, 63, 64, 65, 511, 512, 513, 1023, 1024, 1025};

/// Makes batches and row sets that depend on the seed only.
class random_rows {
 public:
  random_rows(std::uint64_t seed, braid::arena& memory) : random_(seed), memory_(memory) {}

  auto below(std::size_t bound) -> std::size_t { return random_.below(bound); }
  auto integer() -> std::int64_t { return pick(hard_integers); }
  auto floating() -> double { return pick(hard_floats); }

  auto text() -> std::string {
    using namespace std::string_literals;
    static const std::array<std::string, 9> words{"US",       "CA",          "us",  "",  "a\0b"s,
                                                  "\xff\xfe", "caf\xc3\xa9", "US2", "zz"};
    return pick(words);
  }

  /// A column for each key but `absent_key`, each with a third of nulls, none, or nothing but nulls.
  auto table(std::size_t rows) -> batch {
    const std::span<std::int64_t> ids = memory_.uninitialized<std::int64_t>(rows);
    std::ranges::generate(ids, [this] { return integer(); });
    batch out(ids);
    out = out.with_column(text_key, filled<std::string_view>(rows, nulls(), [this] { return text(); }), memory_);
    out = out.with_column(float_key, filled<double>(rows, nulls(), [this] { return floating(); }), memory_);
    out = out.with_column(full_float_key, filled<double>(rows, 0, [this] { return floating(); }), memory_);
    out = out.with_column(int_key, filled<std::int64_t>(rows, nulls(), [this] { return integer(); }), memory_);
    out = out.with_column(bool_key, filled<bool>(rows, nulls(), [this] { return below(2) == 0; }), memory_);
    if (below(3) == 0) return out;
    return out.with_column(other_text_key, filled<std::string_view>(rows, nulls(), [this] { return text(); }), memory_);
  }

  /// Some rows of a random table of that size, in some order.
  auto set(std::size_t rows) -> row_set {
    const batch all = table(rows);
    switch (below(4)) {
      case 0: return row_set(all);
      case 1: return row_set(all).take(below(rows + 1));
      default: return row_set(all, order(rows)).take(below(2) == 0 ? rows : below(rows + 1));
    }
  }

  /// A permutation of the numbers below `rows`.
  auto order(std::size_t rows) -> std::span<const std::uint32_t> {
    const std::span<std::uint32_t> out = memory_.uninitialized<std::uint32_t>(rows);
    std::iota(out.begin(), out.end(), 0U);
    for (std::size_t i = rows; i > 1; --i) std::swap(out[i - 1], out[below(i)]);
    return out;
  }

 private:
  template <typename Range>
  auto pick(const Range& from) -> typename Range::value_type {
    return from[below(from.size())];
  }

  /// How many of three values are to be null.
  auto nulls() -> std::size_t {
    constexpr std::array<std::size_t, 4> shares{0, 1, 1, 3};
    return pick(shares);
  }

  template <typename T, typename Make>
  auto filled(std::size_t rows, std::size_t nulls_of_three, Make make) -> column {
    column_builder<T> out(memory_, rows);
    for (std::size_t i = 0; i < rows; ++i) {
      if (below(3) < nulls_of_three)
        out.push_null();
      else
        out.push(make());
    }
    return out.finish();
  }

  braid::random_source random_;
  braid::arena& memory_;
};

}  // namespace rankd::testing
