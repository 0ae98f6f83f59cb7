// rankd/expr/detail/facts.hpp: facts about the nodes of a tree that do not depend on rows, such as their types.
#pragma once

#include <rankd/expr/tree.hpp>
#include <rankd/registry/registries.hpp>

#include <optional>
#include <vector>

namespace rankd::detail {

struct facts {
  bool exact = false;           ///< always an int64 or null; strings are null
  bool text = false;            ///< always a string or null, if it is read as a string
  std::uint32_t vector = 0;     ///< the dimensions of a vector; a vector that is read as a number is null
  bool uniform = false;         ///< the same for every row
  bool known = false;           ///< whether the value is constant, and then `value` is this value
  std::optional<number> value;  ///< empty: null
};

/// Returns the facts of each node. Predicates have no facts. Requires a tree for which `check_names` returned no
/// diagnostics.
auto find_facts(const syntax_tree& tree, const registries& known) -> std::vector<facts>;

/// Returns the double that is nearest to the number.
auto as_double(const number& value) -> double;

/// Returns the int64 or the double that equals the number. Returns nothing if the type has no such value.
auto as_exact_integer(const number& value) -> std::optional<std::int64_t>;
auto as_exact_double(const number& value) -> std::optional<double>;

}  // namespace rankd::detail
