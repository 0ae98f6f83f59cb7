// rankd/op/lightgbm_text.cpp: reads the text format of LightGBM models, which consists of sections of lines
// `name=items`.
#include <rankd/op/detail/lightgbm.hpp>

#include <rankd/plan/json.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/counted.hpp>

#include <braid/base/detail/number_in.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace rankd::detail {
namespace {

constexpr std::string_view first_line = "tree";
constexpr std::string_view end_of_trees = "end of trees";
constexpr std::string_view old_end_of_trees = "feature importances:";  // versions before 2.2 write no other

struct text_field {
  std::string_view value;
  std::size_t line;
};

/// The lines of one section of the file: the header, or one tree.
struct text_section {
  std::string pointer;  ///< empty for the header
  std::size_t line = 0;
  std::map<std::string_view, text_field> fields = {};
};

/// Splits a text into lines, and removes the line ends.
struct line_cursor {
  std::string_view rest;
  std::size_t line = 0;

  auto next() -> std::optional<std::string_view> {
    if (rest.empty()) return std::nullopt;
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view found = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (found.ends_with('\r')) found.remove_suffix(1);
    ++line;
    return found;
  }
};

/// Splits a list at spaces.
auto list_items(std::string_view list) -> std::vector<std::string_view> {
  std::vector<std::string_view> out;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    if (end != 0) out.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return out;
}

/// Parses the whole text as a number. Returns nothing if the text is not a number or is NaN. Infinity is accepted,
/// because a threshold may be infinite.
template <typename T>
auto parse_number(std::string_view text) -> std::optional<T> {
  const auto out = braid::detail::number_in<T>(text);
  if constexpr (std::is_floating_point_v<T>)
    if (out && std::isnan(*out)) return std::nullopt;
  return out;
}

auto at_line(std::size_t line) -> std::string { return " (line " + std::to_string(line) + ")"; }

/// Reads the fields of one section. Diagnostics contain the line number.
struct section_reader {
  const text_section& from;
  const model_reading& with;

  [[nodiscard]] auto place(std::string_view name) const -> std::string {
    return braid::json_pointer(from.pointer, name);
  }

  [[nodiscard]] auto has(std::string_view name) const -> bool { return from.fields.contains(name); }

  /// Returns a field of the section, or null after reporting missing_field.
  [[nodiscard]] auto field(std::string_view name) const -> const text_field* {
    const auto found = from.fields.find(name);
    if (found != from.fields.end()) return &found->second;
    with.report("missing_field", from.pointer, "there is no line `" + std::string(name) + "=`" + at_line(from.line));
    return nullptr;
  }

  /// Returns the integer in a field. If there is no valid integer, reports a diagnostic and returns `least`.
  [[nodiscard]] auto integer(std::string_view name, std::int64_t least, std::int64_t most) const -> std::int64_t {
    const text_field* found = field(name);
    if (found == nullptr) return least;
    const auto value = parse_number<std::int64_t>(found->value);
    if (value && *value >= least && *value <= most) return *value;
    with.report("out_of_range", place(name),
                quote_name(name) + " must be an integer from " + std::to_string(least) + " to " + std::to_string(most) +
                    at_line(found->line));
    return least;
  }

