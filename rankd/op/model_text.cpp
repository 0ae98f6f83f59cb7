// rankd/op/model_text.cpp: from the JSON of a model to the model, or to everything that is wrong with it.
#include <rankd/op/detail/scoring.hpp>
#include <rankd/plan/json.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/object_reader.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd::detail {
namespace {

using json = nlohmann::json;

constexpr std::int64_t no_feature = -1;  // of a leaf
constexpr std::array<std::string_view, 2> kinds{"linear", "trees"};
constexpr std::array<std::string_view, 2> splits{"<", "<="};

auto problem(std::string_view code, std::string pointer, std::string message, std::string hint = {})
    -> braid::diagnostic {
  return {.code = std::string(code),
          .pointer = std::move(pointer),
          .message = std::move(message),
          .hint = std::move(hint),
          .node = {},
          .source = {}};
}

/// What is wrong is appended, with its place in the file.
struct reading {
  const registries& declared;
  braid::diagnostics& problems;

  /// The number of the key of that name, which a model may read. Zero after a diagnostic.
  [[nodiscard]] auto key(const std::string& name, const std::string& pointer) const -> std::uint32_t {
    const auto refuse = [&](std::string_view code, std::string message, std::string hint) {
      problems.add(problem(code, pointer, std::move(message), std::move(hint)));
      return 0U;
    };
    const key_entry* found = declared.find_key(name);
    if (found == nullptr)
      return refuse("unknown_key", "there is no key " + quote_name(name),
                    braid::did_you_mean(name, declared.key_names()));
    const std::string named = "key " + std::to_string(found->key_id) + " (" + found->name + ")";
    if (found->status == lifecycle::blocked)
      return refuse("blocked_key", named + " is blocked", declared.successor_hint(*found));
    if (!found->allow_read) return refuse("unreadable_key", named + " must not be read", {});
    if (found->type == value_type::string || found->type == value_type::feature_bundle)
      return refuse(
          "wrong_key_type",
          named + " is of type " + std::string(to_string(found->type)) + "; a model takes int, float and bool", {});
    return found->key_id;
  }

  /// Complains where a list has fewer or more items than it may have.
  void bound(const json& list, const std::string& pointer, std::size_t max_count) const {
    if (list.empty()) problems.add(problem("too_few_items", pointer, "the list must not be empty"));
    if (list.size() > max_count)
      problems.add(
          problem("too_many_items", pointer,
                  "the list has " + std::to_string(list.size()) + " items; the limit is " + std::to_string(max_count)));
  }
};

/// Whether a key comes for the first time.
auto is_new(std::uint32_t key, std::vector<std::uint32_t>& seen) -> bool {
  if (std::ranges::find(seen, key) != seen.end()) return false;
  seen.push_back(key);
  return true;
}

// Linear models

void read_weight(const json& item, const std::string& pointer, const reading& with, std::vector<std::uint32_t>& seen,
                 linear_model& out) {
  object_reader in(item, pointer, with.problems);
  model_weight made;
  if (const std::string* name = in.text("key", presence::required)) {
    made.key_id = with.key(*name, in.pointer_of("key"));
    if (made.key_id != 0 && !is_new(made.key_id, seen))
      in.report("key", "duplicate_value", "key " + quote_name(*name) + " has a weight already");
  }
  if (const auto weight = in.typed("weight", presence::required, value_type::floating))
    made.weight = std::get<double>(*weight);
  if (const auto value = in.typed("when_null", presence::nullable, value_type::floating))
    made.when_null = std::get<double>(*value);
  in.refuse_unknown_fields();
  out.weights.push_back(made);
}

auto read_linear(object_reader& in, const reading& with) -> linear_model {
  linear_model out;
  const json* weights = in.array("weights", presence::required);
  if (weights == nullptr) return out;
  const std::string pointer = in.pointer_of("weights");
  with.bound(*weights, pointer, max_model_keys);
  std::vector<std::uint32_t> seen;
  for (std::size_t i = 0; i < std::min(weights->size(), max_model_keys); ++i)
    read_weight((*weights)[i], braid::json_pointer(pointer, i), with, seen, out);
  return out;
}

// Trees

auto read_keys(object_reader& in, const reading& with) -> std::vector<std::uint32_t> {
  std::vector<std::uint32_t> out;
  const json* keys = in.array("keys", presence::required);
  if (keys == nullptr) return out;
  const std::string parent = in.pointer_of("keys");
  with.bound(*keys, parent, max_model_keys);
  std::vector<std::uint32_t> seen;
  for (std::size_t i = 0; i < std::min(keys->size(), max_model_keys); ++i) {
    const std::string pointer = braid::json_pointer(parent, i);
    const json& item = (*keys)[i];
    const std::uint32_t key = item.is_string() ? with.key(item.get_ref<const std::string&>(), pointer) : 0;
    if (!item.is_string())
      with.problems.add(problem("wrong_type", pointer, "a key is named by a string, not " + described(item)));
    if (key != 0 && !is_new(key, seen))
      with.problems.add(problem("duplicate_value", pointer, "this key is listed twice"));
    out.push_back(key);
  }
  return out;
}

/// The items of a list, all of one type.
template <typename T>
auto read_list(object_reader& in, std::string_view field, value_type type, const reading& with) -> std::vector<T> {
  std::vector<T> out;
  const json* list = in.array(field, presence::required);
  if (list == nullptr) return out;
  out.reserve(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) {
    const auto value = scalar_from_json((*list)[i], type);
    if (!value)
      with.problems.add(problem(value.error().code, braid::json_pointer(in.pointer_of(field), i),
                                "the item " + value.error().message));
    out.push_back(value ? std::get<T>(*value) : T{});
  }
  return out;
}

/// A tree as its file has it: one item of each list for each node, the root first.
struct tree_lists {
  std::string pointer;
  std::vector<std::int64_t> feature;
  std::vector<double> threshold;
  std::vector<std::int64_t> left;
  std::vector<std::int64_t> right;
  std::vector<bool> null_left;
  std::vector<double> value;

