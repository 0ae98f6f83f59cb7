// rankd/expr/formula_text.cpp: prints a tree as a formula, with parentheses only where precedence requires them.
#include <rankd/expr/formula_text.hpp>

#include <rankd/registry/json_text.hpp>

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rankd {
namespace {

/// The precedence of operators, lowest first, as in JavaScript.
enum class binding : std::uint8_t { coalesce, either, both, equality, order, sum, product, sign, power, whole };

/// The text of a subtree, and the precedence of its outermost operator.
struct part {
  std::string text;
  binding binds = binding::whole;
};

/// Returns the text, in parentheses if its precedence is lower than `wanted`.
auto operand(part&& from, binding wanted) -> std::string {
  return from.binds < wanted ? "(" + from.text + ")" : std::move(from.text);
}

/// A binary operator: its precedence, and the minimum precedence of its left and right operands.
struct infix {
  std::string_view sign;
  binding binds;
  binding left;
  binding right;
};

auto find_infix(node_op op) -> const infix* {
  using enum binding;
  static constexpr std::array table{
      std::pair{node_op::add, infix{"+", sum, sum, product}},
      std::pair{node_op::concat, infix{"+", sum, sum, product}},
      std::pair{node_op::sub, infix{"-", sum, sum, product}},
      std::pair{node_op::mul, infix{"*", product, product, sign}},
      std::pair{node_op::div, infix{"/", product, product, sign}},
      std::pair{node_op::mod, infix{"%", product, product, sign}},
      std::pair{node_op::pow, infix{"**", power, whole, sign}},
      std::pair{node_op::coalesce, infix{"??", coalesce, coalesce, equality}},
      std::pair{node_op::and_, infix{"&&", both, both, equality}},
      std::pair{node_op::or_, infix{"||", either, either, both}},
  };
  for (const auto& [each, how] : table)
    if (each == op) return &how;
  return nullptr;
}

auto join(part&& left, std::string_view sign, binding binds, binding left_wants, binding right_wants, part&& right)
    -> part {
  std::string text = operand(std::move(left), left_wants);
  text.append(" ").append(sign).append(" ").append(operand(std::move(right), right_wants));
  return {std::move(text), binds};
}

auto number_text(const number& value) -> std::string {
  std::string out;
  std::visit([&out](auto each) { append_json_number(out, each); }, value);
  return out;
}

auto list_text(const literal_list& list) -> std::string {
  std::string out = "[";
  std::visit(
      [&out](const auto& items) {
        for (const auto& item : items) {
          if (out.size() > 1) out += ", ";
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(item)>, std::string>)
            append_json_string(out, item);
          else
            out += number_text(item);
        }
      },
      list);
  return out + "]";
}

auto regex_text(const regex_test& test, const registries& declared) -> std::string {
  const auto* const literal = std::get_if<std::string>(&test.pattern);
  std::string out = "regex(" + key_text(test.key_id, declared) + ", ";
  out +=
      literal != nullptr ? quote_json(*literal) : param_text(std::get<param_number>(test.pattern).param_id, declared);
  if (test.letters != letter_case::exact) out += ", \"i\"";
  return out + ")";
}

auto source_text(const text_source& source, const registries& declared) -> std::string {
  if (const auto* key = std::get_if<key_number>(&source)) return key_text(key->key_id, declared);
  if (const auto* param = std::get_if<param_number>(&source)) return param_text(param->param_id, declared);
  return quote_json(std::get<std::string>(source));
}

auto method_text(node_op op) -> std::string_view {
  if (op == node_op::starts_with) return ".startsWith(";
  return op == node_op::ends_with ? ".endsWith(" : ".includes(";
}

auto bucket_text(std::string&& operand, const bucket_choice& choice) -> std::string {
  std::string out = "E.bucket(" + std::move(operand) + ", " + std::to_string(choice.count);
  if (!choice.seed.empty()) out += ", " + quote_json(choice.seed);
  return out + ")";
}

auto comparison_text(comparison operation) -> std::string_view {
  switch (operation) {
    case comparison::equal: return "==";
    case comparison::not_equal: return "!=";
    case comparison::less: return "<";
    case comparison::less_equal: return "<=";
    case comparison::greater: return ">";
    case comparison::greater_equal: return ">=";
  }
  return "";
}

/// Prints the nodes of one tree from left to right. The text of a node contains the texts of its children.
class printer {
 public:
  printer(const syntax_tree& tree, const registries& declared) : tree_(&tree), declared_(&declared) {}

  auto run() -> std::string {
    parts_.resize(tree_->nodes.size());
    for (std::size_t at = 0; at < parts_.size(); ++at) parts_[at] = print(tree_->nodes[at]);
    return std::move(parts_.back().text);
  }

 private:
  auto child(const tree_node& node, std::size_t slot) -> part&& { return std::move(parts_[node.children[slot]]); }

  auto print(const tree_node& node) -> part {
    if (const infix* how = find_infix(node.op))
      return join(child(node, 0), how->sign, how->binds, how->left, how->right, child(node, 1));
    switch (node.op) {
      case node_op::const_number: return literal(std::get<number>(node.payload));
      case node_op::const_null: return {"null"};
      case node_op::const_bool: return {std::get<bool>(node.payload) ? "true" : "false"};
      case node_op::key_ref: return {key_text(std::get<key_number>(node.payload).key_id, *declared_)};
      case node_op::param_ref: return {param_text(std::get<param_number>(node.payload).param_id, *declared_)};
      case node_op::neg: return {"-" + operand(child(node, 0), binding::whole), binding::sign};
      case node_op::not_: return {"!" + operand(child(node, 0), binding::whole), binding::sign};
      case node_op::cmp: return compared(node);
      case node_op::is_null: return {operand(child(node, 0), binding::sum) + " == null", binding::equality};
      case node_op::not_null: return {operand(child(node, 0), binding::sum) + " != null", binding::equality};
      case node_op::in:
        return {operand(child(node, 0), binding::sum) + " in " + list_text(std::get<literal_list>(node.payload)),
                binding::order};
      case node_op::regex: return {regex_text(std::get<regex_test>(node.payload), *declared_)};
      case node_op::const_text: return {quote_json(std::get<std::string>(node.payload))};
      case node_op::bucket:
      case node_op::bucket_text: return {bucket_text(child(node, 0).text, std::get<bucket_choice>(node.payload))};
      case node_op::cmp_text: return compared_texts(std::get<text_pair>(node.payload));
      case node_op::starts_with:
      case node_op::ends_with:
      case node_op::contains: return related_texts(node.op, std::get<text_pair>(node.payload));
      default: return call(node);
    }
  }

  static auto literal(const number& value) -> part {
    std::string text = number_text(value);
    const binding binds = text.starts_with('-') ? binding::sign : binding::whole;
    return {std::move(text), binds};
  }

  auto compared(const tree_node& node) -> part {
    const comparison how = std::get<comparison>(node.payload);
    const bool equality = how == comparison::equal || how == comparison::not_equal;
    return join(child(node, 0), comparison_text(how), equality ? binding::equality : binding::order, binding::sum,
                binding::sum, child(node, 1));
  }

  auto compared_texts(const text_pair& pair) -> part {
    const bool equality = pair.how == comparison::equal || pair.how == comparison::not_equal;
    return join({source_text(pair.a, *declared_)}, comparison_text(pair.how),
                equality ? binding::equality : binding::order, binding::sum, binding::sum,
                {source_text(pair.b, *declared_)});
  }

  auto related_texts(node_op op, const text_pair& pair) -> part {
    return {source_text(pair.a, *declared_) + std::string(method_text(op)) + source_text(pair.b, *declared_) + ")"};
  }

  /// Returns the text of an op that authors of plans write as a call of a function of `E`.
  auto call(const tree_node& node) -> part {
    std::string out = "E." + std::string(name_of(node.op)) + "(";
    for (std::size_t slot = 0; slot < node.children.size() && node.children[slot] != tree_node::none; ++slot) {
      if (slot != 0) out += ", ";
      out += child(node, slot).text;
    }
    return {out + ")"};
  }

  const syntax_tree* tree_;
  const registries* declared_;
  std::vector<part> parts_;
};

}  // namespace

auto key_text(std::uint32_t key_id, const registries& declared) -> std::string {
  const key_entry* const key = declared.find_key(key_id);
  return key != nullptr ? "Key." + key->name : "Key[" + std::to_string(key_id) + "]";
}

auto param_text(std::uint32_t param_id, const registries& declared) -> std::string {
  const param_entry* const param = declared.find_param(param_id);
  return param != nullptr ? "P." + param->name : "P[" + std::to_string(param_id) + "]";
}

auto formula_text(const syntax_tree& tree, const registries& declared) -> std::string {
  return printer(tree, declared).run();
}

}  // namespace rankd
