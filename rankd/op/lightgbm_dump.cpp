// rankd/op/lightgbm_dump.cpp: reads the JSON of LightGBM's `dump_model`, in which a node contains its children.
#include <rankd/op/detail/lightgbm.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/object_reader.hpp>
#include <rankd/registry/counted.hpp>

#include <braid/base/detail/number_in.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd::detail {
namespace {

using json = nlohmann::json;

constexpr std::array<std::string_view, 3> missing_types{"None", "Zero", "NaN"};
constexpr std::array<std::string_view, 2> decisions{"<=", "=="};

/// Reads one tree recursively, node by node. `parse_json` limits the depth of the document, and thereby the depth of
/// the recursion.
class nested_tree {
 public:
  nested_tree(std::size_t features, category_bits& bits, const model_reading& reading)
      : features_(features), bits_(bits), reading_(reading) {}

  auto read(const json& root, const std::string& pointer) -> std::vector<drawn_node> {
    add(root, pointer);
    return std::move(nodes_);
  }

 private:
  auto add(const json& item, const std::string& pointer) -> std::int64_t {
    const std::size_t at = nodes_.size();
    nodes_.emplace_back();
    object_reader in(item, pointer, reading_.problems);
    if (!item.is_object() || item.contains("leaf_value")) {
      if (const auto value = in.typed("leaf_value", presence::optional, value_type::floating))
        nodes_[at].value = std::get<double>(*value);
      if (in.value("leaf_coeff", presence::optional) != nullptr)
        in.report("leaf_coeff", "linear_leaves", "the leaves of this tree are linear models, which are not supported",
                  "train without `linear_tree`");
      return static_cast<std::int64_t>(at);
    }
    add_split(in, at);
    return static_cast<std::int64_t>(at);
  }

  void add_split(object_reader& reader, std::size_t node) {
    const auto highest = static_cast<std::int64_t>(features_) - 1;
    nodes_[node].feature = reader.integer("split_feature", presence::required, {.min = 0, .max = highest})
                               .value_or(drawn_node::no_feature);
    const json* left = reader.object("left_child", presence::required);
    const json* right = reader.object("right_child", presence::required);
    if (left == nullptr || right == nullptr) return;
    const std::int64_t left_place = add(*left, reader.pointer_of("left_child"));
    const std::int64_t right_place = add(*right, reader.pointer_of("right_child"));
    nodes_[node].left = left_place;
    nodes_[node].right = right_place;
    const auto decision = reader.choice("decision_type", presence::required, decisions);
    if (decision == 0U) set_number(reader, nodes_[node]);
    if (decision == 1U) set_categories(reader, nodes_[node]);
  }

  void set_number(object_reader& reader, drawn_node& out) const {
    const auto threshold = reader.typed("threshold", presence::required, value_type::floating);
    const auto missing = reader.choice("missing_type", presence::required, missing_types);
    const auto default_left = reader.boolean("default_left", presence::required);
    if (threshold && missing && default_left)
      split_by_number({.threshold = std::get<double>(*threshold),
                       .missing = static_cast<lightgbm_missing>(*missing),
                       .default_left = *default_left},
                      out);
  }

  /// Parses categories in the form "1||5||7".
  void set_categories(object_reader& reader, drawn_node& out) const {
    const std::string* text = reader.text("threshold", presence::required);
    if (text == nullptr) return;
    std::vector<std::int64_t> found;
    std::string_view rest = *text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find("||"), rest.size());
      const auto category = braid::detail::number_in<std::int64_t>(rest.substr(0, end));
      if (!category)
        return reader.report("threshold", "bad_value", quote_name(rest.substr(0, end)) + " is not a category");
      found.push_back(*category);
      rest.remove_prefix(std::min(end + 2, rest.size()));
    }
    split_by_category(bits_.take(found, reader.pointer_of("threshold"), reading_.problems), out);
  }

  std::size_t features_;
  category_bits& bits_;
  const model_reading& reading_;
  std::vector<drawn_node> nodes_;
};

auto read_header(object_reader& reader, const model_reading& reading) -> lightgbm_header {
  lightgbm_header out;
  const auto outputs = reader.integer("num_tree_per_iteration", presence::required, {.min = 1, .max = max_outputs});
  out.outputs = static_cast<std::size_t>(outputs.value_or(1));
  if (const std::string* objective = reader.text("objective", presence::optional)) out.objective = *objective;
  out.averages = reader.boolean("average_output", presence::optional).value_or(false);
  if (reader.value("average_output", presence::optional) == nullptr)
    reader.report("average_output", "unsupported_schema",
                  "this document was written by a version of LightGBM before 2.2.2, which left out the objective",
                  "save the model as text: booster.save_model(\"NAME.txt\")");
  if (const std::string* version = reader.text("version", presence::optional); version != nullptr && *version == "v2")
    out.leaves_are_scores = std::nullopt;
  if (const json* categories = reader.value("pandas_categorical", presence::optional))
    out.recodes = recodes_categories(*categories);
  const auto highest = reader.integer("max_feature_idx", presence::required, {.min = 0, .max = max_model_keys - 1});
  const json* names = reader.array("feature_names", presence::required);
  if (names == nullptr || !highest) return out;
  reading.bound(names->size(), reader.pointer_of("feature_names"), max_model_keys);
  for (std::size_t at = 0; at < std::min(names->size(), max_model_keys); ++at) {
    const json& name = (*names)[at];
    if (!name.is_string())
      reading.report("wrong_type", braid::json_pointer(reader.pointer_of("feature_names"), at),
                     "a feature name must be a string, not " + described(name));
    out.features.push_back(name.is_string() ? name.get<std::string>() : std::string());
  }
  if (static_cast<std::int64_t>(names->size()) != *highest + 1)
    reader.report("feature_names", "wrong_length",
                  "the list has " + counted(names->size(), "name") + ", but by `max_feature_idx` the model has " +
                      counted(static_cast<std::uint64_t>(*highest) + 1, "feature"));
  return out;
}

}  // namespace

auto read_lightgbm_dump(const json& document, const model_reading& reading) -> std::shared_ptr<const model> {
  object_reader in(document, "", reading.problems);
  lightgbm_header header = read_header(in, reading);
  const json* trees = in.array("tree_info", presence::required);
  if (trees == nullptr) return nullptr;
  const std::string pointer = in.pointer_of("tree_info");
  reading.bound(trees->size(), pointer, max_trees);
  tree_model made;
  category_bits bits;
  for (std::size_t at = 0; at < std::min(trees->size(), max_trees); ++at) {
    braid::diagnostics problems;
    const model_reading own{reading.declared, problems};
    object_reader tree((*trees)[at], braid::json_pointer(pointer, at), problems);
    const json* root = tree.object("tree_structure", presence::required);
    drawn_tree drawn{.pointer = tree.pointer(), .lists = {}, .nodes = {}};
    if (root != nullptr)
      drawn.nodes = nested_tree(header.features.size(), bits, own).read(*root, tree.pointer_of("tree_structure"));
    if (problems.empty())
      add_tree(drawn, static_cast<std::uint32_t>(at % header.outputs),
               {.features = header.features.size(), .max_levels = max_trained_levels}, made, problems);
    reading.problems.append(std::move(problems));
    if (has_too_many_nodes(made, drawn.pointer, reading.problems)) return nullptr;
  }
  return finished_lightgbm(std::move(header), trees->size(), std::move(made), reading);
}

}  // namespace rankd::detail
