// rankd/plan/node_fields.hpp: the params of a plan's node as text for people, with names instead of numbers.
#pragma once

#include <rankd/plan/plan.hpp>
#include <rankd/registry/registries.hpp>

#include <string>
#include <vector>

namespace rankd {

/// One param of a node as text. Formulas and keys are formatted by `formula_text`, endpoints as `EP.NAME`, texts in
/// quotes, and lists in brackets. For a formula, the field is called `expr` or `pred`, as in the source of a plan.
struct node_field {
  std::string name;
  std::string text;
  param_kind kind = param_kind::int64;

  [[nodiscard]] auto operator==(const node_field&) const -> bool = default;
};

/// Returns the params that the node sets, in the order of its operator's shape.
[[nodiscard]] auto list_fields(const plan_node& node, const plan& plan, const registries& declared)
    -> std::vector<node_field>;

/// Returns all params as one text, such as `fanout: 10, endpoint: EP.main`.
[[nodiscard]] auto to_text(const std::vector<node_field>& fields) -> std::string;

}  // namespace rankd
