// rankd/op/operators/columns/hash.cpp: implements the operator that adds columns from fields of hashes. The plan
// defines the keys of the hashes.
#include <rankd/op/detail/lookup.hpp>
#include <rankd/op/detail/stored_fields.hpp>

#include <array>
#include <utility>

namespace rankd::detail::hash_op {
namespace {

constexpr std::array hash_shape{
    store_endpoint,
    key_shape,
    feature_keys,
    param_shape{.name = "fields", .kind = param_kind::texts, .need = presence::nullable},
};

auto bind_hash(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  stored_fields params;
  params.endpoint = find_redis_endpoint(*node.find_param("endpoint"), context, problems);
  params.keys = bound_template::bind(*node.find_param("key"), context, problems);
  params.wanted = find_wanted(node, node.find_param("fields"), context, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(std::move(params));
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::hash", .inputs = 1, .params = hash_shape},
          .change = row_change::preserves_view,
          .doc = "Adds columns: fields of the hash under `key`.",
          .bind = &bind_hash,
          .adds = {.option = "keys", .hint = "read a field once, before any other node writes its key"},
          .records = {.columns = record_part::fields}};
}

}  // namespace rankd::detail::hash_op
