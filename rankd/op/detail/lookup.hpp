// rankd/op/detail/lookup.hpp: looking up the names in a node's params, with a diagnostic for each that is missing.
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

/// Returns the shape of that name. Requires that there is one.
template <std::size_t Count>
constexpr auto find_param_shape(const std::array<param_shape, Count>& shapes, std::string_view name)
    -> const param_shape& {
  return *std::ranges::find(shapes, name, &param_shape::name);
}

/// Returns the position of a choice in its shape; zero, the default, if the option is absent.
auto find_choice(const plan_node& node, const param_shape& shape) -> std::size_t;

/// Returns the key that a param names. Complains with unknown_key, blocked_key, unreadable_key or unwritable_key; null
/// then.
auto find_key(const plan_param& param, key_use use, const bind_context& context, braid::diagnostics& problems)
    -> const key_entry*;

/// Calls `find_key` and checks that the shape of the param lists the type of the key; otherwise reports wrong_key_type.
auto find_typed_key(const plan_param& param, const param_shape& shape, const bind_context& context,
                    braid::diagnostics& problems) -> const key_entry*;

/// Returns the keys of a param of kind key_ids, looked up in the same way; null after a diagnostic.
auto find_typed_keys(const plan_param& param, const param_shape& shape, const bind_context& context,
                     braid::diagnostics& problems) -> std::vector<const key_entry*>;

/// Returns the key of the option `by`, or `id` if the node does not have it; otherwise as `find_typed_key`.
auto find_by(const plan_node& node, const param_shape& shape, const bind_context& context, braid::diagnostics& problems)
    -> const key_entry*;

/// Returns wrong_key_type about a param that names `key`; `wanted` says what is expected.
auto wrong_key_type(const key_entry& key, const plan_param& param, std::string_view wanted) -> braid::diagnostic;

/// Reports wrong_length if two lists that belong together differ in length.
void check_same_length(const plan_param& list, std::size_t items, const plan_param& other, std::size_t others,
                       braid::diagnostics& problems);

/// Reports out_of_range if `max` may be less than `min` for some params of requests; either may be null.
void check_ends(const plan_param* min, const plan_param* max, braid::diagnostics& problems);

/// Returns the model that an item of a param of kind names refers to, or null after a diagnostic. Diagnostics about the
/// location of the file point at the param, those about its contents at the file.
auto find_model(const plan_param& param, std::size_t item, const bind_context& context, braid::diagnostics& problems)
    -> std::shared_ptr<const model>;

/// Returns the column of strings called `name` that operators fill by themselves. Complains with unknown_key,
/// blocked_key and wrong_key_type at the node; null then.
auto find_string_key(std::string_view name, const plan_node& node, const bind_context& context,
                     braid::diagnostics& problems) -> const key_entry*;

/// Reports string_ids at the node if the ids of the project are texts; `hint` suggests an alternative.
void need_integer_ids(const plan_node& node, const bind_context& context, std::string_view hint,
                      braid::diagnostics& problems);

/// Returns the position in registries::endpoints of the endpoint that a param names. Complains with unknown_endpoint
/// and wrong_endpoint_kind; zero then.
auto find_redis_endpoint(const plan_param& param, const bind_context& context, braid::diagnostics& problems)
    -> std::uint32_t;

/// Does the same for an endpoint of kind http.
auto find_http_endpoint(const plan_param& param, const bind_context& context, braid::diagnostics& problems)
    -> std::uint32_t;

}  // namespace rankd::detail
