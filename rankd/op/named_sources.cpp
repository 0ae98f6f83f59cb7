// rankd/op/named_sources.cpp: sources that read values under keys of one's own: list, sorted_set, set.
#include <rankd/op/detail/asking.hpp>
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/bound_template.hpp>
#include <rankd/op/detail/entries.hpp>
#include <rankd/op/detail/lookup.hpp>
#include <rankd/op/option_value.hpp>
#include <rankd/rows/column_builder.hpp>
#include <rankd/rows/dictionary.hpp>

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace rankd::detail {
namespace {

constexpr std::int64_t max_offset = 2'000'000'000;

/// Where scores go, and what stands for one that is no finite number.
struct score_column {
  std::uint32_t key_id = 0;
  std::optional<double> otherwise;
};

/// The ends of a range of scores; infinite where the plan says nothing of one.
struct score_ends {
  option_value<double> min{-std::numeric_limits<double>::infinity()};
  option_value<double> max{std::numeric_limits<double>::infinity()};
};

struct source_params {
  std::uint32_t endpoint = 0;
  bound_template keys;
  named_read what;  ///< without keys, and what params of a request may give
  option_value<std::int64_t> count = {};
  option_value<std::int64_t> offset{0};
  std::optional<score_ends> range = {};
  std::optional<score_column> scores = {};

  [[nodiscard]] auto start(node_context& context) const -> braid::task<op_result<row_set>> {
    store* from = context.stores[endpoint];
    if (from == nullptr) co_return no_store();
    const row_keys rows = keys.keys_of(context);
    item_batch found;
    if (!rows.asked.empty()) {
      const named_read asking = asked_by(context, rows.asked);
      auto reading = from->read(asking, context.memory);
      const store_result<item_batch> got = co_await std::move(reading);
      if (!got) co_return store_failed(*from, got.error());
      found = *got;
      context.malformed_ids += found.malformed;
    }
    co_return joined(rows, found, context);
  }

 private:
  [[nodiscard]] auto asked_by(const node_context& context, std::span<const std::string_view> asked) const
      -> named_read {
    named_read asking = what;
    asking.keys = asked;
    asking.count = static_cast<std::uint32_t>(count.in(context.params));
    asking.offset = static_cast<std::uint32_t>(offset.in(context.params));
    if (range) asking.range = score_range{.min = range->min.in(context.params), .max = range->max.in(context.params)};
    return asking;
  }

  [[nodiscard]] static auto total_of(const row_keys& rows, const item_batch& found) -> std::size_t {
    std::size_t total = 0;
    for (const std::uint32_t place : rows.places)
      if (place != row_keys::none) total += found.of_key[place].size();
    return total;
  }

  /// What was found for each row, one after the other.
  [[nodiscard]] auto joined(const row_keys& rows, const item_batch& found, node_context& context) const
      -> op_result<row_set> {
    const std::size_t total = total_of(rows, found);
    if (total > batch::max_rows)
      return std::unexpected(op_error{"too_many_rows", "the keys hold " + std::to_string(total) + " ids together"});
    const std::size_t row_bytes = sizeof(std::int64_t) + (scores ? sizeof(double) : 0);
    if (!context.may_make(total, total * row_bytes)) return over_budget();
    const batch table = what.ids == id_form::texts ? texts_of(rows, found, total, context.memory)
                                                   : integers_of(rows, found, total, context.memory);
    if (!scores) return row_set(table);
    return row_set(table.with_column(scores->key_id, scores_of(rows, found, total, context), context.memory));
  }

  [[nodiscard]] static auto integers_of(const row_keys& rows, const item_batch& found, std::size_t total,
                                        braid::arena& memory) -> batch {
    const std::span<std::int64_t> ids = memory.uninitialized<std::int64_t>(total);
    std::size_t used = 0;
    for (const std::uint32_t place : rows.places)
      if (place != row_keys::none)
        for (const stored_item& each : found.of_key[place]) ids[used++] = each.id;
    return batch(std::span<const std::int64_t>(ids));
  }

  /// The texts lie in the memory of the request already.
  [[nodiscard]] static auto texts_of(const row_keys& rows, const item_batch& found, std::size_t total,
                                     braid::arena& memory) -> batch {
    const std::span<std::uint32_t> codes = memory.uninitialized<std::uint32_t>(total);
    dictionary_builder words(memory);
    std::size_t used = 0;
    for (const std::uint32_t place : rows.places)
      if (place != row_keys::none)
        for (const stored_item& each : found.of_key[place]) codes[used++] = words.intern_shared(each.text);
    return batch(string_values{codes, words.finish()});
  }

  [[nodiscard]] auto scores_of(const row_keys& rows, const item_batch& found, std::size_t total,
                               node_context& context) const -> column {
    for (const auto& items : found.of_key)
      for (const stored_item& each : items)
        if (!std::isfinite(each.score)) ++context.malformed_values;
    column_builder<double> out(context.memory, total);
    for (const std::uint32_t place : rows.places) {
      if (place == row_keys::none) continue;
      for (const stored_item& each : found.of_key[place]) {
        const auto value = std::isfinite(each.score) ? std::optional(each.score) : scores->otherwise;
        if (value)
          out.push(*value);
        else
          out.push_null();
      }
    }
    return out.finish();
  }
};

constexpr param_shape count_shape{
    .name = "count", .kind = param_kind::int64, .range = {.min = 1, .max = max_rows_of_a_source}, .bindable = true};
constexpr param_shape offset_shape{.name = "offset",
                                   .kind = param_kind::int64,
                                   .need = presence::nullable,
                                   .range = {.min = 0, .max = max_offset},
                                   .bindable = true};
constexpr std::array<std::string_view, 2> orders{"asc", "desc"};
constexpr std::array<std::string_view, 1> score_types{"float"};
constexpr param_shape score_shape{.name = "out_key",
                                  .kind = param_kind::key_id,
                                  .need = presence::nullable,
                                  .use = key_use::write,
                                  .choices = score_types};

constexpr std::array list_shape{store_endpoint, key_shape, count_shape, offset_shape};
constexpr std::array set_shape{store_endpoint, key_shape, count_shape};
constexpr std::array sorted_set_shape{
    store_endpoint,
    key_shape,
    count_shape,
    offset_shape,
    param_shape{.name = "order", .kind = param_kind::enumeration, .need = presence::nullable, .choices = orders},
    param_shape{.name = "min", .kind = param_kind::float64, .need = presence::nullable, .bindable = true},
    param_shape{.name = "max", .kind = param_kind::float64, .need = presence::nullable, .bindable = true},
    score_shape,
};

/// What all three have; what is wrong is reported.
auto bind_source(read_kind kind, const plan_node& node, const bind_context& with, braid::diagnostics& problems)
    -> source_params {
  source_params params;
  params.endpoint = find_redis_endpoint(*node.find_param("endpoint"), with, problems);
  params.keys = bound_template::bind(*node.find_param("key"), with, problems);
  params.what.kind = kind;
  if (with.declared.id_type() == value_type::string) params.what.ids = id_form::texts;
  params.count = option_value<std::int64_t>(*node.find_param("count"), with.declared);
  if (const plan_param* offset = node.find_param("offset"))
    params.offset = option_value<std::int64_t>(*offset, with.declared);
  return params;
}

template <read_kind Kind>
auto bind_plain(const plan_node& node, const bind_context& with) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  source_params params = bind_source(Kind, node, with, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(std::move(params));
}

/// The range of scores that a node wants; nothing where it wants all.
auto range_of(const plan_node& node, const bind_context& with, braid::diagnostics& problems)
    -> std::optional<score_ends> {
  const plan_param* min = node.find_param("min");
  const plan_param* max = node.find_param("max");
  if (min == nullptr && max == nullptr) return std::nullopt;
  score_ends range;
  if (min != nullptr) range.min = option_value<double>(*min, with.declared);
  if (max != nullptr) range.max = option_value<double>(*max, with.declared);
  check_ends(min, max, problems);
  return range;
}

auto bind_sorted_set(const plan_node& node, const bind_context& with) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  source_params params = bind_source(read_kind::sorted_set, node, with, problems);
  const plan_param* order = node.find_param("order");
  if (order != nullptr && std::get<std::string>(order->value) == "desc") params.what.order = score_order::descending;
  if (const plan_param* out = node.find_param("out_key"))
    if (const key_entry* key = find_typed_key(*out, score_shape, with, problems)) {
      params.scores = score_column{.key_id = key->key_id, .otherwise = std::nullopt};
      if (!key->nullable) params.scores->otherwise = std::get<double>(key->default_value);
    }
  params.range = range_of(node, with, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(std::move(params));
}

}  // namespace

auto list_entry() -> op_entry {
  return {.shape = {.name = "core::list", .inputs = 1, .params = list_shape, .optional_inputs = 1},
          .change = row_change::dense_source,
          .doc = "For each row, or once, the first ids of the list under a key of one's own.",
          .bind = &bind_plain<read_kind::list>};
}

auto set_entry() -> op_entry {
  return {.shape = {.name = "core::set", .inputs = 1, .params = set_shape, .optional_inputs = 1},
          .change = row_change::dense_source,
          .doc = "For each row, or once, the smallest ids of the set under a key of one's own.",
          .bind = &bind_plain<read_kind::set>};
}

auto sorted_set_entry() -> op_entry {
  return {.shape = {.name = "core::sorted_set", .inputs = 1, .params = sorted_set_shape, .optional_inputs = 1},
          .change = row_change::dense_source,
          .doc = "For each row, or once, the first ids of the sorted set under a key of one's own, with their scores.",
          .bind = &bind_sorted_set};
}

}  // namespace rankd::detail