  /// Returns the list of `count` numbers in a field. If the field has another number of items, reports a diagnostic and
  /// returns an empty list.
  template <typename T>
  [[nodiscard]] auto list(std::string_view name, std::size_t count) const -> std::vector<T> {
    std::vector<T> out;
    const text_field* found = field(name);
    if (found == nullptr) return out;
    const auto items = list_items(found->value);
    if (items.size() != count) {
      with.report("wrong_length", place(name),
                  quote_name(name) + " has " + counted(items.size(), "item") + "; it must have " +
                      std::to_string(count) + at_line(found->line));
      return out;
    }
    for (std::size_t at = 0; at < items.size(); ++at) {
      const auto value = parse_number<T>(items[at]);
      if (!value)
        with.report("wrong_type", braid::json_pointer(place(name), at),
                    quote_name(items[at]) + " is not " + (std::is_integral_v<T> ? "an integer" : "a number") +
                        at_line(found->line));
      out.push_back(value.value_or(T{}));
    }
    return out;
  }
};

/// A file, divided into its sections.
struct cut_text {
  text_section header;
  std::vector<text_section> trees;
  bool is_whole = false;               ///< the end of the trees is there
  bool has_old_end = false;            ///< the end is in the form of versions before 2.2
  std::string_view pandas_categories;  ///< JSON; empty if there is no such line
};

void add_field(std::string_view text, std::size_t line, text_section& to, const model_reading& reading) {
  if (text.empty()) return;
  const std::size_t equals = std::min(text.find('='), text.size());
  const std::string_view name = text.substr(0, equals);
  const bool is_new = to.fields.emplace(name, text_field{text.substr(std::min(equals + 1, text.size())), line}).second;
  if (!is_new) reading.report("duplicate_field", to.pointer, "there are two lines " + quote_name(name) + at_line(line));
}

auto cut(std::string_view text, const model_reading& reading) -> cut_text {
  constexpr std::string_view title = "Tree=";
  constexpr std::string_view categories = "pandas_categorical:";
  cut_text out;
  line_cursor lines{text};
  static_cast<void>(lines.next());
  out.header.line = 1;
  while (const auto line = lines.next()) {
    if (out.is_whole) {
      if (line->starts_with(categories)) out.pandas_categories = line->substr(categories.size());
    } else if (*line == end_of_trees || *line == old_end_of_trees) {
      out.is_whole = true;
      out.has_old_end = *line == old_end_of_trees;
    } else if (line->starts_with(title)) {
      if (out.trees.size() == max_trees) {
        reading.report("too_many_items", "/trees", "the limit is " + std::to_string(max_trees) + " trees");
        return out;
      }
      const std::string number = std::to_string(out.trees.size());
      out.trees.push_back({.pointer = "/trees/" + number, .line = lines.line});
      if (line->substr(title.size()) != number)
        reading.report("bad_value", out.trees.back().pointer,
                       "this is tree " + number + ", but the line is " + quote_name(*line) + at_line(lines.line));
    } else {
      add_field(*line, lines.line, out.trees.empty() ? out.header : out.trees.back(), reading);
    }
  }
  if (!out.is_whole)
    reading.report("truncated", "/trees",
                   "the file ends after " + counted(out.trees.size(), "tree") + " without `end of trees`",
                   "copy or save the model again");
  return out;
}

auto read_header(const cut_text& file, const model_reading& reading) -> lightgbm_header {
  const section_reader in{file.header, reading};
  lightgbm_header out;
  // A file with the old end line may lack a version. LightGBM 2.0.5 and later releases of 2.0 wrote no version, but
  // already used today's splits.
  const text_field* version = in.has("version") || !file.has_old_end ? in.field("version") : nullptr;
  if (version != nullptr && version->value != "v2" && version->value != "v3" && version->value != "v4")
    reading.report("unsupported_schema", "/version",
                   "the version must be v2, v3 or v4, not " + quote_name(version->value) + at_line(version->line));
  out.outputs = static_cast<std::size_t>(in.integer("num_tree_per_iteration", 1, max_outputs));
  const auto features = static_cast<std::size_t>(in.integer("max_feature_idx", 0, max_model_keys - 1)) + 1;
  if (in.has("objective")) out.objective = in.field("objective")->value;
  out.averages = in.has("average_output");
  if (file.has_old_end)
    out.leaves_are_scores = true;
  else if (version != nullptr && version->value == "v2")
    out.leaves_are_scores = std::nullopt;
  if (const text_field* names = in.field("feature_names")) {
    for (const std::string_view each : list_items(names->value)) out.features.emplace_back(each);
    if (out.features.size() != features)
      reading.report("wrong_length", "/feature_names",
                     "the list has " + counted(out.features.size(), "name") +
                         ", but by `max_feature_idx` the model has " + counted(features, "feature") +
                         at_line(names->line));
  }
  if (in.has("tree_sizes") && file.is_whole) {
    const std::size_t promised = list_items(in.field("tree_sizes")->value).size();
    if (promised != file.trees.size())
      reading.report("wrong_length", "/tree_sizes",
                     "the header declares " + counted(promised, "tree") + ", but the file has " +
                         std::to_string(file.trees.size()) + at_line(in.field("tree_sizes")->line));
  }
  return out;
}

/// The category sets of one tree: the bits of all sets as words, and the index of the first word of each set.
struct category_sets {
  std::vector<std::int64_t> bounds;
  std::vector<std::uint32_t> words;

