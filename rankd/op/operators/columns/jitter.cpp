// rankd/op/operators/columns/jitter.cpp: implements the operator that adds pseudo-random noise to a column. Rows with
// equal seeds and ids get equal noise.
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/key_types.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/op/detail/row_draws.hpp>
#include <rankd/op/detail/written_key.hpp>
#include <rankd/op/option_value.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace rankd::detail::jitter_op {
namespace {

struct jitter_params {
  std::uint32_t key_id = 0;
  written_key out;
  option_value<double> amount;
  bound_template seed;

  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double { return 100.0 * static_cast<double>(rows); }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    const row_set& rows = context.inputs[0];
    const std::size_t size = rows.table().size();
    if (!context.may_make(0, size * sizeof(double))) return over_budget();
    const std::span<double> values = context.memory.filled(size, 0.0);
    const std::span<std::uint64_t> valid = context.memory.filled(words_for(size), std::uint64_t{0});
    if (const auto given = rows.table().find(key_id)) {
      const double most = amount.in(context.params);
      for_each_draw(seed, context, [&](std::uint32_t position, std::uint64_t number) {
        const std::uint32_t row = rows.row(position);
        if (given->is_null(row)) return;
        // The product is a separate statement, because a fused multiply-add would round differently on some machines.
        const double noise = most * between_ends(number);
        values[row] = value_of(*given, row) + noise;
        set_bit(valid.data(), row);
      });
    }
    const column made{.values = std::span<const double>(values), .validity = bitmap(valid.data())};
    if (auto wrong = refused_value(rows, made, out)) return std::unexpected(std::move(*wrong));
    return rows.with_column(out.key_id, made, context.memory);
  }

 private:
  /// Converts the low 32 bits of a draw to a number in [-1, 1). core::sample keeps the rows with the smallest draws,
  /// but the low bits of these draws are still uniformly distributed, so both operators may share a seed.
  static auto between_ends(std::uint64_t draw) noexcept -> double {
    return static_cast<double>(draw & 0xffff'ffffU) * 0x1p-31 - 1;
  }

  static auto value_of(const column& column, std::uint32_t row) noexcept -> double {
    const auto* const floats = column.floats();
    return floats != nullptr ? (*floats)[row] : static_cast<double>((*column.integers())[row]);
  }
};

constexpr std::array jitter_shape{
    param_shape{.name = "key", .kind = param_kind::key_id, .choices = number_types},
    param_shape{.name = "amount", .kind = param_kind::float64, .floats = {.min = 0, .max = 1e9}, .bindable = true},
    param_shape{.name = "seed", .kind = param_kind::key_template},
    param_shape{.name = "out_key", .kind = param_kind::key_id, .use = key_use::write, .choices = float_types},
};

auto bind_jitter(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  const auto find = [&](std::string_view name) {
    return find_typed_key(*node.find_param(name), find_param_shape(jitter_shape, name), context, problems);
  };
  const key_entry* const key = find("key");
  bound_template seed = bound_template::bind(*node.find_param("seed"), context, problems);
  const key_entry* const out = find("out_key");
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(jitter_params{.key_id = key->key_id,
                                  .out = written_key(*out),
                                  .amount = {*node.find_param("amount"), context.declared},
                                  .seed = std::move(seed)});
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::jitter", .inputs = 1, .params = jitter_shape},
          .change = row_change::preserves_view,
          .doc = "Adds a float column: `key` plus noise from -`amount` to `amount`, the same for the same seed and id.",
          .bind = &bind_jitter};
}

}  // namespace rankd::detail::jitter_op
