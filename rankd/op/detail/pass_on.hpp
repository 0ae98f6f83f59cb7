// rankd/op/detail/pass_on.hpp: a node that returns the rows of its first source unchanged.
#pragma once

#include <rankd/op/detail/bound.hpp>

namespace rankd::detail {

struct pass_on_params {
  [[nodiscard]] static auto may_fail() noexcept -> bool { return false; }
  [[nodiscard]] auto cost_ns(std::size_t /*rows*/) const noexcept -> double { return 10; }

  [[nodiscard]] auto run(node_context& context) const -> op_result<row_set> { return context.inputs[0]; }
};

/// Returns an operator that passes on the rows of its first source.
inline auto make_pass_on() -> bound_ptr { return make_bound(pass_on_params{}); }

}  // namespace rankd::detail
