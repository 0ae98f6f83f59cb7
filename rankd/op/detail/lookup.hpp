// rankd/op/detail/lookup.hpp: finds the keys, models and endpoints that a node's options name, and reports unknown
// names.
#pragma once

#include <braid/base/error.hpp>
#include <rankd/op/operator.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace rankd::detail {

/// Returns the shape of the param with this name. Requires that the list contains such a shape.
template <std::size_t Count>
constexpr auto find_param_shape(const std::array<param_shape, Count>& shapes, std::string_view name)
    -> const param_shape& {
  return *std::ranges::find(shapes, name, &param_shape::name);
}

/// Returns the position of the option's value in the list of choices. Returns 0, the default, if the option is absent.
auto find_choice(const plan_node& node, const param_shape& shape) -> std::size_t;

/// Returns the key that a param names. Reports unknown_key, blocked_key, unreadable_key or unwritable_key and then
/// returns null.
auto find_key(const plan_param& param, key_use use, const bind_context& context, braid::diagnostics& problems)
    -> const key_entry*;

/// Calls `find_key` and checks that the shape of the param allows the type of the key. Reports wrong_key_type
/// otherwise.
auto find_typed_key(const plan_param& param, const param_shape& shape, const bind_context& context,
                    braid::diagnostics& problems) -> const key_entry*;

/// Finds the keys of a param of kind key_ids, each in the same way as `find_typed_key`. A key is null if a diagnostic
/// was reported for it.
auto find_typed_keys(const plan_param& param, const param_shape& shape, const bind_context& context,
                     braid::diagnostics& problems) -> std::vector<const key_entry*>;

/// Finds the key that the option `by` names, in the same way as `find_typed_key`. Returns the key `id` if the option is
/// absent.
auto find_by(const plan_node& node, const param_shape& shape, const bind_context& context, braid::diagnostics& problems)
    -> const key_entry*;

/// Returns a wrong_key_type diagnostic for a param that names `key`. `wanted` describes the expected types.
auto wrong_key_type(const key_entry& key, const plan_param& param, std::string_view wanted) -> braid::diagnostic;

/// Reports wrong_length if two lists that must have the same length differ in length.
void check_same_length(const plan_param& list, std::size_t items, const plan_param& other, std::size_t others,
                       braid::diagnostics& problems);

/// Reports out_of_range if a request could set `max` to less than `min`. Either option may be absent (null).
void check_ends(const plan_param* min, const plan_param* max, braid::diagnostics& problems);

/// Returns the model for one item of a param of kind `names`, or null after a diagnostic. If the file cannot be found,
/// the diagnostic points to the param. If the contents of the file are invalid, the diagnostic points into the file.
auto find_model(const plan_param& param, std::size_t item, const bind_context& context, braid::diagnostics& problems)
    -> std::shared_ptr<const model>;

/// Returns the key of the string column `name`, which operators fill although no option names it. Reports unknown_key,
/// blocked_key and wrong_key_type at the node and then returns null.
auto find_string_key(std::string_view name, const plan_node& node, const bind_context& context,
                     braid::diagnostics& problems) -> const key_entry*;

/// Reports string_ids at the node if the ids of the project are strings. `hint` suggests an alternative.
void need_integer_ids(const plan_node& node, const bind_context& context, std::string_view hint,
                      braid::diagnostics& problems);

/// Returns the position in registries::endpoints of the redis endpoint that a param names. Reports unknown_endpoint and
/// wrong_endpoint_kind and then returns 0.
auto find_redis_endpoint(const plan_param& param, const bind_context& context, braid::diagnostics& problems)
    -> std::uint32_t;

/// Returns the position of an endpoint of kind http, with the same diagnostics as `find_redis_endpoint`.
auto find_http_endpoint(const plan_param& param, const bind_context& context, braid::diagnostics& problems)
    -> std::uint32_t;

}  // namespace rankd::detail
