// rankd/op/xgboost_json.cpp: reads the JSON format of XGBoost models. XGBoost computes in floats.
#include <rankd/op/detail/drawn_tree.hpp>
#include <rankd/op/detail/model_lists.hpp>
#include <rankd/op/detail/model_reading.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/counted.hpp>

#include <braid/base/detail/number_in.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace rankd::detail {
namespace {

using json = nlohmann::json;

/// Says how the base score of a file is converted to the initial sum of a row.
enum class margin_kind : std::uint8_t { same, logit, log };

struct objective_row {
  std::string_view name;
  score_link link;
  margin_kind margin;
};

constexpr std::array objectives{
    objective_row{"binary:logistic", score_link::sigmoid, margin_kind::logit},
    objective_row{"binary:logitraw", score_link::identity, margin_kind::same},
    objective_row{"count:poisson", score_link::exponential, margin_kind::log},
    objective_row{"multi:softprob", score_link::softmax, margin_kind::same},
    objective_row{"rank:map", score_link::identity, margin_kind::same},
    objective_row{"rank:ndcg", score_link::identity, margin_kind::same},
    objective_row{"rank:pairwise", score_link::identity, margin_kind::same},
    objective_row{"reg:absoluteerror", score_link::identity, margin_kind::same},
    objective_row{"reg:gamma", score_link::exponential, margin_kind::log},
    objective_row{"reg:logistic", score_link::sigmoid, margin_kind::logit},
    objective_row{"reg:pseudohubererror", score_link::identity, margin_kind::same},
    objective_row{"reg:quantileerror", score_link::identity, margin_kind::same},
    objective_row{"reg:squarederror", score_link::identity, margin_kind::same},
    objective_row{"reg:squaredlogerror", score_link::identity, margin_kind::same},
    objective_row{"reg:tweedie", score_link::exponential, margin_kind::log},
    objective_row{"survival:aft", score_link::exponential, margin_kind::log},
    objective_row{"survival:cox", score_link::exponential, margin_kind::log},
};

using braid::detail::number_in;  // XGBoost writes its parameters as strings

/// Refuses every field that was not read, except the fields in `unused`, which do not affect scores. This is necessary
/// because a version of XGBoost that writes other fields may compute scores in another way.
void refuse_unknown_fields(object_reader& reader, std::initializer_list<std::string_view> unused) {
  for (const std::string_view each : unused) static_cast<void>(reader.value(each, presence::optional));
  reader.refuse_unknown_fields();
}

/// Returns a count that is written as a string. Returns nothing after a diagnostic, or if the field is optional and
/// absent.
auto count_in(object_reader& reader, std::string_view field, presence need, int_range range)
    -> std::optional<std::size_t> {
  const std::string* text = reader.text(field, need);
  if (text == nullptr) return std::nullopt;
  const auto value = number_in<std::int64_t>(*text);
  if (value && *value >= range.min && *value <= range.max) return static_cast<std::size_t>(*value);
  reader.report(
      field, "out_of_range",
      quote_name(*text) + " is not an integer from " + std::to_string(range.min) + " to " + std::to_string(range.max));
  return std::nullopt;
}

/// The version of XGBoost that wrote a file.
struct xgboost_version {
  std::int64_t major = 0;
  std::int64_t minor = 0;

