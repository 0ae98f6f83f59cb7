// rankd/expr/tree.hpp: expressions and predicates as flat vectors of nodes, with children before parents.
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

/// The operation of a node. Its name, fields and kernel are in one row of the table in ops.cpp.
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
  mod,
  bucket,
  const_text,
  concat,
  length,
  bucket_text,
  dot,
  cosine,
  const_bool,
  and_,
  or_,
  not_,
  cmp,
  in,
  is_null,
  not_null,
  regex,
  cmp_text,
  starts_with,
  ends_with,
  contains,
};

enum class comparison : std::uint8_t { equal, not_equal, less, less_equal, greater, greater_equal };

/// A number literal. A number that JSON writes as an integer stays an integer.
using number = std::variant<std::int64_t, double>;

struct key_number {
  std::uint32_t key_id = 0;
};

struct param_number {
  std::uint32_t param_id = 0;
};

/// The right operand of `in`. An empty list counts as a list of numbers.
using literal_list = std::variant<std::vector<number>, std::vector<std::string>>;

struct regex_test {
  std::uint32_t key_id = 0;
  std::variant<std::string, param_number> pattern;
  letter_case letters = letter_case::exact;
};

/// A source of a string: a key of the row, a param of the request, or a literal of the plan.
using text_source = std::variant<key_number, param_number, std::string>;

/// The operands of a test of two strings. Only cmp_text, which compares bytes, uses `how`.
struct text_pair {
  comparison how = comparison::equal;
  text_source a;
  text_source b;
};

/// The number of buckets for ids or strings, and the seed of their distribution.
struct bucket_choice {
  std::int64_t count = 1;
  std::string seed;
};

/// The data of a node besides its children. The type of the data depends on the op: `number` for const_number;
/// `key_number` for key_ref; `param_number` for param_ref; `bool` for const_bool; `std::string` for const_text;
/// `comparison` for cmp; `literal_list` for in; `regex_test` for regex; `bucket_choice` for bucket and bucket_text;
/// `text_pair` for cmp_text, starts_with, ends_with and contains. All other ops have no data.
using node_payload = std::variant<std::monostate, number, key_number, param_number, bool, comparison, literal_list,
                                  regex_test, text_pair, bucket_choice, std::string>;

struct tree_node {
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  node_op op = node_op::const_null;
  std::array<std::uint32_t, 3> children{none, none,
                                        none};  ///< in the order of the op's fields; unused entries are `none`
  std::uint32_t parent = none;
  node_payload payload;
};

/// A tree as a vector of nodes in which children precede their parents and the root is last. So parsing, traversing and
/// destroying a tree need no recursion. Siblings are ordered from left to right, and each is preceded by all its own
/// descendants.
/// Threads: any, once constructed.
struct syntax_tree {
  std::string origin;  ///< JSON pointer of the root
  std::vector<tree_node> nodes;

  [[nodiscard]] auto root() const noexcept -> const tree_node& { return nodes.back(); }

  /// Returns the JSON pointer of a node, or of a field of a node. Cost: linear in the depth of the node.
  [[nodiscard]] auto pointer_of(std::size_t index) const -> std::string;
  [[nodiscard]] auto pointer_of(std::size_t index, std::string_view field) const -> std::string;
};

/// Calls `visit(number, field)` for each key that the node itself reads. `field` is the JSON pointer of the key's
/// number relative to the node.
template <typename Visit>
void for_each_key(const tree_node& node, Visit&& visit) {
  if (const auto* key = std::get_if<key_number>(&node.payload)) visit(key->key_id, std::string_view("/key_id"));
  if (const auto* test = std::get_if<regex_test>(&node.payload)) visit(test->key_id, std::string_view("/key_id"));
  const auto* pair = std::get_if<text_pair>(&node.payload);
  if (pair == nullptr) return;
  if (const auto* key = std::get_if<key_number>(&pair->a)) visit(key->key_id, std::string_view("/a/key_id"));
  if (const auto* key = std::get_if<key_number>(&pair->b)) visit(key->key_id, std::string_view("/b/key_id"));
}

/// Calls `visit(number, field)` for each param that the node itself reads, as `for_each_key` does for keys.
template <typename Visit>
void for_each_param(const tree_node& node, Visit&& visit) {
  if (const auto* param = std::get_if<param_number>(&node.payload))
    visit(param->param_id, std::string_view("/param_id"));
  if (const auto* test = std::get_if<regex_test>(&node.payload)) {
    if (const auto* param = std::get_if<param_number>(&test->pattern))
      visit(param->param_id, std::string_view("/pattern/param_id"));
  }
  const auto* pair = std::get_if<text_pair>(&node.payload);
  if (pair == nullptr) return;
  if (const auto* param = std::get_if<param_number>(&pair->a)) visit(param->param_id, std::string_view("/a/param_id"));
  if (const auto* param = std::get_if<param_number>(&pair->b)) visit(param->param_id, std::string_view("/b/param_id"));
}

/// Returns the name of an op in the JSON of a tree.
[[nodiscard]] auto name_of(node_op op) noexcept -> std::string_view;

/// Returns the capability that a plan must require to use the op, or an empty string if every plan may use it.
[[nodiscard]] auto required_capability(node_op op) noexcept -> std::string_view;

/// A tree whose root is an expression.
struct expr_tree : syntax_tree {};

/// A tree whose root is a predicate. Its expressions are nodes of the same vector.
struct pred_tree : syntax_tree {};

}  // namespace rankd
