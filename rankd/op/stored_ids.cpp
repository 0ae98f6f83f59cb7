// rankd/op/stored_ids.cpp: reads the ids under the keys of all rows with one request to the store, and joins the ids in
// the order of the rows.
#include <rankd/op/detail/stored_ids.hpp>

#include <rankd/op/detail/lookup.hpp>
#include <rankd/rows/column_builder.hpp>
#include <rankd/rows/dictionary.hpp>

#include <cmath>
#include <optional>
#include <string>
#include <utility>

namespace rankd::detail {
namespace {

auto count_total(const row_keys& rows, const item_batch& found) -> std::size_t {
  std::size_t total = 0;
  for (const std::uint32_t place : rows.places)
    if (place != row_keys::none) total += found.of_key[place].size();
  return total;
}

auto list_integers(const row_keys& rows, const item_batch& found, std::size_t total, braid::arena& memory) -> batch {
  const std::span<std::int64_t> ids = memory.uninitialized<std::int64_t>(total);
  std::size_t used = 0;
  for (const std::uint32_t place : rows.places)
    if (place != row_keys::none)
      for (const stored_item& each : found.of_key[place]) ids[used++] = each.id;
  return batch(std::span<const std::int64_t>(ids));
}

/// Builds a batch of string ids. The strings need no copy, because they are already in the memory of the request.
auto make_texts(const row_keys& rows, const item_batch& found, std::size_t total, braid::arena& memory) -> batch {
  const std::span<std::uint32_t> codes = memory.uninitialized<std::uint32_t>(total);
  dictionary_builder words(memory);
  std::size_t used = 0;
  for (const std::uint32_t place : rows.places)
    if (place != row_keys::none)
      for (const stored_item& each : found.of_key[place]) codes[used++] = words.intern_shared(each.text);
  return batch(string_values{codes, words.finish()});
}

}  // namespace

auto stored_ids::start(node_context& context) const -> braid::task<op_result<row_set>> {
  store* from = context.stores[endpoint];
  if (from == nullptr) co_return no_store();
  const row_keys rows = keys.list_keys(context);
  item_batch found;
  if (!rows.asked.empty()) {
    const auto got = answer_to<named_read>(co_await from->ask(asked_by(context, rows.asked), context.memory));
    if (!got) co_return store_failed(*from, got.error());
    found = *got;
    context.malformed_ids += found.malformed;
  }
  co_return joined(rows, found, context);
}

auto stored_ids::asked_by(const node_context& context, std::span<const std::string_view> asked) const -> named_read {
  named_read asking = what;
  asking.keys = asked;
  asking.count = static_cast<std::uint32_t>(count.in(context.params));
  asking.offset = static_cast<std::uint32_t>(offset.in(context.params));
  if (range) asking.range = score_range{.min = range->min.in(context.params), .max = range->max.in(context.params)};
  return asking;
}

/// Returns the ids that were found for the rows, concatenated in row order.
auto stored_ids::joined(const row_keys& rows, const item_batch& found, node_context& context) const
    -> op_result<row_set> {
  const std::size_t total = count_total(rows, found);
  if (total > batch::max_rows)
    return std::unexpected(op_error{
        "too_many_rows", "the keys together contain more ids than a batch can hold: " + std::to_string(total)});
  const std::size_t row_bytes = sizeof(std::int64_t) + (scores ? sizeof(double) : 0);
  if (!context.may_make(total, total * row_bytes)) return over_budget();
  const batch table = what.ids == id_form::texts ? make_texts(rows, found, total, context.memory)
                                                 : list_integers(rows, found, total, context.memory);
  if (!scores) return row_set(table);
  return row_set(table.with_column(scores->key_id, find_scores(rows, found, total, context), context.memory));
}

auto stored_ids::find_scores(const row_keys& rows, const item_batch& found, std::size_t total,
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

auto find_stored_ids(read_kind kind, const plan_node& node, const bind_context& context, braid::diagnostics& problems)
    -> stored_ids {
  stored_ids params;
  params.endpoint = find_redis_endpoint(*node.find_param("endpoint"), context, problems);
  params.keys = bound_template::bind(*node.find_param("key"), context, problems);
  params.what.kind = kind;
  if (context.declared.id_type() == value_type::string) params.what.ids = id_form::texts;
  params.count = option_value<std::int64_t>(*node.find_param("count"), context.declared);
  if (const plan_param* offset = node.find_param("offset"))
    params.offset = option_value<std::int64_t>(*offset, context.declared);
  return params;
}

auto bind_stored_ids(read_kind kind, const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  stored_ids params = find_stored_ids(kind, node, context, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(std::move(params));
}

}  // namespace rankd::detail
