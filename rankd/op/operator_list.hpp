// rankd/op/operator_list.hpp: the operators that plans can use.
#pragma once

#include <rankd/op/operator.hpp>
#include <rankd/plan/op_shape.hpp>

#include <span>
#include <string_view>

namespace rankd {

/// Every operator of rankd, by name.
auto all_ops() -> std::span<const op_entry>;

/// Returns the shapes of all operators, for the loader of plans: the built-in ones, and the operators of the libraries
/// that this process has loaded so far (operator_library.hpp). Lifetime: the process.
auto all_op_shapes() -> const op_shapes&;

/// Returns the operator of that name, of rankd or of a library, or null.
auto find_op(std::string_view name) -> const op_entry*;

}  // namespace rankd