  [[nodiscard]] auto count() const noexcept -> std::size_t { return bounds.empty() ? 0 : bounds.size() - 1; }
};

auto read_sets(const section_reader& section) -> category_sets {
  category_sets out;
  const auto count =
      section.has("num_cat") ? static_cast<std::size_t>(section.integer("num_cat", 0, max_model_nodes)) : 0;
  if (count == 0 || !section.with.problems.empty()) return out;
  out.bounds = section.list<std::int64_t>("cat_boundaries", count + 1);
  for (std::size_t at = 0; at < out.bounds.size(); ++at)
    if (at == 0 ? out.bounds[at] != 0 : out.bounds[at] < out.bounds[at - 1])
      section.with.report("out_of_range", braid::json_pointer(section.place("cat_boundaries"), at),
                          "the boundaries must begin with 0 and must not decrease");
  if (!section.with.problems.empty()) return out;
  out.words = section.list<std::uint32_t>("cat_threshold", static_cast<std::size_t>(out.bounds.back()));
  return out;
}

/// The lists that describe the splits of one tree.
struct split_lists {
  std::vector<std::int64_t> feature, decision, left, right;
  std::vector<double> threshold;
};

/// Converts a child's number in the file to an index into the nodes. The file contains ~number for a leaf. Returns -1
/// after reporting out_of_range.
auto read_child(std::int64_t child, std::string_view list, std::size_t node, const drawn_tree& out,
                const model_reading& reading) -> std::int64_t {
  const auto splits = static_cast<std::int64_t>(out.lists.first_leaf);
  if (child >= 0 && child < splits) return child;
  if (child < 0 && ~child <= splits) return splits + ~child;
  reading.report(
      "out_of_range", out.place(list, node),
      child < 0 ? "the tree has no leaf " + std::to_string(~child) : "the tree has no node " + std::to_string(child));
  return -1;
}

void set_categories(const category_sets& sets, double threshold, std::size_t node, drawn_tree& out,
                    const model_reading& reading) {
  if (!(threshold >= 0 && threshold < static_cast<double>(sets.count())))
    return reading.report(
        "out_of_range", out.place("threshold", node),
        "the tree has no category set with this number; the number of sets is " + std::to_string(sets.count()));
  const auto set = static_cast<std::size_t>(threshold);
  split_by_category({sets.words.begin() + sets.bounds[set], sets.words.begin() + sets.bounds[set + 1]},
                    out.nodes[node]);
}

void set_split(const split_lists& from, const category_sets& sets, std::size_t node, drawn_tree& out,
               const model_reading& reading) {
  constexpr std::int64_t is_categorical = 1;
  constexpr std::int64_t is_default_left = 2;
  drawn_node& made = out.nodes[node];
  made.feature = from.feature[node];
  if (made.feature < 0)
    reading.report("out_of_range", out.place("split_feature", node), "a feature number must not be negative");
  made.left = read_child(from.left[node], "left_child", node, out, reading);
  made.right = read_child(from.right[node], "right_child", node, out, reading);
  const std::int64_t decision = from.decision[node];
  const std::int64_t missing = decision >> 2;
  if (decision < 0 || missing > 2)
    return reading.report("bad_value", out.place("decision_type", node),
                          "unknown decision type " + std::to_string(decision));
  if ((decision & is_categorical) != 0) return set_categories(sets, from.threshold[node], node, out, reading);
  split_by_number({.threshold = from.threshold[node],
                   .missing = static_cast<lightgbm_missing>(missing),
                   .default_left = (decision & is_default_left) != 0},
                  made);
}

auto read_tree(const text_section& from, const model_reading& reading) -> drawn_tree {
  const section_reader in{from, reading};
  if (in.has("default_value"))
    reading.report("unsupported_schema", in.place("default_value"),
                   "this tree was saved by a version of LightGBM before 2.0.5, whose splits are not supported" +
                       at_line(in.field("default_value")->line),
                   "load the model into LightGBM 2.0.5 or later and save it again");
  const auto leaves = static_cast<std::size_t>(in.integer("num_leaves", 1, max_model_nodes));
  drawn_tree out{.pointer = from.pointer,
                 .lists = {.feature = "split_feature",
                           .left = "left_child",
                           .right = "right_child",
                           .leaf = "leaf_value",
                           .first_leaf = leaves - 1},
                 .nodes = {}};
  if (in.has("is_linear") && in.field("is_linear")->value != "0")
    reading.report(
        "linear_leaves", in.place("is_linear"),
        "the leaves of this tree are linear models, which are not supported" + at_line(in.field("is_linear")->line),
        "train without `linear_tree`");
  const auto values = in.list<double>("leaf_value", leaves);
  for (std::size_t leaf = 0; leaf < values.size(); ++leaf)
    if (!std::isfinite(values[leaf]))
      reading.report("non_finite_number", braid::json_pointer(in.place("leaf_value"), leaf),
                     "the value of a leaf must be finite");
  if (!reading.problems.empty()) return out;
  const std::size_t splits = leaves - 1;
  split_lists lists;
  if (splits != 0)
    lists = {.feature = in.list<std::int64_t>("split_feature", splits),
             .decision = in.list<std::int64_t>("decision_type", splits),
             .left = in.list<std::int64_t>("left_child", splits),
             .right = in.list<std::int64_t>("right_child", splits),
             .threshold = in.list<double>("threshold", splits)};
  const category_sets sets = read_sets(in);
  if (!reading.problems.empty()) return out;
  out.nodes.resize(splits + leaves);
  for (std::size_t node = 0; node < splits; ++node) set_split(lists, sets, node, out, reading);
  for (std::size_t leaf = 0; leaf < leaves; ++leaf) out.nodes[splits + leaf].value = values[leaf];
  return out;
}

}  // namespace