  auto operator<=>(const xgboost_version&) const = default;
};

/// The properties of a model file other than its trees.
struct xgboost_header {
  xgboost_version version;
  std::size_t features = 0;
  std::size_t outputs = 1;
  std::vector<double> base;              ///< one, or one for each output
  std::optional<std::size_t> objective;  ///< a position in `objectives`
  std::vector<std::string> names;
};

/// Reads the base score: a list `[0.5,0.25]`, or a single number in versions before 3.1.
auto read_base(object_reader& reader) -> std::vector<double> {
  std::vector<double> out;
  const std::string* text = reader.text("base_score", presence::required);
  if (text == nullptr) return out;
  std::string_view rest = *text;
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    const auto value = number_in<double>(rest.substr(0, end));
    if (!value || !std::isfinite(static_cast<float>(*value))) break;
    out.push_back(static_cast<float>(*value));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (!rest.empty() || out.empty())
    reader.report("base_score", "bad_value", quote_name(*text) + " is not a list of numbers");
  return out;
}

void read_params(object_reader& reader, xgboost_header& out) {
  out.features = count_in(reader, "num_feature", presence::required, {.min = 1, .max = max_model_keys}).value_or(0);
  const auto classes = count_in(reader, "num_class", presence::optional, {.min = 0, .max = max_outputs}).value_or(0);
  const auto targets = count_in(reader, "num_target", presence::optional, {.min = 0, .max = max_outputs}).value_or(1);
  out.outputs = std::max<std::size_t>(std::max(classes, targets), 1);
  out.base = read_base(reader);
  if (out.base.size() > 1 && out.base.size() != out.outputs)
    reader.report("base_score", "wrong_length",
                  "the list has " + counted(out.base.size(), "base score") + " for " + counted(out.outputs, "output"));
}

auto hint_for_objective(const std::string& name) -> std::string {
  if (name == "multi:softmax") return "train with multi:softprob, which returns the probability of each class";
  if (name == "binary:hinge") return "train with binary:logitraw, and compare its scores with 0";
  std::vector<std::string_view> known;
  for (const objective_row& each : objectives) known.push_back(each.name);
  return braid::did_you_mean(name, known);
}

void read_objective(object_reader& reader, xgboost_header& out) {
  const std::string* name = reader.text("name", presence::required);
  if (name == nullptr) return;
  const auto found = std::ranges::find(objectives, *name, &objective_row::name);
  if (found == objectives.end())
    return reader.report("name", "unknown_objective", "the objective " + quote_name(*name) + " is not supported",
                         hint_for_objective(*name));
  out.objective = static_cast<std::size_t>(found - objectives.begin());
}

void read_names(object_reader& reader, xgboost_header& out, const model_reading& reading) {
  const json* names = reader.array("feature_names", presence::optional);
  out.names.resize(out.features);
  if (names == nullptr || names->empty() || out.features == 0) return;
  if (names->size() != out.features)
    return reader.report("feature_names", "wrong_length",
                         "the list has " + counted(names->size(), "name") + ", but by `num_feature` the model has " +
                             counted(out.features, "feature"));
  for (std::size_t at = 0; at < names->size(); ++at) {
    if (const json& name = (*names)[at]; name.is_string())
      out.names[at] = name.get<std::string>();
    else
      reading.report("wrong_type", braid::json_pointer(reader.pointer_of("feature_names"), at),
                     "a feature name must be a string, not " + described(name));
  }
}

/// The lists that describe one tree, with one item for each node.
struct node_lists {
  std::vector<std::int64_t> left, right, feature;
  std::vector<double> condition;  ///< the threshold of a split, the value of a leaf
  std::vector<bool> default_left;
  std::vector<bool> categorical;
};

/// Returns a list of booleans. Newer versions of XGBoost write booleans as 0 and 1.
auto read_flags(object_reader& reader, std::string_view field, const model_reading& reading) -> std::vector<bool> {
  std::vector<bool> out;
  const json* list = reader.array(field, presence::required);
  if (list == nullptr) return out;
  for (std::size_t at = 0; at < list->size(); ++at) {
    const json& item = (*list)[at];
    const bool is_one = item.is_number_integer() && item == 1;
    if (!item.is_boolean() && !is_one && !(item.is_number_integer() && item == 0))
      reading.report("wrong_type", braid::json_pointer(reader.pointer_of(field), at),
                     "the item must be 0 or 1, not " + described(item));
    out.push_back(is_one || (item.is_boolean() && item.get<bool>()));
  }
  return out;
}

auto read_lists(object_reader& reader, const model_reading& reading) -> node_lists {
  node_lists out{.left = read_list<std::int64_t>(reader, "left_children", value_type::integer, reading),
                 .right = read_list<std::int64_t>(reader, "right_children", value_type::integer, reading),
                 .feature = read_list<std::int64_t>(reader, "split_indices", value_type::integer, reading),
                 .condition = read_thresholds(reader, "split_conditions", reading),
                 .default_left = read_flags(reader, "default_left", reading),
                 .categorical = {}};
  const std::size_t nodes = out.left.size();
  if (reader.array("split_type", presence::optional) != nullptr)
    out.categorical = read_flags(reader, "split_type", reading);
  else
    out.categorical.resize(nodes);
  if (nodes == 0 && reading.problems.empty())
    reader.report("left_children", "too_few_items", "a tree must have at least one node");
  const auto same = [&](std::string_view field, std::size_t length) {
    if (length == nodes || reader.array(field, presence::optional) == nullptr) return;
    reader.report(
        field, "wrong_length",
        quote_name(field) + " has " + counted(length, "item") + ", but `left_children` has " + std::to_string(nodes));
  };
  same("right_children", out.right.size());
  same("split_indices", out.feature.size());
  same("split_conditions", out.condition.size());
  same("default_left", out.default_left.size());
  same("split_type", out.categorical.size());
  return out;
}

/// Returns the category sets of one tree, by node number.
auto read_categories(object_reader& reader, category_bits& bits, const model_reading& reading)
    -> std::map<std::int64_t, std::vector<std::uint32_t>> {
  std::map<std::int64_t, std::vector<std::uint32_t>> out;
  const auto list = [&](std::string_view field) {
    return read_list<std::int64_t>(reader, field, value_type::integer, reading);
  };
  const auto all = list("categories");
  const auto nodes = list("categories_nodes");
  const auto firsts = list("categories_segments");
  const auto sizes = list("categories_sizes");
  if (!reading.problems.empty()) return out;
  if (firsts.size() != nodes.size() || sizes.size() != nodes.size()) {
    reader.report("categories_nodes", "wrong_length", "the lists that describe category sets have different lengths");
    return out;
  }
  const auto end = static_cast<std::int64_t>(all.size());
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    const std::string place = braid::json_pointer(reader.pointer_of("categories_segments"), at);
    if (firsts[at] < 0 || sizes[at] < 0 || firsts[at] > end || sizes[at] > end - firsts[at]) {
      reading.report("out_of_range", place, "this category set ends beyond `categories`");
      return out;
    }
    const std::span<const std::int64_t> set(all.data() + firsts[at], static_cast<std::size_t>(sizes[at]));
    if (!out.emplace(nodes[at], bits.take(set, place, reading.problems)).second)
      reading.report("duplicate_value", braid::json_pointer(reader.pointer_of("categories_nodes"), at),
                     "this node already has a category set");
  }
  return out;
}

