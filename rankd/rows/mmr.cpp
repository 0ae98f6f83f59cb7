// rankd/rows/mmr.cpp: chooses rows greedily, and updates the greatest similarity of each remaining row after each
// choice.
#include <rankd/rows/mmr.hpp>

#include <rankd/registry/vector_bytes.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

namespace rankd {
namespace {

/// A row that has not been chosen yet.
struct left_row {
  std::uint32_t row = 0;
  double relevance = 0;
  std::string_view vector;  ///< empty if it has none
  double square = 0;        ///< of the vector with itself
  double similarity = 0;    ///< the greatest so far
};

class chooser {
 public:
  chooser(const row_set& rows, const mmr_options& options, braid::arena& memory) : options_(options) {
    const std::optional<column> relevance = rows.table().find(options.relevance_key);
    const std::optional<column> vectors = rows.table().find(options.vector_key);
    left_ = memory.filled(rows.size(), left_row());
    last_ = memory.filled(rows.size(), std::uint32_t{0});
    std::size_t count = 0;
    rows.for_each_row([&](std::uint32_t row) {
      const double value = number_at(relevance, row);
      if (!std::isfinite(value)) {
        last_[last_count_++] = row;
        return;
      }
      left_row& made = left_[count++];
      made = {.row = row, .relevance = value, .vector = {}};
      if (!vectors || vectors->strings() == nullptr || vectors->is_null(row)) return;
      made.vector = (*vectors->strings())[row];
      made.square = dot_product(made.vector, made.vector);
    });
    left_ = left_.first(count);
  }

  auto run(const row_set& rows, braid::arena& memory) -> row_set {
    const std::size_t wanted = std::min(options_.count, rows.size());
    const std::span<std::uint32_t> order = memory.uninitialized<std::uint32_t>(wanted);
    std::size_t size = 0;
    while (size < wanted && !left_.empty() && (options_.stop == nullptr || !options_.stop->requested()))
      order[size++] = next();
    const std::size_t more = left_.empty() ? std::min(wanted - size, last_count_) : 0;
    std::copy_n(last_.begin(), more, order.begin() + static_cast<std::ptrdiff_t>(size));
    return row_set(rows.table(), order.first(size + more));
  }

 private:
  static auto number_at(const std::optional<column>& values, std::uint32_t row) -> double {
    if (!values || values->is_null(row)) return std::numeric_limits<double>::quiet_NaN();
    if (const auto* whole = values->integers()) return static_cast<double>((*whole)[row]);
    return (*values->floats())[row];
  }

  /// Removes the best remaining row, and returns it.
  auto next() -> std::uint32_t {
    std::size_t best = 0;
    double highest = -std::numeric_limits<double>::infinity();
    for (std::size_t at = 0; at < left_.size(); ++at) {
      const double value = options_.lambda * left_[at].relevance - (1 - options_.lambda) * left_[at].similarity;
      if (value > highest) {
        highest = value;
        best = at;
      }
    }
    const left_row chosen = left_[best];
    std::copy(left_.begin() + static_cast<std::ptrdiff_t>(best) + 1, left_.end(),
              left_.begin() + static_cast<std::ptrdiff_t>(best));
    left_ = left_.first(left_.size() - 1);
    if (!chosen.vector.empty()) compare_with(chosen);
    has_chosen_ = has_chosen_ || !chosen.vector.empty();
    return chosen.row;
  }

  void compare_with(const left_row& chosen) {
    std::size_t at = 0;
    for (; at + side_by_side <= left_.size(); at += side_by_side) {
      const std::array dots = measure_dots(chosen.vector, left_.subspan(at).first<side_by_side>());
      for (std::size_t place = 0; place < side_by_side; ++place)
        take_over(left_[at + place], dots[place], chosen.square);
    }
    for (; at < left_.size(); ++at) take_over(left_[at], dot_product(chosen.vector, left_[at].vector), chosen.square);
  }

  void take_over(left_row& row, double dot, double square) const {
    if (row.vector.empty()) return;
    const double cosine = measure_cosine(dot, square, row.square);
    row.similarity = has_chosen_ ? std::max(row.similarity, cosine) : cosine;
  }

  static constexpr std::size_t side_by_side = 4;  // sums that need not wait for each other

  /// Computes several dot products in one loop, with the same results as `dot_product`.
  static auto measure_dots(std::string_view vector, std::span<const left_row, side_by_side> rows)
      -> std::array<double, side_by_side> {
    std::array<double, side_by_side> sums{};
    for (const left_row& each : rows) {
      if (each.vector.size() == vector.size()) continue;
      for (std::size_t place = 0; place < side_by_side; ++place) sums[place] = dot_product(vector, rows[place].vector);
      return sums;
    }
    for (std::size_t at = 0; at < vector_size(vector); ++at) {
      const double number = vector_item(vector, at);
      for (std::size_t place = 0; place < side_by_side; ++place)
        sums[place] += number * static_cast<double>(vector_item(rows[place].vector, at));
    }
    return sums;
  }

  mmr_options options_;
  std::span<left_row> left_;  // in their order
  std::span<std::uint32_t> last_;
  std::size_t last_count_ = 0;
  bool has_chosen_ = false;  // a row with a vector
};

}  // namespace

auto maximal_marginal_relevance(const row_set& rows, const mmr_options& options, braid::arena& memory) -> row_set {
  return chooser(rows, options, memory).run(rows, memory);
}

}  // namespace rankd
