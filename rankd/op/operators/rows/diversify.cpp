// rankd/op/operators/rows/diversify.cpp: implements the operator that separates rows with equal values, reserves
// positions for certain values, or prefers rows that differ from the preceding rows.
#include <rankd/expr/detail/ops.hpp>
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/key_types.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/op/option_value.hpp>
#include <rankd/plan/load_plan.hpp>
#include <rankd/registry/diagnostic.hpp>
#include <rankd/rows/diversify.hpp>
#include <rankd/rows/mmr.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rankd::detail::diversify_op {
namespace {

auto count_of(const plan_param* given, std::size_t otherwise) -> std::size_t {
  return given == nullptr ? otherwise : static_cast<std::size_t>(std::get<std::int64_t>(given->value));
}

struct window_params {
  window_options how;

  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double { return 30.0 * static_cast<double>(rows); }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    return limit_repeats(context.inputs[0], how, context.memory);
  }
};

struct quota_params {
  std::uint32_t key_id = 0;
  std::vector<std::int64_t> integers;  ///< ascending
  std::vector<std::string> strings;
  slot_options slots;

  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double { return 8.0 * static_cast<double>(rows); }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    const row_set& rows = context.inputs[0];
    const std::optional<column> by = rows.table().find(key_id);
    if (!by) return rows;
    return fill_slots(rows, bitmap(wanted(rows, *by, context.memory).data()), slots, context.memory);
  }

 private:
  /// Returns one bit for each position. The bit is set if the value of the row at this position is in the list of
  /// values.
  [[nodiscard]] auto wanted(const row_set& rows, const column& key_column, braid::arena& memory) const
      -> std::span<const std::uint64_t> {
    const std::span<std::uint64_t> bits = memory.filled(words_for(rows.size()) + 1, std::uint64_t{0});
    const auto mark = [&](auto is_wanted) {
      for (std::size_t position = 0; position < rows.size(); ++position) {
        const std::uint32_t row = rows.row(position);
        if (!key_column.is_null(row) && is_wanted(row)) set_bit(bits.data(), position);
      }
    };
    if (const string_values* text = key_column.strings()) {
      const std::span<bool> codes = memory.filled(text->words->size(), false);
      for (std::uint32_t code = 0; code < codes.size(); ++code)
        codes[code] = std::ranges::find(strings, (*text->words)[code]) != strings.end();
      mark([&](std::uint32_t row) { return codes[text->codes[row]]; });
    } else {
      mark([&, all = *key_column.integers()](std::uint32_t row) {
        return std::ranges::binary_search(integers, all[row]);
      });
    }
    return bits;
  }
};

struct mmr_params {
  std::uint32_t relevance = 0;
  std::uint32_t vectors = 0;
  std::uint32_t dimensions = 0;
  option_value<double> lambda;
  std::optional<option_value<std::int64_t>> count;

  [[nodiscard]] auto cost_ns(std::size_t rows, std::span<const scalar> params) const noexcept -> double {
    constexpr double number_ns = 0.4;
    const auto all = static_cast<double>(rows);
    return 20.0 * all + number_ns * dimensions * all * static_cast<double>(std::min(rows, chosen(rows, params)));
  }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    const row_set& rows = context.inputs[0];
    return maximal_marginal_relevance(rows,
                                      {.relevance_key = relevance,
                                       .vector_key = vectors,
                                       .lambda = lambda.in(context.params),
                                       .count = chosen(rows.size(), context.params),
                                       .stop = context.stop},
                                      context.memory);
  }

 private:
  [[nodiscard]] auto chosen(std::size_t rows, std::span<const scalar> params) const noexcept -> std::size_t {
    return count ? static_cast<std::size_t>(count->in(params)) : rows;
  }
};

constexpr std::int64_t max_count = 10'000'000;

constexpr std::array<std::string_view, 3> diversify_strategies{"window", "quota", "mmr"};
constexpr std::array<std::string_view, 1> of_window{"window"};
constexpr std::array<std::string_view, 1> of_quota{"quota"};
constexpr std::array<std::string_view, 1> of_mmr{"mmr"};
constexpr std::array<std::string_view, 2> of_values_of_rows{"window", "quota"};
constexpr std::array<std::string_view, 2> overflow_rules{"later", "drop"};
constexpr std::array diversify_shape{
    param_shape{.name = "strategy", .kind = param_kind::enumeration, .choices = diversify_strategies},
    param_shape{.name = "by",
                .kind = param_kind::key_id,
                .choices = scalar_types,
                .when = {.param = "strategy", .values = of_values_of_rows}},
    param_shape{.name = "at_most",
                .kind = param_kind::int64,
                .range = {.min = 1, .max = max_count},
                .when = {.param = "strategy", .values = of_window}},
    param_shape{.name = "window",
                .kind = param_kind::int64,
                .need = presence::nullable,
                .range = {.min = 2, .max = max_count},
                .when = {.param = "strategy", .values = of_window}},
    param_shape{.name = "values",
                .kind = param_kind::literals,
                .min_items = 1,
                .when = {.param = "strategy", .values = of_quota}},
    param_shape{.name = "every_nth",
                .kind = param_kind::int64,
                .range = {.min = 1, .max = max_count},
                .when = {.param = "strategy", .values = of_quota}},
    param_shape{.name = "first",
                .kind = param_kind::int64,
                .need = presence::nullable,
                .range = {.min = 1, .max = max_count},
                .when = {.param = "strategy", .values = of_quota}},
    param_shape{.name = "overflow",
                .kind = param_kind::enumeration,
                .need = presence::nullable,
                .choices = overflow_rules,
                .when = {.param = "strategy", .values = of_values_of_rows}},
    param_shape{.name = "relevance",
                .kind = param_kind::key_id,
                .choices = number_types,
                .when = {.param = "strategy", .values = of_mmr}},
    param_shape{.name = "similarity",
                .kind = param_kind::key_id,
                .choices = vector_types,
                .when = {.param = "strategy", .values = of_mmr},
                .capability = vectors_capability},
    param_shape{.name = "lambda",
                .kind = param_kind::float64,
                .floats = {.min = 0, .max = 1},
                .when = {.param = "strategy", .values = of_mmr},
                .bindable = true},
    param_shape{.name = "count",
                .kind = param_kind::int64,
                .need = presence::nullable,
                .range = {.min = 1, .max = max_count},
                .when = {.param = "strategy", .values = of_mmr},
                .bindable = true},
};