/// Returns the threshold `t` for which "right if value >= t" is equivalent to XGBoost's "left if value < condition". If
/// the condition is infinite, every row goes left, even with a value beyond all floats. If the condition is NaN, every
/// row goes right.
auto compared_threshold(float condition) -> double {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (std::isnan(condition)) return -infinity;
  return condition == infinity ? std::numeric_limits<double>::quiet_NaN() : condition;
}

/// The state of reading the trees of a file one by one.
struct forest_reading {
  const xgboost_header& header;
  category_bits bits = {};
  std::set<std::int64_t> by_category = {};  ///< the features of splits by categories

  /// Reads a tree, and multiplies its leaves by `weight` in float arithmetic.
  auto drawn(object_reader& reader, float weight, const model_reading& reading) -> drawn_tree {
    drawn_tree out{.pointer = reader.pointer(),
                   .lists = {.feature = "split_indices",
                             .left = "left_children",
                             .right = "right_children",
                             .leaf = "split_conditions"},
                   .nodes = {}};
    const node_lists lists = read_lists(reader, reading);
    if (!reading.problems.empty()) return out;
    auto sets = std::ranges::find(lists.categorical, true) == lists.categorical.end()
                    ? std::map<std::int64_t, std::vector<std::uint32_t>>()
                    : read_categories(reader, bits, reading);
    out.nodes.resize(lists.left.size());
    for (std::size_t at = 0; at < out.nodes.size() && reading.problems.empty(); ++at) {
      drawn_node& node = out.nodes[at];
      const auto condition = static_cast<float>(lists.condition[at]);
      const bool is_leaf = lists.left[at] == -1;
      if (!std::isfinite(is_leaf ? condition * weight : condition) && (is_leaf || std::isfinite(lists.condition[at])))
        reading.report("number_out_of_range", out.place("split_conditions", at), "the number is not a finite float");
      if (is_leaf) {
        node.value = condition * weight;
        continue;
      }
      node = {.feature = std::max<std::int64_t>(lists.feature[at], -2),
              .left = lists.left[at],
              .right = lists.right[at],
              .threshold = compared_threshold(condition),
              .null_left = lists.default_left[at]};
      if (node.feature < 0)
        reading.report("out_of_range", out.place("split_indices", at), "a feature number must not be negative");
      if (lists.categorical[at]) set_categories(sets, at, out, reading);
    }
    return out;
  }

