// rankd/op/operators/rows/sample.cpp: implements the operator that keeps a sample of the rows, which it selects by a
// hash of each row's id and a seed.
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/row_draws.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>

namespace rankd::detail::sample_op {
namespace {

struct sample_params {
  std::size_t count = 0;
  bound_template seed;

  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double { return 90.0 * static_cast<double>(rows); }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    const row_set& rows = context.inputs[0];
    if (rows.size() <= count) return rows;
    braid::arena& memory = context.memory;
    const std::span<draw> draws = make_draws(context);
    std::ranges::nth_element(draws, draws.begin() + static_cast<std::ptrdiff_t>(count));
    const std::span<std::uint64_t> stays = memory.filled(words_for(rows.size()) + 1, std::uint64_t{0});
    for (const draw& each : draws.first(count)) set_bit(stays.data(), each.position);
    return rows.select(bitmap(stays.data()), memory);
  }

 private:
  struct draw {
    std::uint64_t number = 0;
    std::uint32_t position = 0;

    auto operator<=>(const draw&) const = default;
  };

  [[nodiscard]] auto make_draws(const node_context& context) const -> std::span<draw> {
    const std::span<draw> draws = context.memory.filled(context.inputs[0].size(), draw{});
    for_each_draw(seed, context, [draws](std::uint32_t position, std::uint64_t number) {
      draws[position] = {.number = number, .position = position};
    });
    return draws;
  }
};

constexpr std::int64_t max_count = 10'000'000;

constexpr std::array sample_shape{
    param_shape{.name = "count", .kind = param_kind::int64, .range = {.min = 1, .max = max_count}},
    param_shape{.name = "seed", .kind = param_kind::key_template},
};

auto bind_sample(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  bound_template seed = bound_template::bind(*node.find_param("seed"), context, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(
      sample_params{.count = static_cast<std::size_t>(std::get<std::int64_t>(node.find_param("count")->value)),
                    .seed = std::move(seed)});
}

}  // namespace

auto entry() -> op_entry {
  return {
      .shape = {.name = "core::sample", .inputs = 1, .params = sample_shape},
      .change = row_change::selection,
      .doc = "Keeps `count` rows, chosen by a hash of a seed and the row ids. The order of the rows stays the same.",
      .bind = &bind_sample};
}

}  // namespace rankd::detail::sample_op
