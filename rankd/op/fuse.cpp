// rankd/op/fuse.cpp: fuses an operator and the `take` after it, if one operator can do the work of both.
#include <rankd/op/fuse.hpp>

#include <rankd/op/operator_list.hpp>
#include <rankd/op/detail/pass_on.hpp>

#include <braid/base/config.hpp>

#include <utility>

namespace rankd {

auto fuse(const plan_node& first, const plan_node& second, const bind_context& context) -> std::optional<fused_ops> {
  const auto bind_both = find_op(first.op)->bind_with_take;
  if (bind_both == nullptr || find_op(second.op)->change != row_change::prefix) return std::nullopt;
  auto taking = bind_both(first, second, context);
  BRAID_EXPECTS(taking, "only nodes that were bound without errors can be fused");
  return fused_ops{
      .first = detail::make_pass_on(), .second = std::move(*taking), .second_change = row_change::selection};
}

}  // namespace rankd