 private:
  void set_categories(std::map<std::int64_t, std::vector<std::uint32_t>>& sets, std::size_t index, drawn_tree& out,
                      const model_reading& reading) {
    by_category.insert(out.nodes[index].feature);
    const auto found = sets.find(static_cast<std::int64_t>(index));
    if (found == sets.end())
      return reading.report("missing_field", out.place("split_type", index),
                            "this node splits by categories, but `categories_nodes` does not list the node");
    drawn_node& node = out.nodes[index];
    node.kind = split_kind::category;
    node.threshold = 0;
    node.categories = std::move(found->second);
  }
};

void read_tree(const json& item, const std::string& pointer, std::uint32_t output, float weight, forest_reading& state,
               const model_reading& reading, tree_model& out) {
  braid::diagnostics problems;
  const model_reading own{reading.declared, problems};
  object_reader in(item, pointer, problems);
  std::size_t deleted = 0;
  if (const json* param = in.object("tree_param", presence::required)) {
    object_reader params(*param, in.pointer_of("tree_param"), problems);
    deleted = count_in(params, "num_deleted", presence::optional, {.min = 0, .max = max_model_nodes}).value_or(0);
    const auto leaf = count_in(params, "size_leaf_vector", presence::optional, {.min = 0, .max = max_outputs});
    if (leaf.value_or(1) > 1)
      params.report("size_leaf_vector", "vector_leaves", "leaves that are vectors are not supported",
                    "train with multi_strategy=\"one_output_per_tree\"");
  }
  const drawn_tree drawn = state.drawn(in, weight, own);
  if (problems.empty())
    refuse_unknown_fields(in, {"id", "parents", "base_weights", "loss_changes", "sum_hessian", "categories",
                               "categories_nodes", "categories_segments", "categories_sizes"});
  if (problems.empty())
    add_tree(drawn, output, {.features = state.header.features, .max_levels = max_trained_levels, .unreached = deleted},
             out, problems);
  reading.problems.append(std::move(problems));
}

/// The JSON object that contains the trees, and the weights of the trees if training dropped trees.
struct booster_parts {
  const json* model = nullptr;
  std::string pointer;
  std::vector<double> weights;
};

auto find_booster(const json& item, const std::string& pointer, const model_reading& reading) -> booster_parts {
  booster_parts out;
  object_reader in(item, pointer, reading.problems);
  const std::string* name = in.text("name", presence::required);
  if (name == nullptr) return out;
  if (*name == "dart") {
    out.weights = read_list<double>(in, "weight_drop", value_type::floating, reading);
    if (const json* inner = in.object("gbtree", presence::required)) {
      booster_parts found = find_booster(*inner, in.pointer_of("gbtree"), reading);
      found.weights = std::move(out.weights);
      in.refuse_unknown_fields();
      return found;
    }
  } else if (*name == "gbtree") {
    out.model = in.object("model", presence::required);
    out.pointer = in.pointer_of("model");
    // Since version 3.3, the booster `dart` is called gbtree. Version 3.3 stores the weights here, and version 3.4 next
    // to the trees.
    if (in.value("weight_drop", presence::optional) != nullptr)
      out.weights = read_list<double>(in, "weight_drop", value_type::floating, reading);
    in.refuse_unknown_fields();
    if (out.model == nullptr) return out;
    object_reader model(*out.model, out.pointer, reading.problems);
    if (model.value("weight_drop", presence::optional) != nullptr)
      out.weights = read_list<double>(model, "weight_drop", value_type::floating, reading);
  } else {
    in.report("name", "unsupported_booster", "the booster " + quote_name(*name) + " is not supported; it has no trees",
              *name == "gblinear" ? "write its weights as a model of kind linear (docs/rankd.md), or train with gbtree"
                                  : "train with the booster gbtree or dart");
  }
  return out;
}