  [[nodiscard]] auto size() const noexcept -> std::size_t { return feature.size(); }
  [[nodiscard]] auto is_leaf(std::size_t node) const -> bool { return feature[node] == no_feature; }
  [[nodiscard]] auto place(std::string_view list, std::size_t node) const -> std::string {
    return braid::json_pointer(braid::json_pointer(pointer, list), node);
  }
};

auto read_lists(const json& item, std::string pointer, const reading& with) -> tree_lists {
  object_reader in(item, pointer, with.problems);
  tree_lists out{.pointer = std::move(pointer),
                 .feature = read_list<std::int64_t>(in, "feature", value_type::integer, with),
                 .threshold = read_list<double>(in, "threshold", value_type::floating, with),
                 .left = read_list<std::int64_t>(in, "left", value_type::integer, with),
                 .right = read_list<std::int64_t>(in, "right", value_type::integer, with),
                 .null_left = read_list<bool>(in, "null_left", value_type::boolean, with),
                 .value = read_list<double>(in, "value", value_type::floating, with)};
  in.refuse_unknown_fields();
  if (out.size() == 0 && in.array("feature", presence::optional) != nullptr)
    in.report("feature", "too_few_items", "a tree has at least one node");
  const auto same = [&](std::string_view field, std::size_t length) {
    if (length != out.size() && in.array(field, presence::optional) != nullptr)
      in.report(field, "wrong_length",
                quote_name(field) + " has " + std::to_string(length) + " items, and `feature` has " +
                    std::to_string(out.size()));
  };
  same("threshold", out.threshold.size());
  same("left", out.left.size());
  same("right", out.right.size());
  same("null_left", out.null_left.size());
  same("value", out.value.size());
  return out;
}

/// Walks down a tree from its root, and says where it is none. Requires lists of one length.
class tree_walk {
 public:
  tree_walk(const tree_lists& of, std::size_t keys, braid::diagnostics& problems)
      : of_(of), keys_(keys), problems_(problems), parents_(of.size(), unseen) {}

  /// The nodes by level, each pair of children side by side: the root, its children, theirs.
  auto order() -> std::vector<std::size_t> {
    std::vector<std::size_t> found{0};
    parents_[0] = root;
    std::size_t end_of_level = 1;
    for (std::size_t at = 0; at < found.size(); ++at) {
      if (at == end_of_level) {
        end_of_level = found.size();
        if (++levels_ > max_tree_levels) {
          report("tree_too_deep", "feature", found[at],
                 "the tree has more than " + std::to_string(max_tree_levels) + " levels");
          return found;
        }
      }
      if (is_split(found[at])) add_children(found[at], found);
    }
    const auto missed = std::ranges::find(parents_, unseen);
    if (is_right_ && missed != parents_.end())
      report("unreached_node", "feature", static_cast<std::size_t>(missed - parents_.begin()),
             "no path from the root, the first node, leads to this one");
    return found;
  }

  [[nodiscard]] auto levels() const noexcept -> std::uint32_t { return levels_; }

 private:
  static constexpr std::size_t unseen = ~std::size_t{0};
  static constexpr std::size_t root = unseen - 1;

  void report(std::string_view code, std::string_view list, std::size_t node, std::string message) {
    problems_.add(problem(code, of_.place(list, node), std::move(message)));
    is_right_ = false;
  }

  /// False for a leaf, and after a diagnostic.
  auto is_split(std::size_t node) -> bool {
    if (of_.is_leaf(node)) return false;
    const std::int64_t feature = of_.feature[node];
    if (feature >= 0 && static_cast<std::size_t>(feature) < keys_) return true;
    report("out_of_range", "feature", node,
           "a feature is a position in `keys`, or -1 for a leaf, not " + std::to_string(feature));
    return false;
  }

  void add_children(std::size_t node, std::vector<std::size_t>& found) {
    add_child(node, "left", of_.left[node], found);
    add_child(node, "right", of_.right[node], found);
  }

