// rankd/op/detail/own_operator.hpp: an operator of a library: its shape as rankd keeps it, binding and running it.
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

/// An operator of a library. It owns the data that its shape refers to, and is never moved or freed.
struct own_operator {
  rankd_operator of{};
  const operator_digest* from = nullptr;
  std::deque<std::string> texts;                    ///< names, docs and choices
  std::deque<std::vector<std::string_view>> lists;  ///< choices, and types of keys
  std::vector<param_shape> params;
  op_entry entry;
};

/// Copies the description of an operator by its library. Errors: bad_operator, for every error in it.
auto checked_operator(const rankd_operator& offered, const operator_digest& digest)
    -> braid::checked<std::unique_ptr<own_operator>>;

/// Returns the operator of a name that `find_op` knows, or null for one of rankd.
auto find_own(std::string_view name) -> const own_operator*;

/// Binds a node of such an operator.
auto bind_own(const plan_node& node, const bind_context& context) -> braid::checked<std::unique_ptr<const bound_op>>;

}  // namespace rankd::detail