/// Returns true if the trainer's category codes of a column, 0 to n - 1, equal the values of the column in the training
/// data.
auto is_unchanged(const json& column) -> bool {
  const auto values = column.is_object() ? column.find("values") : column.end();
  if (values == column.end() || !values->is_array() || values->empty() || column.contains("offsets")) return false;
  for (std::size_t at = 0; at < values->size(); ++at)
    if ((*values)[at] != at) return false;
  return true;
}

/// Reports splits by category codes if the codes differ from the values of the column, because the rows of rankd
/// contain the values, not the codes. Since version 3.1, a file lists the categories of each feature, and string
/// categories as `offsets` and bytes.
void refuse_recoded(object_reader& reader, const std::set<std::int64_t>& features, const model_reading& reading) {
  const json* cats = reader.object("cats", presence::optional);
  if (cats == nullptr) return;
  object_reader own(*cats, reader.pointer_of("cats"), reading.problems);
  const json* codes = own.array("enc", presence::optional);
  if (codes == nullptr || codes->empty()) return;
  for (const std::int64_t feature : features) {
    const auto at = static_cast<std::size_t>(feature);
    if (at >= codes->size() || is_unchanged((*codes)[at])) continue;
    reading.report("recoded_categories", braid::json_pointer(own.pointer_of("enc"), at),
                   "the trainer gave new numbers to the categories of this column, which depend on its training data",
                   "train on the categories 0, 1, 2, …, or on the numbers in the rows: frame[name] = codes, with "
                   "feature_types=[\"c\", …]");
  }
}

auto read_trees(const booster_parts& from, const xgboost_header& header, const model_reading& reading) -> tree_model {
  tree_model out;
  out.width = number_width::floats;
  object_reader in(*from.model, from.pointer, reading.problems);
  const json* trees = in.array("trees", presence::required);
  const auto groups = read_list<std::int64_t>(in, "tree_info", value_type::integer, reading);
  if (trees == nullptr) return out;
  const std::string pointer = in.pointer_of("trees");
  reading.bound(trees->size(), pointer, max_trees);
  if (const json* param = in.object("gbtree_model_param", presence::required)) {
    object_reader params(*param, in.pointer_of("gbtree_model_param"), reading.problems);
    const auto promised = count_in(params, "num_trees", presence::required, {.min = 0, .max = max_trees});
    if (promised && *promised != trees->size())
      params.report("num_trees", "wrong_length",
                    "the file declares " + counted(*promised, "tree") + ", but has " + std::to_string(trees->size()));
  }
  if (groups.size() != trees->size())
    in.report("tree_info", "wrong_length", "`tree_info` must have an item for each tree");
  if (!from.weights.empty() && from.weights.size() != trees->size())
    reading.report("wrong_length", from.pointer, "`weight_drop` must have an item for each tree");
  if (!reading.problems.empty()) return out;
  forest_reading how{.header = header};
  for (std::size_t at = 0; at < trees->size(); ++at) {
    const std::string place = braid::json_pointer(pointer, at);
    if (groups[at] < 0 || static_cast<std::size_t>(groups[at]) >= header.outputs)
      reading.report("out_of_range", braid::json_pointer(in.pointer_of("tree_info"), at),
                     "the model has no output " + std::to_string(groups[at]));
    const auto weight = from.weights.empty() ? 1.0F : static_cast<float>(from.weights[at]);
    read_tree((*trees)[at], place, static_cast<std::uint32_t>(groups[at]), weight, how, reading, out);
    if (has_too_many_nodes(out, place, reading.problems)) return out;
  }
  refuse_recoded(in, how.by_category, reading);
  refuse_unknown_fields(in, {"weight_drop", "iteration_indptr"});
  return out;
}

