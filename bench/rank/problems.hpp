// bench/rank/problems.hpp: the columns that expressions and filters read, and what must come out.
#pragma once

#include <bench/harness/program.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace bench {

/// Columns as plain vectors.
struct rank_table {
  std::vector<std::int64_t> ids;
  std::vector<double> score;
  std::vector<double> other;
  std::vector<bool> has_score;
  std::vector<std::uint32_t> country;  ///< a number below `countries`

  static constexpr std::uint32_t countries = 40;

  [[nodiscard]] auto size() const -> std::size_t { return ids.size(); }
};

/// Scores and ids lie evenly around the middle of what filters compare with. Where there are to be nulls, each eighth
/// row has no score.
inline auto table_of(const parameters& given) -> rank_table {
  std::mt19937_64 random(7);
  const std::size_t rows = given.number("rows", 100'000);
  const bool some_nulls = given.word("nulls", "none") == "some";
  rank_table made;
  for (std::size_t row = 0; row < rows; ++row) {
    made.ids.push_back(static_cast<std::int64_t>((std::uint64_t{1} << 53U) + random() % (2 * rows)));
    made.score.push_back(static_cast<double>(random() % 1'000'000) / 1e6);
    made.other.push_back(static_cast<double>(random() % 1'000'000) / 1e6);
    made.has_score.push_back(!some_nulls || random() % 8 != 0);
    made.country.push_back(static_cast<std::uint32_t>(random() % rank_table::countries));
  }
  return made;
}

/// Factors and addends of the expressions: `score * 0.5 + other * 0.75 …` from left to right, so that odd operations
/// multiply by a constant and even ones add a column.
inline constexpr double factor = 0.75;

/// So often that a run takes some hundredths of a second.
inline auto repeats_of(std::size_t work) -> std::size_t { return 20'000'000 / (work + 1000) + 1; }

inline constexpr double middle_score = 0.5;
inline auto middle_id(const rank_table& table) -> std::int64_t {
  return (std::int64_t{1} << 53U) + static_cast<std::int64_t>(table.size());
}
inline constexpr std::uint32_t wanted_countries = rank_table::countries / 2;  ///< those with lower numbers

}  // namespace bench
