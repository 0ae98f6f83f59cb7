// rankd/op/fetch_features.cpp: the operator that reads named features of rows from the store.
#include <rankd/op/detail/asking.hpp>
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/entries.hpp>
#include <rankd/op/detail/hash_columns.hpp>
#include <rankd/op/detail/lookup.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace rankd::detail {
namespace {

/// What the store answered: of one feature its field of each hash, of several all fields.
struct found_fields {
  field_batch one;
  hash_batch all;

  [[nodiscard]] auto find(std::size_t hash, std::string_view name) const -> std::optional<std::string_view> {
    if (all.empty()) return one[hash];
    const auto fields = all[hash];
    const auto at = std::ranges::lower_bound(fields, name, {}, &hash_field::name);
    if (at == fields.end() || at->name != name) return std::nullopt;
    return at->value;
  }
};

/// The hashes of the active rows, each once, and for each row its place among them.
auto ask_for(const row_set& rows, std::uint32_t by_key, std::span<std::uint32_t> places, braid::arena& memory)
    -> std::span<const std::int64_t> {
  const auto by = rows.table().find(by_key);
  const std::span<std::int64_t> named = memory.uninitialized<std::int64_t>(by ? rows.size() : 0);
  std::size_t count = 0;
  for (std::size_t at = 0; at < named.size(); ++at)
    if (!by->is_null(rows.row(at))) named[count++] = (*by->integers())[rows.row(at)];
  const std::span<const std::int64_t> asked = distinct(named.first(count), memory);
  for (std::size_t at = 0; at < named.size(); ++at)
    if (!by->is_null(rows.row(at)))
      places[at] = static_cast<std::uint32_t>(place_of((*by->integers())[rows.row(at)], asked));
  return asked;
}

struct fetch_params {
  std::uint32_t endpoint = 0;
  hash_columns columns;

  [[nodiscard]] auto start(node_context& context) const -> braid::task<op_result<row_set>> {
    store* from = context.stores[endpoint];
    if (from == nullptr) return ended(no_store());
    const row_set& rows = context.inputs[0];
    // A value, its validity and the place of its hash; the replies themselves are counted when the node has ended.
    const std::uint64_t row_bytes = sizeof(std::uint32_t) + columns.wanted.size() * (sizeof(double) + 1);
    if (!context.may_make(0, rows.table().size() * row_bytes)) return ended(over_budget());
    return columns.add_to(rows, *from, context);
  }
};

constexpr std::array<std::string_view, 1> by_types{"int"};
constexpr param_shape by_shape{
    .name = "by", .kind = param_kind::key_id, .need = presence::nullable, .choices = by_types};
constexpr std::array fetch_shape{
    store_endpoint,
    feature_keys,
    param_shape{.name = "hash", .kind = param_kind::name, .need = presence::nullable},
    by_shape,
};

auto bind_fetch_features(const plan_node& node, const bind_context& with) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  fetch_params params;
  params.endpoint = find_redis_endpoint(*node.find_param("endpoint"), with, problems);
  const plan_param* hash = node.find_param("hash");
  hash_columns& columns = params.columns;
  columns.prefix = (hash == nullptr ? std::string(usual_hash) : std::get<std::string>(hash->value)) + ":";
  columns.wanted = find_wanted(node, nullptr, with, problems);
  const plan_param* by = node.find_param("by");
  if (by == nullptr)
    need_integer_ids(node, with, "core::hash reads the same by `key`: " + columns.prefix + "{id}", problems);
  else if (const key_entry* key = find_typed_key(*by, by_shape, with, problems))
    columns.by_key = key->key_id;
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(std::move(params));
}

}  // namespace

auto hash_columns::add_to(row_set rows, store& from, node_context& context) const -> braid::task<op_result<row_set>> {
  const std::span<std::uint32_t> places = context.memory.filled(rows.size(), asked_rows::none);
  const std::span<const std::int64_t> asked = ask_for(rows, by_key, places, context.memory);
  const asked_rows of{.rows = rows, .asked = asked.size(), .places = places};
  found_fields found;
  if (!asked.empty() && wanted.size() == 1) {
    auto reading = from.hget({prefix, asked}, wanted.front().name, context.memory);
    const store_result<field_batch> got = co_await std::move(reading);
    if (!got) co_return store_failed(from, got.error());
    found.one = *got;
  } else if (!asked.empty()) {
    auto reading = from.hgetall({prefix, asked}, context.memory);
    const store_result<hash_batch> got = co_await std::move(reading);
    if (!got) co_return store_failed(from, got.error());
    found.all = *got;
  }
  const auto find = [&](std::size_t hash, const wanted_feature& what) { return found.find(hash, what.name); };
  row_set out = rows;
  for (const wanted_feature& each : wanted)
    out = out.with_column(each.key_id, column_of(each, of, find, context), context.memory);
  co_return out;
}

auto fetch_features_entry() -> op_entry {
  return {.shape = {.name = "core::fetch_features", .inputs = 1, .params = fetch_shape},
          .change = row_change::preserves_view,
          .doc = "Adds columns: the fields of hash features:ID, by the names of their keys.",
          .bind = &bind_fetch_features};
}

}  // namespace rankd::detail
