// rankd/op/drawn_tree.cpp: checks the shape of a tree, and stores its nodes level by level.
#include <rankd/op/detail/drawn_tree.hpp>

#include <rankd/op/detail/model_reading.hpp>
#include <rankd/registry/counted.hpp>

#include <algorithm>
#include <utility>

namespace rankd::detail {
namespace {

/// Visits the nodes of a tree from its root, and reports errors in its shape.
class tree_walk {
 public:
  tree_walk(const drawn_tree& tree, const drawing_rules& rules, braid::diagnostics& problems)
      : tree_(tree), rules_(rules), problems_(problems), parents_(tree.nodes.size(), unseen) {}

  /// Returns the nodes level by level: the root, then its children, then the children of these, and so on. The two
  /// children of a node are adjacent. Returns nothing after a diagnostic.
  auto order() -> std::vector<std::size_t> {
    std::vector<std::size_t> found{0};
    parents_[0] = root;
    std::size_t end_of_level = 1;
    for (std::size_t at = 0; at < found.size(); ++at) {
      if (at == end_of_level) {
        end_of_level = found.size();
        if (++levels_ > rules_.max_levels) {
          report("tree_too_deep", tree_.lists.feature, found[at],
                 "the tree has more than " + std::to_string(rules_.max_levels) + " levels");
          return {};
        }
      }
      if (is_split(found[at])) add_children(found[at], found);
    }
    const auto missed = std::ranges::find(parents_, unseen);
    if (is_right_ && tree_.nodes.size() - found.size() != rules_.unreached)
      report("unreached_node", tree_.lists.feature,
             missed == parents_.end() ? 0 : static_cast<std::size_t>(missed - parents_.begin()),
             rules_.unreached == 0 ? "no path leads from the root, which is the first node, to this node"
                                   : "`num_deleted` is " + std::to_string(rules_.unreached) + ", but " +
                                         counted(tree_.nodes.size() - found.size(), "node") + " cannot be reached");
    return is_right_ ? std::move(found) : std::vector<std::size_t>();
  }

  [[nodiscard]] auto levels() const noexcept -> std::uint32_t { return levels_; }

 private:
  static constexpr std::size_t unseen = ~std::size_t{0};
  static constexpr std::size_t root = unseen - 1;

  void report(std::string_view code, std::string_view list, std::size_t node, std::string message) {
    problems_.add(problem_at(code, tree_.place(list, node), std::move(message)));
    is_right_ = false;
  }

  /// Returns whether a node is a valid split. Returns false for a leaf, and after a diagnostic.
  auto is_split(std::size_t node) -> bool {
    const std::int64_t feature = tree_.nodes[node].feature;
    if (feature == drawn_node::no_feature) return false;
    if (feature >= 0 && static_cast<std::size_t>(feature) < rules_.features) return true;
    report("out_of_range", tree_.lists.feature, node,
           "there is no feature " + std::to_string(feature) + "; the model has " + std::to_string(rules_.features));
    return false;
  }

  void add_children(std::size_t node, std::vector<std::size_t>& found) {
    const drawn_node& split = tree_.nodes[node];
    add_child(node, split.is_swapped ? tree_.lists.right : tree_.lists.left, split.left, found);
    add_child(node, split.is_swapped ? tree_.lists.left : tree_.lists.right, split.right, found);
  }

  void add_child(std::size_t node, std::string_view list, std::int64_t child, std::vector<std::size_t>& found) {
    if (child < 0 || static_cast<std::size_t>(child) >= tree_.nodes.size())
      return report("out_of_range", list, node, "the tree has no node " + std::to_string(child));
    const auto place = static_cast<std::size_t>(child);
    if (parents_[place] == unseen) {
      parents_[place] = node;
      found.push_back(place);
    } else if (is_above(place, node)) {
      report("cycle", list, node, called(place) + " is an ancestor of this node");
    } else {
      report("shared_node", list, node, called(place) + " is already the child of another node");
    }
  }

  [[nodiscard]] auto called(std::size_t node) const -> std::string {
    const std::size_t first_leaf = tree_.lists.first_leaf;
    return node < first_leaf ? "node " + std::to_string(node) : "leaf " + std::to_string(node - first_leaf);
  }