/// Returns the sum whose sigmoid is this probability. Since version 3.2, XGBoost limits the probability to a range
/// without 0 and 1.
auto to_logit(float chance, xgboost_version version) -> float {
  constexpr xgboost_version first_with_bounds{3, 2};
  constexpr float bound = 1e-6F;
  if (version >= first_with_bounds && chance >= 0 && chance <= 1) chance = std::clamp(chance, bound, 1.0F - bound);
  return -std::log(1.0F / chance - 1.0F);
}

/// Returns the initial sum of each output, from the base score.
auto read_margins(const xgboost_header& header, const model_reading& reading) -> std::vector<double> {
  std::vector<double> out;
  for (std::size_t at = 0; at < header.outputs; ++at) {
    const auto base = static_cast<float>(header.base[header.base.size() == 1 ? 0 : at]);
    float margin = base;
    const margin_kind kind = objectives[*header.objective].margin;
    if (kind == margin_kind::logit) margin = to_logit(base, header.version);
    if (kind == margin_kind::log) margin = std::log(base);
    if (!std::isfinite(margin)) {
      reading.report("bad_value", "/learner/learner_model_param/base_score",
                     "the objective does not allow this base score");
      return out;
    }
    out.push_back(margin);
  }
  return out;
}

auto read_header(object_reader& learner, xgboost_version version, const model_reading& reading) -> xgboost_header {
  xgboost_header out;
  out.version = version;
  if (const json* params = learner.object("learner_model_param", presence::required)) {
    object_reader in(*params, learner.pointer_of("learner_model_param"), reading.problems);
    read_params(in, out);
  }
  if (const json* objective = learner.object("objective", presence::required)) {
    object_reader in(*objective, learner.pointer_of("objective"), reading.problems);
    read_objective(in, out);
  }
  read_names(learner, out, reading);
  return out;
}

auto read_version(object_reader& reader, const model_reading& reading) -> xgboost_version {
  const auto version = read_list<std::int64_t>(reader, "version", value_type::integer, reading);
  if (!version.empty() && (version.front() < 1 || version.front() > 3))
    reader.report("version", "unsupported_schema",
                  "only models of XGBoost 1, 2 and 3 are supported, not of " + std::to_string(version.front()));
  return {.major = version.empty() ? 0 : version[0], .minor = version.size() < 2 ? 0 : version[1]};
}

}  // namespace

auto read_xgboost(const json& document, const model_reading& reading) -> std::shared_ptr<const model> {
  object_reader in(document, "", reading.problems);
  const xgboost_version version = read_version(in, reading);
  const json* item = in.object("learner", presence::required);
  if (item == nullptr) return nullptr;
  object_reader learner(*item, in.pointer_of("learner"), reading.problems);
  xgboost_header header = read_header(learner, version, reading);
  const json* booster = learner.object("gradient_booster", presence::required);
  if (booster == nullptr) return nullptr;
  const booster_parts parts = find_booster(*booster, learner.pointer_of("gradient_booster"), reading);
  if (!reading.problems.empty() || parts.model == nullptr) return nullptr;
  trained_model made{.trees = read_trees(parts, header, reading),
                     .intercepts = read_margins(header, reading),
                     .rule = {.link = objectives[*header.objective].link},
                     .features = std::move(header.names),
                     .features_pointer = "/learner/feature_names",
                     .naming_hint =
                         "give the features the names of keys before you save the model: booster.feature_names = "
                         "[\"price\", \"age\"]"};
  return with_keys(std::move(made), reading);
}

}  // namespace rankd::detail
