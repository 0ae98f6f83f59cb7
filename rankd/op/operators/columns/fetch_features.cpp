// rankd/op/operators/columns/fetch_features.cpp: implements the operator that reads features of rows from hashes in the
// store.
#include <rankd/op/detail/asking.hpp>
#include <rankd/op/detail/bound.hpp>
#include <rankd/op/detail/hash_columns.hpp>
#include <rankd/op/detail/lookup.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace rankd::detail::fetch_features_op {
namespace {

struct fetch_params {
  std::uint32_t endpoint = 0;
  hash_columns columns;

  [[nodiscard]] auto start(node_context& context) const -> braid::task<op_result<row_set>> {
    store* from = context.stores[endpoint];
    if (from == nullptr) return ended(no_store());
    const row_set& rows = context.inputs[0];
    // The number of bytes that a row needs: for each column, a value and a validity flag; and the index of the row's
    // hash. The store's replies are counted when the node has ended.
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

constexpr std::array<std::string_view, 1> forms{"features:{id}"};

auto bind_fetch_features(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  fetch_params params;
  params.endpoint = find_redis_endpoint(*node.find_param("endpoint"), context, problems);
  const plan_param* hash = node.find_param("hash");
  hash_columns& columns = params.columns;
  columns.prefix = (hash == nullptr ? "features" : std::get<std::string>(hash->value)) + ":";
  columns.wanted = find_wanted(node, nullptr, context, problems);
  const plan_param* by = node.find_param("by");
  if (by == nullptr)
    need_integer_ids(node, context, "use core::hash with `key`: " + columns.prefix + "{id}", problems);
  else if (const key_entry* key = find_typed_key(*by, by_shape, context, problems))
    columns.by_key = key->key_id;
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(std::move(params));
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::fetch_features", .inputs = 1, .params = fetch_shape},
          .change = row_change::preserves_view,
          .doc = "Adds columns: the fields of hash features:ID, by the names of their keys.",
          .bind = &bind_fetch_features,
          .adds = {.option = "keys", .hint = "fetch a feature once, before any other node writes its key"},
          .records = {.keys = forms, .prefix_option = "hash", .columns = record_part::fields}};
}

}  // namespace rankd::detail::fetch_features_op