  [[nodiscard]] auto is_above(std::size_t upper, std::size_t node) const -> bool {
    for (; node != root; node = parents_[node])
      if (node == upper) return true;
    return false;
  }

  const drawn_tree& tree_;
  drawing_rules rules_;
  braid::diagnostics& problems_;
  std::vector<std::size_t> parents_;
  std::uint32_t levels_ = 0;
  bool is_right_ = true;
};

/// Adds the rule of a split, and returns the index of the rule plus 1. Returns 0 for a plain comparison, which has no
/// rule.
auto make_rule(const drawn_node& split, tree_model& out) -> std::uint32_t {
  if (split.kind == split_kind::number) return 0;
  split_rule made{.first_word = static_cast<std::uint32_t>(out.bits.size()),
                  .words = static_cast<std::uint32_t>(split.categories.size())};
  if (split.kind == split_kind::category && made.words == 0) {  // nothing is in the set
    made.words = 1;
    out.bits.push_back(0);
  }
  out.bits.insert(out.bits.end(), split.categories.begin(), split.categories.end());
  out.rules.push_back(made);
  return static_cast<std::uint32_t>(out.rules.size());
}

}  // namespace

auto drawn_tree::place(std::string_view list, std::size_t node) const -> std::string {
  if (node >= lists.first_leaf) {
    list = lists.leaf;
    node -= lists.first_leaf;
  }
  return braid::json_pointer(braid::json_pointer(pointer, list), node + lists.first_node);
}

void add_tree(const drawn_tree& from, std::uint32_t output, const drawing_rules& rules, tree_model& out,
              braid::diagnostics& problems) {
  tree_walk walk(from, rules, problems);
  const std::vector<std::size_t> order = walk.order();
  if (order.empty()) return;
  const auto base = static_cast<std::uint32_t>(out.nodes.size());
  const std::size_t rules_before = out.rules.size();
  std::uint32_t next_child = base + 1;
  for (std::size_t at = 0; at < order.size(); ++at) {
    const drawn_node& node = from.nodes[order[at]];
    const bool leaf = node.feature == drawn_node::no_feature;
    out.values.push_back(leaf ? node.value : 0);
    if (leaf) {
      const auto self = static_cast<std::uint32_t>(base + at);
      // A comparison with NaN is false for every value, so every row stays at the leaf.
      out.nodes.push_back({.threshold = std::numeric_limits<double>::quiet_NaN(), .feature = 0, .left = self});
      continue;
    }
    out.nodes.push_back({.threshold = node.threshold,
                         .feature = static_cast<std::uint32_t>(node.feature),
                         .left = next_child,
                         .null_right = node.null_left ? 0U : 1U,
                         .rule = make_rule(node, out)});
    next_child += 2;
  }
  out.trees.push_back(
      {.root = base, .levels = walk.levels(), .output = output, .has_rules = out.rules.size() != rules_before});
}

auto category_bits::take(std::span<const std::int64_t> categories, const std::string& pointer,
                         braid::diagnostics& problems) -> std::vector<std::uint32_t> {
  constexpr std::int64_t max_category = std::numeric_limits<std::int32_t>::max();
  std::int64_t highest = -1;
  for (const std::int64_t each : categories) {
    highest = std::max(highest, each);
    if (each >= 0 && each <= max_category) continue;
    problems.add(problem_at("out_of_range", pointer, std::to_string(each) + " is not a category"));
    return {};
  }
  const auto words = static_cast<std::size_t>(highest / 32 + 1);
  if (words > words_left_) {
    problems.add(problem_at("too_many_items", pointer, "the category sets up to this set need too much memory",
                            "number the categories from 0"));
    return {};
  }
  words_left_ -= words;
  std::vector<std::uint32_t> out(words);
  for (const std::int64_t each : categories) out[static_cast<std::size_t>(each) / 32] |= 1U << (each % 32);
  return out;
}

auto has_too_many_nodes(const tree_model& so_far, const std::string& pointer, braid::diagnostics& problems) -> bool {
  if (so_far.nodes.size() <= max_model_nodes) return false;
  problems.add(problem_at("too_many_items", pointer,
                          "the trees up to this one have " + std::to_string(so_far.nodes.size()) +
                              " nodes; the limit is " + std::to_string(max_model_nodes)));
  return true;
}

}  // namespace rankd::detail