auto is_lightgbm_text(std::string_view text) noexcept -> bool {
  return text.starts_with(first_line) &&
         (text.size() == first_line.size() || text[first_line.size()] == '\n' || text[first_line.size()] == '\r');
}

auto read_lightgbm_text(std::string_view text, const model_reading& reading) -> std::shared_ptr<const model> {
  if (!is_utf8(text)) {
    reading.report("invalid_utf8", "", "the text is not UTF-8", "copy or save the model again");
    return nullptr;
  }
  const cut_text file = cut(text, reading);
  lightgbm_header header = read_header(file, reading);
  reading.bound(file.trees.size(), "/trees", max_trees);
  tree_model trees;
  for (std::size_t at = 0; at < file.trees.size(); ++at) {
    braid::diagnostics problems;
    const drawn_tree drawn = read_tree(file.trees[at], {reading.declared, problems});
    if (problems.empty())
      add_tree(drawn, static_cast<std::uint32_t>(at % header.outputs),
               {.features = header.features.size(), .max_levels = max_trained_levels}, trees, problems);
    reading.problems.append(std::move(problems));
    if (has_too_many_nodes(trees, drawn.pointer, reading.problems)) return nullptr;
  }
  if (!file.pandas_categories.empty()) {
    const auto categories = parse_json(file.pandas_categories, "");
    header.recodes = !categories || recodes_categories(*categories);
  }
  return finished_lightgbm(std::move(header), file.trees.size(), std::move(trees), reading);
}

}  // namespace rankd::detail
