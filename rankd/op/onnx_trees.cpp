// rankd/op/onnx_trees.cpp: converts the tree ensembles of ONNX. The lists of an ensemble contain the nodes of all
// trees, one tree after another. Scores are computed as in ONNX Runtime, also in details that the ONNX standard does
// not define: see docs/decisions/0020.
#include <rankd/op/detail/drawn_tree.hpp>
#include <rankd/op/detail/onnx_call.hpp>
#include <rankd/registry/counted.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace rankd::detail {
namespace {

using made_rows = std::optional<onnx_rows>;

struct tree_nodes {
  std::vector<std::int64_t> tree, number, feature, when_true, when_false, missing_true;
  std::vector<double> value;
  std::vector<std::string_view> mode;

  [[nodiscard]] auto size() const noexcept -> std::size_t { return tree.size(); }
};

/// A weight of a leaf, with the numbers of the leaf's tree and node, and with the weight's index in the lists of the
/// file.
struct listed_weight {
  std::int64_t tree = 0;
  std::int64_t number = 0;
  std::size_t place = 0;
  leaf_weight weight;
};

/// The names of the attributes that list weights. Regressors and classifiers use different names.
struct weight_names {
  std::string_view tree, number, output, weight, weight_tensor;
};

constexpr weight_names of_regressor{"target_treeids", "target_nodeids", "target_ids", "target_weights",
                                    "target_weights_as_tensor"};
constexpr weight_names of_classifier{"class_treeids", "class_nodeids", "class_ids", "class_weights",
                                     "class_weights_as_tensor"};

/// The weights of one leaf, as a range of indexes into the sorted list of weights.
struct leaf_range {
  std::size_t first = 0;
  std::size_t last = 0;
};

struct forest_reading {
  const onnx_call& call;
  std::size_t columns = 0;
  std::size_t outputs = 0;
  tree_nodes nodes = {};
  std::vector<listed_weight> weights = {};  ///< sorted by leaf
  std::vector<leaf_range> leaves = {};      ///< a leaf's value is a position here until all trees are there
  program_forest made = {};
};

/// Returns numbers from a list of floats or from a tensor, whichever the node has.
auto numbers_of_either(const onnx_call& call, std::string_view list, std::string_view tensor) -> std::vector<double> {
  if (!call.has(tensor)) return call.floats(list);
  const auto attribute = find_attribute(call.node(), tensor, call.with());
  if (!attribute || !attribute->tensor) return {};
  auto found = read_numbers(*attribute->tensor, call.with());
  return found ? std::move(found->values) : std::vector<double>();
}

/// Returns whether a list has the required length. Reports wrong_length otherwise.
auto is_long(const onnx_call& call, std::string_view list, std::size_t length, std::size_t wanted) -> bool {
  if (length == wanted) return true;
  call.refuse("wrong_length", list,
              "the list has " + counted(length, "item") + "; it must have " + std::to_string(wanted));
  return false;
}

auto read_nodes(forest_reading& out) -> bool {
  const onnx_call& call = out.call;
  out.nodes = {.tree = call.ints("nodes_treeids"),
               .number = call.ints("nodes_nodeids"),
               .feature = call.ints("nodes_featureids"),
               .when_true = call.ints("nodes_truenodeids"),
               .when_false = call.ints("nodes_falsenodeids"),
               .missing_true = call.ints("nodes_missing_value_tracks_true"),
               .value = numbers_of_either(call, "nodes_values", "nodes_values_as_tensor"),
               .mode = call.strings("nodes_modes")};
  tree_nodes& nodes = out.nodes;
  const std::size_t count = nodes.size();
  if (nodes.missing_true.empty()) nodes.missing_true.resize(count, 0);
  if (count == 0) call.refuse("too_few_items", "nodes_treeids", "the list must not be empty");
  if (count > max_model_nodes)
    call.refuse("too_many_items", "nodes_treeids",
                "there are " + std::to_string(count) + " nodes; the limit is " + std::to_string(max_model_nodes));
  return count != 0 && count <= max_model_nodes && is_long(call, "nodes_nodeids", nodes.number.size(), count) &&
         is_long(call, "nodes_featureids", nodes.feature.size(), count) &&
         is_long(call, "nodes_truenodeids", nodes.when_true.size(), count) &&
         is_long(call, "nodes_falsenodeids", nodes.when_false.size(), count) &&
         is_long(call, "nodes_values", nodes.value.size(), count) &&
         is_long(call, "nodes_missing_value_tracks_true", nodes.missing_true.size(), count) &&
         is_long(call, "nodes_modes", nodes.mode.size(), count);
}

auto read_weights(forest_reading& out, const weight_names& names) -> bool {
  const onnx_call& call = out.call;
  const auto tree = call.ints(names.tree);
  const auto number = call.ints(names.number);
  const auto output = call.ints(names.output);
  const auto value = numbers_of_either(call, names.weight, names.weight_tensor);
  if (!is_long(call, names.number, number.size(), tree.size()) ||
      !is_long(call, names.output, output.size(), tree.size()) ||
      !is_long(call, names.weight, value.size(), tree.size()))
    return false;
  for (std::size_t at = 0; at < tree.size(); ++at) {
    if (output[at] < 0 || static_cast<std::size_t>(output[at]) >= out.outputs) {
      call.refuse_item(
          "out_of_range", names.output, at,
          "there is no output " + std::to_string(output[at]) + "; the model has " + counted(out.outputs, "output"));
      return false;
    }
    if (!std::isfinite(value[at])) {
      call.refuse_item("number_out_of_range", names.weight, at, "the number is not finite");
      return false;
    }
    out.weights.push_back({tree[at], number[at], at, {static_cast<std::uint32_t>(output[at]), value[at]}});
  }
  std::ranges::sort(out.weights, {},
                    [](const listed_weight& each) { return std::tuple(each.tree, each.number, each.place); });
  return true;
}

/// Returns the smallest number greater than `value`, as the threshold for "right if more than `value`". Returns NaN if
/// no number is greater; no row then goes to the right child.
auto above(double value) -> double {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  return value == infinite ? std::numeric_limits<double>::quiet_NaN() : std::nextafter(value, infinite);
}

/// Sets the threshold and the comparison of a split. Swaps the children if the file's true branch is the right child.
auto set_split(const forest_reading& reading, std::size_t index, drawn_node& out) -> bool {
  const std::string_view mode = reading.nodes.mode[index];
  const bool is_at_most = mode == "BRANCH_LEQ";
  const bool is_more = mode == "BRANCH_GT";
  const bool is_left = is_at_most || mode == "BRANCH_LT";
  if (!is_left && !is_more && mode != "BRANCH_GTE") {
    reading.call.refuse_item("bad_value", "nodes_modes", index,
                             "a node that compares by " + shown(mode) + " is not supported");
    return false;
  }
  if (std::isnan(reading.nodes.value[index])) {
    reading.call.refuse_item("number_out_of_range", "nodes_values", index,
                             "a value that is not a number cannot be compared");
    return false;
  }
  out.threshold = is_at_most || is_more ? above(reading.nodes.value[index]) : reading.nodes.value[index];
  out.null_left = (reading.nodes.missing_true[index] != 0) == is_left;
  if (is_left) return true;
  std::swap(out.left, out.right);
  out.is_swapped = true;
  return true;
}

/// Sets the weights of a leaf. Reports duplicate_value if two weights of a leaf are for the same output.
auto set_leaf(forest_reading& reading, std::size_t index, drawn_node& out) -> bool {
  const auto name = [](const listed_weight& each) { return std::pair(each.tree, each.number); };
  const auto found = std::ranges::equal_range(
      reading.weights, std::pair(reading.nodes.tree[index], reading.nodes.number[index]), {}, name);
  std::vector<std::uint32_t> seen;
  for (const listed_weight& each : found) {
    if (is_new(each.weight.output, seen)) continue;
    reading.call.refuse_item("duplicate_value", "nodes_nodeids", index, "the leaf has two weights for one output");
    return false;
  }
  if (found.empty() ||
      (reading.made.fold != leaf_fold::sum && reading.made.fold != leaf_fold::mean && seen.size() < reading.outputs)) {
    reading.call.refuse_item("missing_field", "nodes_nodeids", index, "the leaf must have one weight for each output");
    return false;
  }
  out.value = static_cast<double>(reading.leaves.size());
  const auto first = static_cast<std::size_t>(found.begin() - reading.weights.begin());
  reading.leaves.push_back({first, first + found.size()});
  return true;
}

/// Sets the children of a node to their indexes within the tree. The file identifies children by node numbers.
auto set_children(const forest_reading& reading, std::size_t index, const std::map<std::int64_t, std::int64_t>& places,
                  drawn_node& out) -> bool {
  const auto find = [&](std::string_view list, std::int64_t number, std::int64_t& place) {
    const auto found = places.find(number);
    if (found != places.end()) return place = found->second, true;
    reading.call.refuse_item("out_of_range", list, index, "the tree has no node " + std::to_string(number));
    return false;
  };
  return find("nodes_truenodeids", reading.nodes.when_true[index], out.left) &&
         find("nodes_falsenodeids", reading.nodes.when_false[index], out.right);
}

/// Builds a tree from the nodes with the indexes `first` to `last` - 1.
auto drawn(forest_reading& reading, std::size_t first, std::size_t last) -> std::optional<drawn_tree> {
  drawn_tree out{.pointer = reading.call.node().pointer,
                 .lists = {.feature = "nodes_featureids",
                           .left = "nodes_truenodeids",
                           .right = "nodes_falsenodeids",
                           .leaf = "nodes_nodeids",
                           .first_node = first},
                 .nodes = std::vector<drawn_node>(last - first)};
  std::map<std::int64_t, std::int64_t> places;
  for (std::size_t at = first; at < last; ++at) {
    if (places.emplace(reading.nodes.number[at], static_cast<std::int64_t>(at - first)).second) continue;
    reading.call.refuse_item("duplicate_value", "nodes_nodeids", at, "the tree has a node of this number already");
    return std::nullopt;
  }
  for (std::size_t at = first; at < last; ++at) {
    drawn_node& node = out.nodes[at - first];
    if (reading.nodes.mode[at] == "LEAF") {
      if (!set_leaf(reading, at, node)) return std::nullopt;
      continue;
    }
    node.feature = std::max<std::int64_t>(reading.nodes.feature[at], -2);
    if (node.feature < 0) {
      reading.call.refuse_item("out_of_range", "nodes_featureids", at, "a feature number must not be negative");
      return std::nullopt;
    }
    if (!set_children(reading, at, places, node) || !set_split(reading, at, node)) return std::nullopt;
  }
  return out;
}

/// Returns whether every weight belongs to a leaf. Reports out_of_range if a weight belongs to another node, or to a
/// node that does not exist.
auto are_all_taken(const forest_reading& reading, const weight_names& names) -> bool {
  std::size_t taken = 0;
  for (const leaf_range& each : reading.leaves) taken += each.last - each.first;
  if (taken == reading.weights.size()) return true;
  reading.call.refuse(
      "out_of_range", names.number,
      std::to_string(reading.weights.size() - taken) + " of the weights belong to nodes that are not leaves");
  return false;
}

/// Replaces the indexes in leaves by the weights that the indexes refer to. If every leaf has exactly one weight and
/// all these weights are for the first output, these weights become the values of the leaves.
void settle_leaves(forest_reading& reading) {
  tree_model& trees = reading.made.trees;
  const bool is_single = std::ranges::all_of(reading.leaves, [&](const leaf_range& each) {
    return each.last - each.first == 1 && reading.weights[each.first].weight.output == 0;
  });
  for (std::size_t at = 0; at < trees.nodes.size(); ++at) {
    reading.made.first_weight.push_back(static_cast<std::uint32_t>(reading.made.weights.size()));
    if (trees.nodes[at].left != at) continue;
    const leaf_range range = reading.leaves[static_cast<std::size_t>(trees.values[at])];
    for (std::size_t each = range.first; each < range.last; ++each)
      reading.made.weights.push_back(reading.weights[each].weight);
    trees.values[at] = reading.weights[range.first].weight.value;
  }
  reading.made.first_weight.push_back(static_cast<std::uint32_t>(reading.made.weights.size()));
  if (!is_single) trees.values.clear();
}

auto read_trees(forest_reading& reading) -> bool {
  braid::diagnostics problems;
  std::vector<std::int64_t> seen;
  for (std::size_t first = 0; first < reading.nodes.size();) {
    std::size_t last = first + 1;
    while (last < reading.nodes.size() && reading.nodes.tree[last] == reading.nodes.tree[first]) ++last;
    seen.push_back(reading.nodes.tree[first]);
    if (seen.size() > max_trees) {
      reading.call.refuse("too_many_items", "nodes_treeids",
                          "there are more than " + std::to_string(max_trees) + " trees");
      return false;
    }
    const auto tree = drawn(reading, first, last);
    if (!tree) return false;
    add_tree(*tree, 0, {.features = reading.columns, .max_levels = max_trained_levels}, reading.made.trees, problems);
    for (const braid::diagnostic& each : problems)
      reading.call.with().report(each.code, each.pointer, reading.call.named(each.message));
    if (!problems.empty()) return false;
    first = last;
  }
  std::ranges::sort(seen);
  if (std::ranges::adjacent_find(seen) == seen.end()) return true;
  reading.call.refuse("duplicate_value", "nodes_treeids", "the nodes of a tree must be consecutive");
  return false;
}

auto read_fold(const onnx_call& call) -> std::optional<leaf_fold> {
  const std::string_view name = call.text("aggregate_function", "SUM");
  if (name == "SUM") return leaf_fold::sum;
  if (name == "AVERAGE") return leaf_fold::mean;
  if (name == "MIN") return leaf_fold::least;
  if (name == "MAX") return leaf_fold::greatest;
  call.refuse("bad_value", "aggregate_function", shown(name) + " is not known");
  return std::nullopt;
}

/// The sums of the trees' leaves for each output, before the base values are added.
struct forest_sums {
  slot_list slots;
  onnx_type type;
  std::vector<listed_weight> weights;
  bool has_all_outputs = false;  ///< each leaf has a weight for each output
};

auto summed(const onnx_call& call, std::size_t outputs, const weight_names& names) -> std::optional<forest_sums> {
  const onnx_rows* of = call.rows(0);
  const auto fold = read_fold(call);
  if (of == nullptr || !fold) return std::nullopt;
  if (of->rank != 2 || of->type == onnx_type::flags) {
    call.refuse(
        "wrong_type", "input",
        "trees need a table of numbers, not " + onnx_type_text(of->type) + " with " + counted(of->rank, "dimension"));
    return std::nullopt;
  }
  const onnx_type type = of->type == onnx_type::doubles ? onnx_type::doubles : onnx_type::floats;
  forest_reading in{.call = call, .columns = of->slots.size(), .outputs = outputs};
  in.made.fold = *fold;
  in.made.trees.width = width_of(type);
  const std::size_t before = call.with().problems.size();
  if (!read_nodes(in) || !read_weights(in, names) || !read_trees(in) || !are_all_taken(in, names) ||
      call.with().problems.size() != before)
    return std::nullopt;
  settle_leaves(in);
  const bool has_all =
      std::ranges::all_of(in.leaves, [&](const leaf_range& each) { return each.last - each.first == outputs; });
  const slot_list columns = is_real(of->type) ? of->slots : call.each(model_op::same, type, of->slots);
  return forest_sums{call.out().forest(std::move(in.made), outputs, columns), type, std::move(in.weights), has_all};
}

auto with_base(const onnx_call& call, forest_sums sums, const std::vector<double>& base) -> slot_list {
  slot_list out =
      base.empty() ? std::move(sums.slots) : call.with_constants(model_op::add, sums.type, sums.slots, base);
  return sums.type == onnx_type::floats ? out : call.each(model_op::same, onnx_type::floats, out);
}

/// Returns a base value for each output, or an empty list if there are none. A single zero applies to all outputs. Such
/// a zero is written by skl2onnx for boosting with `init="zero"`. Returns nothing after a diagnostic.
auto base_values(const onnx_call& call, std::size_t outputs) -> std::optional<std::vector<double>> {
  std::vector<double> out = numbers_of_either(call, "base_values", "base_values_as_tensor");
  if (out.size() == 1 && out.front() == 0) out.clear();
  if (!out.empty() && !is_long(call, "base_values", out.size(), outputs)) return std::nullopt;
  return out;
}

/// Computes the scores of a classifier for two classes if the file has weights for only one output. The sum is the
/// score of the second class. If no weight is negative, the score of the first class is 1 minus the sum; otherwise it
/// is the negated sum.
auto one_sided(const onnx_call& call, forest_sums sums) -> made_rows {
  const std::string_view transform = call.text("post_transform", "NONE");
  const bool is_share = std::ranges::all_of(sums.weights, [](const auto& each) { return each.weight.value >= 0; });
  if (transform != "NONE" && (is_share || transform != "LOGISTIC")) {
    call.refuse("bad_value", "post_transform",
                shown(transform) + " is not supported for two classes with " +
                    (is_share ? "weights that are all positive" : "weights of both signs"));
    return std::nullopt;
  }
  sums.slots.resize(1);
  const auto base = base_values(call, 1);
  if (!base) return std::nullopt;
  const slot_list score = with_base(call, std::move(sums), *base);
  program_builder& out = call.out();
  if (is_share) {
    const std::uint32_t one = out.constant(1, number_width::floats);
    const std::uint32_t rest = out.step(model_op::subtract, number_width::floats, std::array{one, score.front()});
    return onnx_rows{onnx_type::floats, 2, {rest, score.front()}};
  }
  const slot_list both{out.step(model_op::negate, number_width::floats, score), score.front()};
  return transformed(call, both, transform);
}

/// Computes the predictions of a CatBoost model for several targets, which the file contains as a classifier without
/// classes.
auto catboost_scores(const onnx_call& call, catboost_targets targets) -> made_rows {
  const std::vector<std::int64_t> ids = call.ints("class_ids");
  const std::int64_t last = ids.empty() ? 0 : std::ranges::max(ids);
  const auto outputs = static_cast<std::size_t>(std::clamp<std::int64_t>(last + 1, 1, max_outputs));
  auto sums = summed(call, outputs, of_classifier);
  if (!sums) return std::nullopt;
  const auto base = base_values(call, outputs);
  if (!base) return std::nullopt;
  onnx_rows out{onnx_type::floats, 2, with_base(call, std::move(*sums), *base)};
  if (targets == catboost_targets::mean_and_variance) {
    const std::uint32_t half = out.slots.back();
    const std::uint32_t log = call.out().step(model_op::add, number_width::floats, std::array{half, half});
    out.slots.back() = call.out().step(model_op::exponential, number_width::floats, std::array{log});
  }
  return out;
}

}  // namespace

