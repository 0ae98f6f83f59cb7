// rankd/op/detail/own_operator.hpp: a library operator: its description, its binding to a node, and its execution.
#pragma once

#include <rankd/abi/c_operators.h>
#include <rankd/op/operator_library.hpp>
#include <rankd/plan/op_shape.hpp>

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rankd::detail {

/// A library operator. The object owns the data that the operator's shape refers to. The object is never moved or
/// freed.
struct own_operator {
  rankd_operator of{};
  const operator_digest* from = nullptr;
  std::deque<std::string> texts;                    ///< names, docs and choices
  std::deque<std::vector<std::string_view>> lists;  ///< choices, and types of keys
  std::vector<param_shape> params;
  op_entry entry;
};

/// Checks and copies a library's description of an operator. Errors: bad_operator, once for every error in the
/// description.
auto checked_operator(const rankd_operator& offered, const operator_digest& digest)
    -> braid::checked<std::unique_ptr<own_operator>>;

/// Returns the library operator with this name, or null if the operator is built in. Requires that `find_op` finds the
/// name.
auto find_own(std::string_view name) -> const own_operator*;

/// Binds a node to a library operator.
auto bind_own(const plan_node& node, const bind_context& context) -> braid::checked<std::unique_ptr<const bound_op>>;

}  // namespace rankd::detail