  void add_child(std::size_t node, std::string_view list, std::int64_t child, std::vector<std::size_t>& found) {
    if (child < 0 || static_cast<std::size_t>(child) >= of_.size())
      return report("out_of_range", list, node, "the tree has no node " + std::to_string(child));
    const auto place = static_cast<std::size_t>(child);
    if (parents_[place] == unseen) {
      parents_[place] = node;
      found.push_back(place);
    } else if (is_above(place, node)) {
      report("cycle", list, node, "node " + std::to_string(child) + " is an ancestor of this one");
    } else {
      report("shared_node", list, node, "node " + std::to_string(child) + " is the child of another one already");
    }
  }

  [[nodiscard]] auto is_above(std::size_t upper, std::size_t node) const -> bool {
    for (; node != root; node = parents_[node])
      if (node == upper) return true;
    return false;
  }

  const tree_lists& of_;
  std::size_t keys_;
  braid::diagnostics& problems_;
  std::vector<std::size_t> parents_;
  std::uint32_t levels_ = 0;
  bool is_right_ = true;
};

/// What is the same for all trees of a file.
struct forest_rules {
  std::size_t keys;
  std::size_t split;  ///< a position in `splits`
};

/// Appends a tree whose nodes come in that order.
void append_tree(const tree_lists& from, std::span<const std::size_t> order, std::uint32_t levels,
                 const forest_rules& rules, tree_model& out) {
  const auto base = static_cast<std::uint32_t>(out.nodes.size());
  out.trees.push_back({.root = base, .levels = levels});
  std::uint32_t next_child = base + 1;
  for (std::size_t at = 0; at < order.size(); ++at) {
    const std::size_t node = order[at];
    const bool leaf = from.is_leaf(node);
    out.values.push_back(leaf ? from.value[node] : 0);
    if (leaf) {
      const auto self = static_cast<std::uint32_t>(base + at);
      out.nodes.push_back({.threshold = std::numeric_limits<double>::infinity(), .feature = 0, .left = self});
      continue;
    }
    // At most the threshold is less than the number behind it.
    const double threshold = from.threshold[node];
    const double min_right =
        rules.split == 0 ? threshold : std::nextafter(threshold, std::numeric_limits<double>::infinity());
    out.nodes.push_back({.threshold = min_right,
                         .feature = static_cast<std::uint32_t>(from.feature[node]),
                         .left = next_child,
                         .null_right = from.null_left[node] ? 0U : 1U});
    next_child += 2;
  }
}

void read_tree(const json& item, std::string pointer, const forest_rules& rules, const reading& with, tree_model& out) {
  braid::diagnostics problems;
  const tree_lists lists = read_lists(item, std::move(pointer), {with.declared, problems});
  if (problems.empty()) {
    tree_walk walk(lists, rules.keys, problems);
    const std::vector<std::size_t> order = walk.order();
    if (problems.empty()) append_tree(lists, order, walk.levels(), rules, out);
  }
  with.problems.append(std::move(problems));
}

auto read_forest(object_reader& in, const reading& with) -> tree_model {
  tree_model out;
  out.key_ids = read_keys(in, with);
  const auto split = in.choice("split", presence::required, splits);
  const json* trees = in.array("trees", presence::required);
  if (trees == nullptr) return out;
  const std::string pointer = in.pointer_of("trees");
  with.bound(*trees, pointer, max_trees);
  const forest_rules rules{.keys = out.key_ids.size(), .split = split.value_or(0)};
  for (std::size_t i = 0; i < std::min(trees->size(), max_trees); ++i) {
    read_tree((*trees)[i], braid::json_pointer(pointer, i), rules, with, out);
    if (out.nodes.size() <= max_model_nodes) continue;
    with.problems.add(problem("too_many_items", braid::json_pointer(pointer, i),
                              "the trees up to this one have " + std::to_string(out.nodes.size()) +
                                  " nodes; the limit is " + std::to_string(max_model_nodes)));
    break;
  }
  return out;
}

}  // namespace

auto parse_model(std::string_view text, std::string_view source_name, const registries& declared)
    -> braid::checked<std::shared_ptr<const model>> {
  const auto document = parse_json(text, source_name);
  if (!document) return std::unexpected(document.error());
  braid::diagnostics problems;
  object_reader in(*document, "", problems);
  const reading with{declared, problems};
  const auto version = in.integer("schema_version", presence::required);
  if (version && *version != 1) in.report("schema_version", "unsupported_schema", "`schema_version` must be 1");
  const auto kind = in.choice("kind", presence::required, kinds);
  double intercept = 0;
  if (const auto given = in.typed("intercept", presence::optional, value_type::floating))
    intercept = std::get<double>(*given);
  const bool squeezed = in.boolean("sigmoid", presence::optional).value_or(false);
  in.text("doc", presence::optional);
  model::parts made;
  if (kind == 0U) made = read_linear(in, with);
  if (kind == 1U) made = read_forest(in, with);
  if (kind) in.refuse_unknown_fields();
  if (problems.empty())
    return std::make_shared<const model>(std::move(made), intercept,
                                         squeezed ? score_link::sigmoid : score_link::identity);
  problems.set_source(source_name);
  return std::unexpected(std::move(problems));
}

}  // namespace rankd::detail
