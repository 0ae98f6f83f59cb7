// rankd/op/operators/columns/strings.cpp: implements the operator that adds a column from strings in the store. The
// plan defines the keys of the strings.
#include <rankd/op/detail/lookup.hpp>
#include <rankd/op/detail/stored_fields.hpp>

#include <array>
#include <utility>

namespace rankd::detail::strings_op {
namespace {

constexpr param_shape string_shape{
    .name = "out_key", .kind = param_kind::key_id, .use = key_use::write, .choices = feature_types};
constexpr std::array strings_shape{store_endpoint, key_shape, string_shape};

auto bind_strings(const plan_node& node, const bind_context& context) -> braid::checked<bound_ptr> {
  braid::diagnostics problems;
  stored_fields params;
  params.kind = read_kind::strings;
  params.endpoint = find_redis_endpoint(*node.find_param("endpoint"), context, problems);
  params.keys = bound_template::bind(*node.find_param("key"), context, problems);
  if (const key_entry* key = find_typed_key(*node.find_param("out_key"), string_shape, context, problems))
    params.wanted.push_back(make_wanted(*key, key->name));
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return make_bound(std::move(params));
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::strings", .inputs = 1, .params = strings_shape},
          .change = row_change::preserves_view,
          .doc = "Adds a column: the string under `key`, read as the type of `out_key`.",
          .bind = &bind_strings,
          .records = {.columns = record_part::text}};
}

}  // namespace rankd::detail::strings_op
