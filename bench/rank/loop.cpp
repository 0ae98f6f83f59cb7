// bench/rank/loop.cpp: expressions and filters as loops that were written by hand for exactly this one.
#include <bench/rank/problems.hpp>

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace {

using bench::parameters;
using bench::rank_table;
using bench::sample;

template <unsigned Operations>
auto value_of(double score, double other) -> double {
  double value = score;
  for (unsigned i = 0; i < Operations; ++i) value = i % 2 == 0 ? value * bench::factor : value + other;
  return value;
}

template <unsigned Operations>
[[gnu::noinline]] void compute(const rank_table& table, const std::vector<std::uint8_t>& valid,
                               std::vector<double>& out) {
  for (std::size_t row = 0; row < out.size(); ++row) {
    const double value = value_of<Operations>(table.score[row], table.other[row]);
    out[row] = valid[row] != 0 ? value : 0.0;
  }
}

template <unsigned Operations>
auto run_expression(const rank_table& table) -> sample {
  const std::vector<std::uint8_t> valid(table.has_score.begin(), table.has_score.end());
  std::vector<double> out(table.size());
  const std::size_t repeats = bench::repeats_of(table.size() * Operations);
  double expected = 0;
  for (std::size_t row = 0; row < table.size(); ++row)
    if (table.has_score[row]) expected += value_of<Operations>(table.score[row], table.other[row]);
  return bench::timed(static_cast<double>(repeats * table.size() * Operations), expected, [&] {
    for (std::size_t i = 0; i < repeats; ++i) compute<Operations>(table, valid, out);
    return std::accumulate(out.begin(), out.end(), 0.0);
  });
}

auto expression(const parameters& given) -> sample {
  static_cast<void>(given.workers());
  const rank_table table = bench::table_of(given);
  switch (given.number("operations", 4)) {
    case 1: return run_expression<1>(table);
    case 4: return run_expression<4>(table);
    case 16: return run_expression<16>(table);
    default: std::exit(2);
  }
}

template <typename Test>
[[gnu::noinline]] auto chosen(std::vector<std::uint32_t>& out, std::size_t rows, Test&& test) -> std::size_t {
  std::size_t count = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    out[count] = static_cast<std::uint32_t>(row);
    count += test(row) ? 1 : 0;
  }
  return count;
}

template <typename Test>
auto run_filter(const rank_table& table, Test test) -> sample {
  std::vector<std::uint32_t> out(table.size() + 1);
  const std::size_t repeats = bench::repeats_of(table.size());
  std::size_t expected = 0;
  for (std::size_t row = 0; row < table.size(); ++row) expected += test(row) ? 1 : 0;
  return bench::timed(static_cast<double>(repeats * table.size()), expected, [&] {
    std::size_t count = 0;
    for (std::size_t i = 0; i < repeats; ++i) count = chosen(out, table.size(), test);
    return count;
  });
}

auto filter(const parameters& given) -> sample {
  const rank_table table = bench::table_of(given);
  const std::string what = given.word("test", "float");
  const std::int64_t id = bench::middle_id(table);
  if (what == "float")
    return run_filter(table, [&](std::size_t row) { return table.score[row] > bench::middle_score; });
  if (what == "id") return run_filter(table, [&, id](std::size_t row) { return table.ids[row] > id; });
  return run_filter(table, [&](std::size_t row) { return table.country[row] < bench::wanted_countries; });
}

auto top(const parameters& given) -> sample {
  const rank_table table = bench::table_of(given);
  const std::size_t repeats = bench::repeats_of(table.size() * 4);
  std::vector<std::uint32_t> order(table.size());
  const std::size_t wanted = std::min<std::size_t>(50, table.size());
  const auto comes_before = [&table](std::uint32_t a, std::uint32_t b) {
    return table.score[a] != table.score[b] ? table.score[a] > table.score[b] : a < b;
  };
  return bench::timed(static_cast<double>(repeats * table.size()), true, [&] {
    for (std::size_t i = 0; i < repeats; ++i) {
      std::iota(order.begin(), order.end(), 0U);
      std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(wanted), order.end(), comes_before);
    }
    return std::is_sorted(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(wanted), comes_before);
  });
}

}  // namespace

auto main(int count, char** arguments) -> int {
  const bench::contender loop = bench::reference("plain loop");
  return bench::run_program(count, arguments, "rank",
                            {{"expression", loop, expression}, {"filter", loop, filter}, {"top", loop, top}});
}