auto bind_window(const plan_node& node, const key_entry* key, overflow_rule overflow, braid::diagnostics& problems)
    -> braid::checked<bound_ptr> {
  const plan_param& at_most = *node.find_param("at_most");
  const window_options how{.key_id = key == nullptr ? 0 : key->key_id,
                           .at_most = count_of(&at_most, 1),
                           .window = count_of(node.find_param("window"), 0),
                           .overflow = overflow};
  if (how.window != 0 && how.at_most >= how.window)
    problems.add(problem_at("out_of_range", at_most.pointer, "`at_most` must be less than `window`"));
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(window_params{how});
}

/// Checks that the values of a quota can be compared with the values of the key.
void check_quota(const plan_node& node, const key_entry& key, braid::diagnostics& problems) {
  if (key.type != value_type::integer && key.type != value_type::string)
    return problems.add(wrong_key_type(key, *node.find_param("by"), "`quota` needs a key of type int or string"));
  const std::string named =
      "key " + std::to_string(key.key_id) + " (" + key.name + ") is of type " + std::string(to_string(key.type));
  const plan_param& values = *node.find_param("values");
  const bool strings = std::holds_alternative<std::string>(values.items.front());
  if (strings != (key.type == value_type::string))
    problems.add(problem_at("wrong_type", values.pointer,
                            "`values` must be " + std::string(strings ? "integers" : "strings") + ", as " + named));
}

auto bind_quota(const plan_node& node, const key_entry* key, overflow_rule overflow, braid::diagnostics& problems)
    -> braid::checked<bound_ptr> {
  if (key != nullptr) check_quota(node, *key, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  const std::size_t every = count_of(node.find_param("every_nth"), 1);
  quota_params quota{
      .key_id = key->key_id,
      .integers = {},
      .strings = {},
      .slots = {.first = count_of(node.find_param("first"), every), .every = every, .overflow = overflow}};
  for (const scalar& each : node.find_param("values")->items) {
    if (const auto* text = std::get_if<std::string>(&each))
      quota.strings.push_back(*text);
    else
      quota.integers.push_back(std::get<std::int64_t>(each));
  }
  std::ranges::sort(quota.integers);
  return make_bound(std::move(quota));
}

auto bind_mmr(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  const auto find = [&](std::string_view name) {
    return find_typed_key(*node.find_param(name), find_param_shape(diversify_shape, name), context, problems);
  };
  const key_entry* relevance = find("relevance");
  const key_entry* vectors = find("similarity");
  if (!problems.empty()) return std::unexpected(std::move(problems));
  mmr_params made{.relevance = relevance->key_id,
                  .vectors = vectors->key_id,
                  .dimensions = vectors->dimensions,
                  .lambda = {*node.find_param("lambda"), context.declared},
                  .count = {}};
  if (const plan_param* count = node.find_param("count"))
    made.count = option_value<std::int64_t>(*count, context.declared);
  return make_bound(std::move(made));
}

auto bind_diversify(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  if (find_choice(node, find_param_shape(diversify_shape, "strategy")) == 2) return bind_mmr(node, context);
  braid::diagnostics problems;
  const key_entry* by =
      find_typed_key(*node.find_param("by"), find_param_shape(diversify_shape, "by"), context, problems);
  const auto overflow = static_cast<overflow_rule>(find_choice(node, find_param_shape(diversify_shape, "overflow")));
  const bool is_window = find_choice(node, find_param_shape(diversify_shape, "strategy")) == 0;
  return is_window ? bind_window(node, by, overflow, problems) : bind_quota(node, by, overflow, problems);
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::diversify", .inputs = 1, .params = diversify_shape},
          .change = row_change::diversified,
          .doc =
              "Keeps rows with the same value apart, moves some rows to fixed positions, or prefers rows unlike "
              "earlier rows.",
          .bind = &bind_diversify};
}

}  // namespace rankd::detail::diversify_op
