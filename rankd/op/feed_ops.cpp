// rankd/op/feed_ops.cpp: the operators that look at a list as a whole: aggregate, diversify, rank_fusion, sample.
#include <rankd/expr/detail/hash.hpp>
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/bound_template.hpp>
#include <rankd/op/detail/entries.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/op/option_value.hpp>
#include <rankd/plan/load.hpp>
#include <rankd/rows/aggregate.hpp>
#include <rankd/rows/defect.hpp>
#include <rankd/rows/diversify.hpp>
#include <rankd/rows/mmr.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rankd::detail {
namespace {

auto problem(std::string code, std::string pointer, std::string message) -> braid::diagnostic {
  return {.code = std::move(code),
          .pointer = std::move(pointer),
          .message = std::move(message),
          .hint = {},
          .node = {},
          .source = {}};
}

auto count_of(const plan_param* given, std::size_t otherwise) -> std::size_t {
  return given == nullptr ? otherwise : static_cast<std::size_t>(std::get<std::int64_t>(given->value));
}

// Diversify

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
  /// A bit for the position of each row with one of the values.
  [[nodiscard]] auto wanted(const row_set& rows, const column& by, braid::arena& memory) const
      -> std::span<const std::uint64_t> {
    const std::span<std::uint64_t> bits = memory.filled(words_for(rows.size()) + 1, std::uint64_t{0});
    const auto mark = [&](auto is_wanted) {
      for (std::size_t position = 0; position < rows.size(); ++position) {
        const std::uint32_t row = rows.row(position);
        if (!by.is_null(row) && is_wanted(row)) set_bit(bits.data(), position);
      }
    };
    if (const string_values* text = by.strings()) {
      const std::span<bool> codes = memory.filled(text->words->size(), false);
      for (std::uint32_t code = 0; code < codes.size(); ++code)
        codes[code] = std::ranges::find(strings, (*text->words)[code]) != strings.end();
      mark([&](std::uint32_t row) { return codes[text->codes[row]]; });
    } else {
      mark([&, all = *by.integers()](std::uint32_t row) { return std::ranges::binary_search(integers, all[row]); });
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

// Rank fusion

struct fusion_params {
  std::uint32_t list_key = 0;
  std::uint32_t out_key = 0;
  double k = 60;

  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double { return 45.0 * static_cast<double>(rows); }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    const row_set& rows = context.inputs[0];
    if (!context.may_make(0, rows.table().size() * sizeof(double))) return over_budget();
    const fused_ranks fused = fuse_ranks(rows, list_key, k, context.memory);
    return fused.rows.with_column(out_key, fused.scores, context.memory);
  }
};

// Aggregate

struct aggregate_params {
  aggregate_options how;
  std::string_view name;  ///< of the kind
  std::uint32_t out_key = 0;
  std::string out_name;
  null_rule nulls = null_rule::allowed;

  [[nodiscard]] auto cost_ns(std::size_t rows) const noexcept -> double {
    return (how.group_key ? 30.0 : 8.0) * static_cast<double>(rows);
  }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> {
    const row_set& rows = context.inputs[0];
    if (!context.may_make(0, rows.table().size() * sizeof(double))) return over_budget();
    const column values = aggregate(rows, how, context.memory);
    if (const auto wrong = find_defect(rows, values, nulls)) return refused(rows, *wrong);
    return rows.with_column(out_key, values, context.memory);
  }

 private:
  [[nodiscard]] auto refused(const row_set& rows, const defect& wrong) const -> std::unexpected<op_error> {
    const std::string what = "the " + std::string(name) + " for `" + out_name + "` of row " +
                             std::to_string(wrong.row) + " (id " + to_text(rows.table().id(wrong.row)) + ") is ";
    if (wrong.kind == defect_kind::non_finite)
      return std::unexpected(op_error{"non_finite_value", what + "not a finite number"});
    return std::unexpected(op_error{"null_value", what + "null, which the key refuses"});
  }
};

// Sample

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

constexpr std::array<std::string_view, 4> comparable_types{"int", "float", "string", "bool"};
constexpr std::int64_t max_count = 10'000'000;

constexpr std::array<std::string_view, 3> diversify_strategies{"window", "quota", "mmr"};
constexpr std::array<std::string_view, 1> of_window{"window"};
constexpr std::array<std::string_view, 1> of_quota{"quota"};
constexpr std::array<std::string_view, 1> of_mmr{"mmr"};
constexpr std::array<std::string_view, 2> of_values_of_rows{"window", "quota"};
constexpr std::array<std::string_view, 2> number_types{"int", "float"};
constexpr std::array<std::string_view, 1> vector_type{"vector"};
constexpr std::array<std::string_view, 2> overflow_rules{"later", "drop"};
constexpr std::array diversify_shape{
    param_shape{.name = "strategy", .kind = param_kind::enumeration, .choices = diversify_strategies},
    param_shape{.name = "by",
                .kind = param_kind::key_id,
                .choices = comparable_types,
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
                .choices = vector_type,
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

constexpr std::array<std::string_view, 1> float_type{"float"};
constexpr param_shape out_key_shape{
    .name = "out_key", .kind = param_kind::key_id, .use = key_use::write, .choices = float_type};

constexpr std::array fusion_shape{
    param_shape{.name = "by", .kind = param_kind::key_id, .choices = comparable_types},
    param_shape{.name = "k", .kind = param_kind::float64, .need = presence::nullable, .floats = {.min = 0, .max = 1e9}},
    out_key_shape,
};

/// In the order of aggregate_kind.
constexpr std::array<std::string_view, 5> aggregate_kinds{"count", "sum", "mean", "min", "max"};
constexpr std::array<std::string_view, 4> of_values{"sum", "mean", "min", "max"};
constexpr std::array aggregate_shape{
    param_shape{.name = "of", .kind = param_kind::enumeration, .choices = aggregate_kinds},
    param_shape{.name = "key",
                .kind = param_kind::key_id,
                .choices = number_types,
                .when = {.param = "of", .values = of_values}},
    param_shape{.name = "per", .kind = param_kind::key_id, .need = presence::nullable, .choices = comparable_types},
    out_key_shape,
};

constexpr std::array sample_shape{
    param_shape{.name = "count", .kind = param_kind::int64, .range = {.min = 1, .max = max_count}},
    param_shape{.name = "seed", .kind = param_kind::key_template},
};

auto bind_window(const plan_node& node, const key_entry* by, overflow_rule overflow, braid::diagnostics& problems)
    -> braid::checked<bound_ptr> {
  const plan_param& at_most = *node.find_param("at_most");
  const window_options how{.key_id = by == nullptr ? 0 : by->key_id,
                           .at_most = count_of(&at_most, 1),
                           .window = count_of(node.find_param("window"), 0),
                           .overflow = overflow};
  if (how.window != 0 && how.at_most >= how.window)
    problems.add(problem("out_of_range", at_most.pointer, "`at_most` must be less than `window`"));
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(window_params{how});
}

/// Whether a quota can find the rows with these values by a key.
void check_quota(const plan_node& node, const key_entry& by, braid::diagnostics& problems) {
  const std::string named =
      "key " + std::to_string(by.key_id) + " (" + by.name + ") is of type " + std::string(to_string(by.type));
  if (by.type != value_type::integer && by.type != value_type::string)
    return problems.add(
        problem("wrong_key_type", node.find_param("by")->pointer, named + "; `quota` takes one of: int, string"));
  const plan_param& values = *node.find_param("values");
  const bool strings = std::holds_alternative<std::string>(values.items.front());
  if (strings != (by.type == value_type::string))
    problems.add(problem("wrong_type", values.pointer,
                         "`values` must be " + std::string(strings ? "integers" : "strings") + ", as " + named));
}

auto bind_quota(const plan_node& node, const key_entry* by, overflow_rule overflow, braid::diagnostics& problems)
    -> braid::checked<bound_ptr> {
  if (by != nullptr) check_quota(node, *by, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  const std::size_t every = count_of(node.find_param("every_nth"), 1);
  quota_params quota{
      .key_id = by->key_id,
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

auto bind_mmr(const plan_node& node, const bind_context& with) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  const auto find = [&](std::string_view name) {
    return find_typed_key(*node.find_param(name), shape_of(diversify_shape, name), with, problems);
  };
  const key_entry* relevance = find("relevance");
  const key_entry* vectors = find("similarity");
  if (!problems.empty()) return std::unexpected(std::move(problems));
  mmr_params made{.relevance = relevance->key_id,
                  .vectors = vectors->key_id,
                  .dimensions = vectors->dimensions,
                  .lambda = {*node.find_param("lambda"), with.declared},
                  .count = {}};
  if (const plan_param* count = node.find_param("count"))
    made.count = option_value<std::int64_t>(*count, with.declared);
  return make_bound(std::move(made));
}

auto bind_diversify(const plan_node& node, const bind_context& with) -> braid::checked<bound_ptr> {
  if (choice_of(node, shape_of(diversify_shape, "strategy")) == 2) return bind_mmr(node, with);
  braid::diagnostics problems;
  const key_entry* by = find_typed_key(*node.find_param("by"), shape_of(diversify_shape, "by"), with, problems);
  const auto overflow = static_cast<overflow_rule>(choice_of(node, shape_of(diversify_shape, "overflow")));
  const bool is_window = choice_of(node, shape_of(diversify_shape, "strategy")) == 0;
  return is_window ? bind_window(node, by, overflow, problems) : bind_quota(node, by, overflow, problems);
}

auto bind_fusion(const plan_node& node, const bind_context& with) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  const key_entry* by = find_typed_key(*node.find_param("by"), shape_of(fusion_shape, "by"), with, problems);
  const key_entry* out = find_typed_key(*node.find_param("out_key"), out_key_shape, with, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  fusion_params fusion{.list_key = by->key_id, .out_key = out->key_id};
  if (const plan_param* k = node.find_param("k")) fusion.k = std::get<double>(k->value);
  return make_bound(fusion);
}

auto bind_aggregate(const plan_node& node, const bind_context& with) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  const auto find = [&](std::string_view name) -> const key_entry* {
    const plan_param* given = node.find_param(name);
    return given == nullptr ? nullptr : find_typed_key(*given, shape_of(aggregate_shape, name), with, problems);
  };
  const std::size_t kind = choice_of(node, shape_of(aggregate_shape, "of"));
  const key_entry* key = find("key");
  const key_entry* group = find("per");
  const key_entry* out = find("out_key");
  if (!problems.empty()) return std::unexpected(std::move(problems));
  aggregate_params made{.how = {.kind = static_cast<aggregate_kind>(kind), .key_id = 0, .group_key = std::nullopt},
                        .name = aggregate_kinds[kind],
                        .out_key = out->key_id,
                        .out_name = out->name,
                        .nulls = out->nullable ? null_rule::allowed : null_rule::refused};
  if (key != nullptr) made.how.key_id = key->key_id;
  if (group != nullptr) made.how.group_key = group->key_id;
  return make_bound(std::move(made));
}

auto bind_sample(const plan_node& node, const bind_context& with) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  bound_template seed = bound_template::bind(*node.find_param("seed"), with, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(sample_params{.count = count_of(node.find_param("count"), 1), .seed = std::move(seed)});
}

}  // namespace

auto aggregate_entry() -> op_entry {
  return {.shape = {.name = "core::aggregate", .inputs = 1, .params = aggregate_shape},
          .change = row_change::preserves_view,
          .doc = "Adds a float column: a count, sum, mean, minimum or maximum over all rows, or those of a value.",
          .bind = &bind_aggregate};
}

auto rank_fusion_entry() -> op_entry {
  return {.shape = {.name = "core::rank_fusion", .inputs = 1, .params = fusion_shape},
          .change = row_change::distinct,
          .doc = "One row of each id, with a float column: the sum of 1 / (k + rank) over the lists that have it.",
          .bind = &bind_fusion};
}

auto sample_entry() -> op_entry {
  return {.shape = {.name = "core::sample", .inputs = 1, .params = sample_shape},
          .change = row_change::selection,
          .doc = "So many rows, chosen by a hash of a seed and their ids, in their order.",
          .bind = &bind_sample};
}

auto diversify_entry() -> op_entry {
  return {.shape = {.name = "core::diversify", .inputs = 1, .params = diversify_shape},
          .change = row_change::diversified,
          .doc =
              "Keeps rows with the same value apart, gives rows of some kind fixed positions, or prefers what is "
              "unlike the rows before.",
          .bind = &bind_diversify};
}

}  // namespace rankd::detail
