// rankd/expr/tree.hpp: expressions and predicates as flat vectors of nodes, children before parents.
#pragma once

#include <rankd/registry/text_pattern.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rankd {

/// What a node does. Its name, fields and kernel stand in one row of the table in ops.cpp.
enum class node_op : std::uint8_t {
  const_number,
  const_null,
  key_ref,
  param_ref,
  add,
  sub,
  mul,
  coalesce,
  neg,
  div,
  min,
  max,
  abs,
  floor,
  ceil,
  sqrt,
  exp,
  log,
  log1p,
  pow,
  clamp,
  if_,
  const_bool,
  and_,
  or_,
  not_,
  cmp,
  in,
  is_null,
  not_null,
  regex,
};

enum class comparison : std::uint8_t { equal, not_equal, less, less_equal, greater, greater_equal };

/// A literal: what JSON writes as an integer stays one.
using number = std::variant<std::int64_t, double>;

struct key_number {
  std::uint32_t key_id = 0;
};

struct param_number {
  std::uint32_t param_id = 0;
};

/// The right side of `in`. An empty list counts as one of numbers.
using literal_list = std::variant<std::vector<number>, std::vector<std::string>>;

struct regex_test {
  std::uint32_t key_id = 0;
  std::variant<std::string, param_number> pattern;
  letter_case letters = letter_case::exact;
};

/// What a node has besides children: const_number `number`, key_ref `key_number`, param_ref `param_number`,
/// const_bool `bool`, cmp `comparison`, in `literal_list`, regex `regex_test`, the others nothing.
using node_payload =
    std::variant<std::monostate, number, key_number, param_number, bool, comparison, literal_list, regex_test>;

struct tree_node {
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  node_op op = node_op::const_null;
  std::array<std::uint32_t, 3> children{none, none, none};  ///< in the order of the op's fields; unused ones `none`
  std::uint32_t parent = none;
  node_payload payload;
};

/// A tree whose children lie before their parents, the root last: parsing, walking and destroying it never recurse.
/// Siblings stand from left to right, each with everything below it in front of it.
/// Threads: any, once made.
struct syntax_tree {
  std::string origin;  ///< JSON pointer of the root
  std::vector<tree_node> nodes;

  [[nodiscard]] auto root() const noexcept -> const tree_node& { return nodes.back(); }

  /// The JSON pointer of a node, or of one of its fields. Cost: the depth of the node.
  [[nodiscard]] auto pointer_of(std::size_t index) const -> std::string;
  [[nodiscard]] auto pointer_of(std::size_t index, std::string_view field) const -> std::string;
};

/// The name of an op in the JSON of a tree.
[[nodiscard]] auto name_of(node_op op) noexcept -> std::string_view;

/// The capability that a plan must require to use the op; empty where every plan may.
[[nodiscard]] auto capability_of(node_op op) noexcept -> std::string_view;

/// A tree whose root is a value.
struct expr_tree : syntax_tree {};

/// A tree whose root is a truth; expressions below it lie in the same vector.
struct pred_tree : syntax_tree {};

}  // namespace rankd