auto make_tree_regressor(const onnx_call& call) -> made_rows {
  const std::int64_t targets = call.integer("n_targets", 0);
  if (targets < 1 || targets > static_cast<std::int64_t>(max_outputs)) {
    call.refuse("out_of_range", "n_targets", "there can be 1 to " + std::to_string(max_outputs) + " targets");
    return std::nullopt;
  }
  if (!call.is_plain_regressor()) return std::nullopt;
  const auto outputs = static_cast<std::size_t>(targets);
  auto sums = summed(call, outputs, of_regressor);
  if (!sums) return std::nullopt;
  const auto base = base_values(call, outputs);
  if (!base) return std::nullopt;
  return onnx_rows{onnx_type::floats, 2, with_base(call, std::move(*sums), *base)};
}

auto make_tree_classifier(const onnx_call& call) -> made_rows {
  const std::size_t labels = call.ints("classlabels_int64s").size() + call.strings("classlabels_strings").size();
  const catboost_targets targets = labels == 0 ? read_catboost_targets(call.file()) : catboost_targets::none;
  if (targets != catboost_targets::none) return catboost_scores(call, targets);
  if (labels < 2 || labels > max_outputs) {
    call.refuse("out_of_range", "classlabels_int64s",
                "there can be 2 to " + std::to_string(max_outputs) + " classes, not " + std::to_string(labels));
    return std::nullopt;
  }
  auto sums = summed(call, labels, of_classifier);
  if (!sums) return std::nullopt;
  const auto is_first = [](const listed_weight& each) { return each.weight.output == 0; };
  if (labels == 2 && std::ranges::all_of(sums->weights, is_first)) return one_sided(call, std::move(*sums));
  const auto base = base_values(call, labels);
  if (!base) return std::nullopt;
  if (labels == 2 && !sums->has_all_outputs) {
    call.refuse("bad_value", "class_ids", "two classes with leaves for only one class are ambiguous and not supported");
    return std::nullopt;
  }
  return transformed(call, with_base(call, std::move(*sums), *base), call.text("post_transform", "NONE"));
}

}  // namespace rankd::detail
