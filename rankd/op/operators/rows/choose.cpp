// rankd/op/operators/rows/choose.cpp: implements the operator that returns the rows of one of its inputs. Conditions on
// params of the request select the input.
#include <rankd/op/detail/pass_on.hpp>
#include <rankd/registry/counted.hpp>

#include <array>
#include <string>
#include <utility>

namespace rankd::detail::choose_op {
namespace {

/// The maximum number of inputs. The results of a plan's conditions are stored as bits of a 64-bit number.
constexpr std::uint32_t max_inputs = 64;

constexpr std::array choose_shape{param_shape{.name = "pred_ids", .kind = param_kind::pred_ids, .min_items = 1}};

/// Binds an operator that passes on the rows of the selected input. The engine selects the input, and the other inputs
/// do not run.
auto bind_choose(const plan_node& node, const bind_context& /*with*/)
    -> braid::checked<std::unique_ptr<const bound_op>> {
  const plan_param& conditions = *node.find_param("pred_ids");
  if (conditions.trees.size() + 1 == node.inputs.size()) return make_pass_on();
  return std::unexpected(braid::diagnostics({.code = "wrong_length",
                                             .pointer = conditions.pointer,
                                             .message = "`pred_ids` has " + counted(conditions.trees.size(), "item") +
                                                        "; for " + counted(node.inputs.size(), "input") +
                                                        ", it must have " + std::to_string(node.inputs.size() - 1),
                                             .hint = {},
                                             .node = {},
                                             .source = {}}));
}

}  // namespace

auto entry() -> op_entry {
  return {.shape = {.name = "core::choose",
                    .inputs = max_inputs,
                    .params = choose_shape,
                    .optional_inputs = max_inputs - 2},
          .change = row_change::preserves_view,
          .doc =
              "Returns the rows of the first input whose condition is true, or else of the last input; the other "
              "inputs do not run.",
          .bind = &bind_choose};
}

}  // namespace rankd::detail::choose_op
