// rankd/op/operator_list.hpp: the operators that plans can use.
#pragma once

#include <rankd/op/operator.hpp>
#include <rankd/plan/op_shape.hpp>

#include <span>
#include <string_view>

namespace rankd {

/// Returns every built-in operator, ordered by name.
auto all_ops() -> std::span<const op_entry>;

/// Returns the shapes of all operators for the loader of plans. They include the built-in operators and those of the
/// libraries that this process has loaded so far (operator_library.hpp). Lifetime: until the process ends.
auto all_op_shapes() -> const op_shapes&;

/// Returns the built-in or library operator with this name, or null.
auto find_op(std::string_view name) -> const op_entry*;

}  // namespace rankd
