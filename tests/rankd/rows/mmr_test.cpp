// tests/rankd/rows/mmr_test.cpp: relevant rows that are unlike those before them, against a rule that looks at all.
#include <rankd/rows/mmr.hpp>

#include <rankd/registry/vector_bytes.hpp>
#include <rankd/rows/column_builder.hpp>

#include <braid/base/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace rankd;

namespace {

constexpr std::uint32_t relevance_key = 7;
constexpr std::uint32_t vector_key = 9;

struct test_row {
  std::optional<double> relevance;
  std::optional<std::vector<double>> vector;
};

auto bytes_of(const std::vector<double>& numbers) -> std::string {
  std::string out;
  for (const double each : numbers) CHECK(append_vector_item(out, each));
  return out;
}

/// Rows with the ids 0, 1, 2, …, and what they are.
struct mmr_bench {
  braid::arena memory;
  std::vector<test_row> rows;

  auto set() -> row_set {
    const auto ids = memory.uninitialized<std::int64_t>(rows.size());
    column_builder<double> relevance(memory, rows.size());
    column_builder<std::string_view> vectors(memory, rows.size());
    for (std::size_t at = 0; at < rows.size(); ++at) {
      ids[at] = static_cast<std::int64_t>(at);
      rows[at].relevance ? relevance.push(*rows[at].relevance) : relevance.push_null();
      rows[at].vector ? vectors.push(bytes_of(*rows[at].vector)) : vectors.push_null();
    }
    column of_vectors = vectors.finish();
    std::get<string_values>(of_vectors.values).dimensions = 2;
    return row_set(
        batch(ids).with_column(relevance_key, relevance.finish(), memory).with_column(vector_key, of_vectors, memory));
  }

  auto chosen(double lambda, std::size_t count) -> std::vector<std::int64_t> {
    const row_set out = maximal_marginal_relevance(
        set(), {.relevance_key = relevance_key, .vector_key = vector_key, .lambda = lambda, .count = count}, memory);
    std::vector<std::int64_t> ids;
    for (std::size_t at = 0; at < out.size(); ++at) ids.push_back(out.id(at));
    return ids;
  }

  /// The rule as it is written: all similarities anew for each place.
  [[nodiscard]] auto model(double lambda, std::size_t count) const -> std::vector<std::int64_t> {
    std::vector<std::int64_t> left;
    std::vector<std::int64_t> last;
    for (std::size_t at = 0; at < rows.size(); ++at) {
      const bool is_known = rows[at].relevance && std::isfinite(*rows[at].relevance);
      (is_known ? left : last).push_back(static_cast<std::int64_t>(at));
    }
    std::vector<std::int64_t> out;
    const auto value_of = [&](std::int64_t id) {
      const test_row& row = rows[static_cast<std::size_t>(id)];
      std::optional<double> near;
      for (const std::int64_t each : out) {
        const test_row& other = rows[static_cast<std::size_t>(each)];
        if (!row.vector || !other.vector) continue;
        const double cosine = cosine_similarity(bytes_of(*other.vector), bytes_of(*row.vector));
        near = near ? std::max(*near, cosine) : cosine;
      }
      return lambda * *row.relevance - (1 - lambda) * near.value_or(0);
    };
    while (!left.empty() && out.size() < count) {
      auto best = left.begin();
      for (auto at = left.begin(); at != left.end(); ++at)
        if (value_of(*at) > value_of(*best)) best = at;
      out.push_back(*best);
      left.erase(best);
    }
    for (const std::int64_t id : last)
      if (out.size() < count) out.push_back(id);
    return out;
  }
};

using ids = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("the most relevant row comes first, and what is like it later") {
  mmr_bench bench;
  bench.rows = {{0.9, {{1, 0}}}, {1.0, {{1, 0.1}}}, {0.5, {{0, 1}}}, {0.4, {{-1, 0}}}, {0.95, {{1, 0}}}};
  CHECK(bench.chosen(1, 9) == ids{1, 4, 0, 2, 3});
  CHECK(bench.chosen(0.5, 9) == ids{1, 3, 2, 4, 0});
  CHECK(bench.chosen(0.5, 2) == ids{1, 3});
  CHECK(bench.chosen(0, 1) == ids{0});
}

TEST_CASE("rows without relevance come last, and rows without a vector are like nothing") {
  mmr_bench bench;
  bench.rows = {{std::nullopt, {{1, 0}}},
                {0.5, std::nullopt},
                {0.6, {{1, 0}}},
                {std::numeric_limits<double>::infinity(), {{0, 1}}},
                {0.55, {{1, 0}}}};
  CHECK(bench.chosen(0.5, 9) == ids{2, 1, 4, 0, 3});
  CHECK(bench.chosen(0.5, 4) == ids{2, 1, 4, 0});
}

TEST_CASE("missing columns change nothing but the order of what is known") {
  braid::arena memory;
  const std::vector<std::int64_t> three{5, 6, 7};
  const row_set rows{batch(three)};
  const row_set out =
      maximal_marginal_relevance(rows, {.relevance_key = relevance_key, .vector_key = vector_key, .count = 2}, memory);
  CHECK(out.size() == 2);
  CHECK(out.id(0) == 5);
  CHECK(maximal_marginal_relevance(row_set(), {.count = 3}, memory).empty());
}

TEST_CASE("random rows come as the rule says") {
  braid::random_source random(11);
  for (int round = 0; round < 60; ++round) {
    mmr_bench bench;
    const std::size_t count = random.below(24);
    for (std::size_t at = 0; at < count; ++at) {
      test_row& row = bench.rows.emplace_back();
      if (random.below(8) != 0) row.relevance = static_cast<double>(random.below(5)) / 4;
      if (random.below(6) != 0)
        row.vector = {static_cast<double>(random.below(5)) - 2, static_cast<double>(random.below(5)) - 2};
    }
    const double lambda = static_cast<double>(random.below(11)) / 10;
    const std::size_t wanted = 1 + random.below(26);
    CHECK(bench.chosen(lambda, wanted) == bench.model(lambda, wanted));
  }
}
