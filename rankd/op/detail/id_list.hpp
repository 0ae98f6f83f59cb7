// rankd/op/detail/id_list.hpp: sources that read lists of ids under keys with a fixed prefix, such as `follow:`.
#pragma once

#include <rankd/op/detail/asking.hpp>
#include <rankd/op/detail/bound.hpp>

#include <array>
#include <string_view>

namespace rankd::detail {

/// The columns that a source adds to its ids.
enum class list_columns : std::uint8_t { none, country };

inline constexpr std::array id_list_shape{
    store_endpoint,
    param_shape{.name = "fanout",
                .kind = param_kind::int64,
                .range = {.min = 1, .max = max_rows_of_a_source},
                .bindable = true},
};

/// Binds a source that reads, for each row, the list with the key `prefix` + id, and returns the first `fanout` ids of
/// each list.
auto bind_id_list(std::string_view prefix, list_columns columns, const plan_node& node, const bind_context& context)
    -> braid::checked<bound_ptr>;

}  // namespace rankd::detail
