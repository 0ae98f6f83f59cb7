// rankd/op/operators/rows/sample.cpp: keeps rows that a hash chooses.
#include <rankd/expr/detail/hash.hpp>
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/bound_template.hpp>

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
    const std::span<draw> draws = draws_of(context);
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

  /// A number for each row, of its seed and its id. Rows whose seed has a null are drawn with an empty one.
  [[nodiscard]] auto draws_of(node_context& context) const -> std::span<draw> {
    const row_set& rows = context.inputs[0];
    const row_keys seeds = seed.keys_of(context);
    const std::span<std::uint64_t> hashes = context.memory.uninitialized<std::uint64_t>(seeds.asked.size());
    std::ranges::transform(seeds.asked, hashes.begin(), hash_of);
    const auto texts = rows.table().text_ids();
    const std::span<draw> draws = context.memory.filled(rows.size(), draw{});
    for (std::uint32_t position = 0; position < rows.size(); ++position) {
      const std::uint32_t place = seeds.places[position];
      const std::uint64_t hash = place == row_keys::none ? hash_of({}) : hashes[place];
      const std::uint32_t row = rows.row(position);
      draws[position] = {texts ? draw_of(hash, (*texts)[row]) : draw_of(hash, rows.id(position)), position};
    }
    return draws;
  }
};

constexpr std::int64_t max_count = 10'000'000;

constexpr std::array sample_shape{
    param_shape{.name = "count", .kind = param_kind::int64, .range = {.min = 1, .max = max_count}},
    param_shape{.name = "seed", .kind = param_kind::key_template},
};

auto bind_sample(const plan_node& node, const bind_context& with) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  bound_template seed = bound_template::bind(*node.find_param("seed"), with, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(
      sample_params{.count = static_cast<std::size_t>(std::get<std::int64_t>(node.find_param("count")->value)),
                    .seed = std::move(seed)});
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::sample", .inputs = 1, .params = sample_shape},
          .change = row_change::selection,
          .doc = "Keeps `count` rows, chosen by a hash of a seed and their ids, in their order.",
          .bind = &bind_sample};
}

}  // namespace rankd::detail::sample_op
