// rankd/expr/facts.cpp: computes the types and constants of a tree's nodes, children before parents.
#include <rankd/expr/detail/arithmetic.hpp>
#include <rankd/expr/detail/facts.hpp>
#include <rankd/expr/detail/ops.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

namespace rankd::detail {
namespace {

/// Computes the facts of each node from the facts of its children.
class finder {
 public:
  finder(const syntax_tree& tree, const registries& known) : tree_(tree), known_(known) {}

  auto run() -> std::vector<facts> {
    found_.reserve(tree_.nodes.size());
    for (const tree_node& node : tree_.nodes) found_.push_back(find_node_facts(node));
    return std::move(found_);
  }

 private:
  [[nodiscard]] auto find_node_facts(const tree_node& node) const -> facts {
    if (find_row(node.op).computes) return of_arithmetic(node);
    switch (node.op) {
      case node_op::const_number: return of_literal(std::get<number>(node.payload));
      case node_op::const_null: return {.exact = true, .text = true, .uniform = true, .known = true, .value = {}};
      case node_op::coalesce: return of_coalesce(found_[node.children[0]], found_[node.children[1]]);
      case node_op::if_:
        return {.exact = found_[node.children[1]].exact && found_[node.children[2]].exact,
                .text = found_[node.children[1]].text && found_[node.children[2]].text,
                .value = {}};
      case node_op::mod:
        return {.exact = found_[node.children[0]].exact && found_[node.children[1]].exact,
                .uniform = found_[node.children[0]].uniform && found_[node.children[1]].uniform,
                .value = {}};
      case node_op::length:
      case node_op::bucket_text:
      case node_op::bucket: return {.exact = true, .uniform = found_[node.children[0]].uniform, .value = {}};
      case node_op::const_text: return {.text = true, .uniform = true, .value = {}};
      case node_op::concat:
        return {
            .text = true, .uniform = found_[node.children[0]].uniform && found_[node.children[1]].uniform, .value = {}};
      case node_op::key_ref: {
        const key_entry& key = *known_.find_key(std::get<key_number>(node.payload).key_id);
        facts all = of_type(key.type);
        all.vector = key.dimensions;
        return all;
      }
      case node_op::param_ref: {
        facts all = of_type(known_.find_param(std::get<param_number>(node.payload).param_id)->type);
        all.uniform = true;
        return all;
      }
      default: return {};
    }
  }

  static auto of_type(value_type type) -> facts {
    return {.exact = type != value_type::floating, .text = type == value_type::string, .value = {}};
  }

  static auto of_literal(const number& value) -> facts {
    return {.exact = std::holds_alternative<std::int64_t>(value), .uniform = true, .known = true, .value = value};
  }

  static auto of_coalesce(const facts& a, const facts& b) -> facts {
    facts both{.exact = a.exact && b.exact, .text = a.text && b.text, .value = {}};
    both.known = a.known && (a.value.has_value() || b.known);
    both.uniform = both.known || (a.uniform && b.uniform);
    if (both.known) both.value = a.value ? a.value : b.value;
    if (both.value && !both.exact) both.value = as_double(*both.value);
    return both;
  }

  [[nodiscard]] auto of_arithmetic(const tree_node& node) const -> facts {
    facts all{.exact = false, .uniform = true, .known = true, .value = {}};
    for (std::size_t slot = 0; slot < find_row(node.op).fields.size(); ++slot) {
      const facts& each = found_[node.children[slot]];
      all.uniform = all.uniform && each.uniform;
      all.known = all.known && each.known;
    }
    if (all.known) all.value = fold(node);
    return all;
  }

  [[nodiscard]] auto fold(const tree_node& node) const -> std::optional<number> {
    const arithmetic what = *find_row(node.op).computes;
    std::array<double, 3> values{};
    for (std::uint32_t slot = 0; slot < count_operands(what); ++slot) {
      const std::optional<number>& value = found_[node.children[slot]].value;
      if (!value) return std::nullopt;
      values[slot] = as_double(*value);
    }
    const double result = computed(what, values);
    if (wants_finite(what) && !std::isfinite(result)) return std::nullopt;
    return result;
  }

  const syntax_tree& tree_;
  const registries& known_;
  std::vector<facts> found_;
};

}  // namespace

auto find_facts(const syntax_tree& tree, const registries& known) -> std::vector<facts> {
  return finder(tree, known).run();
}

auto as_double(const number& value) -> double {
  return std::visit([](auto v) { return static_cast<double>(v); }, value);
}

auto as_exact_integer(const number& value) -> std::optional<std::int64_t> {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  const double fraction = std::get<double>(value);
  const bool fits = fraction >= -0x1p63 && fraction < 0x1p63 && fraction == std::floor(fraction);
  if (!fits) return std::nullopt;
  return static_cast<std::int64_t>(fraction);
}

auto as_exact_double(const number& value) -> std::optional<double> {
  const double nearest = as_double(value);
  const auto* whole = std::get_if<std::int64_t>(&value);
  if (whole != nullptr && as_exact_integer(nearest) != *whole) return std::nullopt;
  return nearest;
}

}  // namespace rankd::detail
