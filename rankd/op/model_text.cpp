// rankd/op/model_text.cpp: parses the text of a model file. Returns the model or diagnostics for all its errors.
#include <rankd/op/detail/drawn_tree.hpp>
#include <rankd/op/detail/model_lists.hpp>
#include <rankd/op/detail/model_reading.hpp>
#include <rankd/plan/json.hpp>
#include <rankd/registry/file.hpp>
#include <rankd/registry/names.hpp>
#include <rankd/registry/object_reader.hpp>
#include <rankd/registry/counted.hpp>

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

constexpr std::array<std::string_view, 2> kinds{"linear", "trees"};
constexpr std::array<std::string_view, 2> splits{"<", "<="};

// The functions below read linear models.

void read_weight(const json& item, const std::string& pointer, const model_reading& reading,
                 std::vector<std::uint32_t>& seen, linear_model& out) {
  object_reader in(item, pointer, reading.problems);
  model_weight made;
  if (const std::string* name = in.text("key", presence::required)) {
    made.key_id = reading.key(*name, in.pointer_of("key"));
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

auto read_linear(object_reader& reader, const model_reading& reading) -> linear_model {
  linear_model out;
  const json* weights = reader.array("weights", presence::required);
  if (weights == nullptr) return out;
  const std::string pointer = reader.pointer_of("weights");
  reading.bound(weights->size(), pointer, max_model_keys);
  std::vector<std::uint32_t> seen;
  for (std::size_t i = 0; i < std::min(weights->size(), max_model_keys); ++i)
    read_weight((*weights)[i], braid::json_pointer(pointer, i), reading, seen, out);
  return out;
}

// The functions below read tree models in rankd's own format.

auto read_keys(object_reader& reader, const model_reading& reading) -> std::vector<std::uint32_t> {
  std::vector<std::uint32_t> out;
  const json* keys = reader.array("keys", presence::required);
  if (keys == nullptr) return out;
  const std::string parent = reader.pointer_of("keys");
  reading.bound(keys->size(), parent, max_model_keys);
  std::vector<std::uint32_t> seen;
  for (std::size_t i = 0; i < std::min(keys->size(), max_model_keys); ++i) {
    const std::string pointer = braid::json_pointer(parent, i);
    const json& item = (*keys)[i];
    const std::uint32_t key = item.is_string() ? reading.key(item.get_ref<const std::string&>(), pointer) : 0;
    if (!item.is_string())
      reading.problems.add(problem_at("wrong_type", pointer, "a key name must be a string, not " + described(item)));
    if (key != 0 && !is_new(key, seen))
      reading.problems.add(problem_at("duplicate_value", pointer, "this key is listed twice"));
    out.push_back(key);
  }
  return out;
}

/// A tree in rankd's own format. Each list has one item for each node, beginning with the root.
struct tree_lists {
  std::string pointer;
  std::vector<std::int64_t> feature;
  std::vector<double> threshold;
  std::vector<std::int64_t> left;
  std::vector<std::int64_t> right;
  std::vector<bool> null_left;
  std::vector<double> value;

  [[nodiscard]] auto size() const noexcept -> std::size_t { return feature.size(); }
};

auto read_lists(const json& item, std::string pointer, const model_reading& reading) -> tree_lists {
  object_reader in(item, pointer, reading.problems);
  tree_lists out{.pointer = std::move(pointer),
                 .feature = read_list<std::int64_t>(in, "feature", value_type::integer, reading),
                 .threshold = read_thresholds(in, "threshold", reading),
                 .left = read_list<std::int64_t>(in, "left", value_type::integer, reading),
                 .right = read_list<std::int64_t>(in, "right", value_type::integer, reading),
                 .null_left = read_list<bool>(in, "null_left", value_type::boolean, reading),
                 .value = read_list<double>(in, "value", value_type::floating, reading)};
  in.refuse_unknown_fields();
  for (std::size_t at = 0; at < std::min(out.size(), out.threshold.size()); ++at)
    if (std::isnan(out.threshold[at]) && out.feature[at] != drawn_node::no_feature)
      reading.report("non_finite_number", braid::json_pointer(in.pointer_of("threshold"), at),
                     "the threshold of a split is NaN; it must be a number, Infinity or -Infinity");
  if (out.size() == 0 && in.array("feature", presence::optional) != nullptr)
    in.report("feature", "too_few_items", "a tree must have at least one node");
  const auto same = [&](std::string_view field, std::size_t length) {
    if (length != out.size() && in.array(field, presence::optional) != nullptr)
      in.report(
          field, "wrong_length",
          quote_name(field) + " has " + counted(length, "item") + ", but `feature` has " + std::to_string(out.size()));
  };
  same("threshold", out.threshold.size());
  same("left", out.left.size());
  same("right", out.right.size());
  same("null_left", out.null_left.size());
  same("value", out.value.size());
  return out;
}

/// Builds nodes from lists of equal length. If splits compare with "at most", the threshold becomes the next larger
/// number.
auto drawn(tree_lists from, bool splits_at_most) -> drawn_tree {
  drawn_tree out{.pointer = std::move(from.pointer), .lists = {}, .nodes = {}};
  for (std::size_t at = 0; at < from.size(); ++at) {
    const double threshold = from.threshold[at];
    out.nodes.push_back(
        {.feature = from.feature[at],
         .left = from.left[at],
         .right = from.right[at],
         .threshold = splits_at_most ? std::nextafter(threshold, std::numeric_limits<double>::infinity()) : threshold,
         .value = from.value[at],
         .null_left = from.null_left[at]});
  }
  return out;
}

auto read_forest(object_reader& reader, const model_reading& reading) -> tree_model {
  tree_model out;
  out.key_ids = read_keys(reader, reading);
  const auto split = reader.choice("split", presence::required, splits);
  const json* trees = reader.array("trees", presence::required);
  if (trees == nullptr) return out;
  const std::string pointer = reader.pointer_of("trees");
  reading.bound(trees->size(), pointer, max_trees);
  for (std::size_t i = 0; i < std::min(trees->size(), max_trees); ++i) {
    braid::diagnostics problems;
    const std::string place = braid::json_pointer(pointer, i);
    tree_lists lists = read_lists((*trees)[i], place, {reading.declared, problems});
    if (problems.empty())
      add_tree(drawn(std::move(lists), split == 1U), 0, {.features = out.key_ids.size()}, out, problems);
    reading.problems.append(std::move(problems));
    if (has_too_many_nodes(out, place, reading.problems)) break;
  }
  return out;
}

/// Reads a model in rankd's own format.
auto read_own(const json& document, const model_reading& reading) -> std::shared_ptr<const model> {
  object_reader in(document, "", reading.problems);
  const auto version = in.integer("schema_version", presence::required);
  if (version && *version != 1) in.report("schema_version", "unsupported_schema", "`schema_version` must be 1");
  const auto kind = in.choice("kind", presence::required, kinds);
  double intercept = 0;
  if (const auto given = in.typed("intercept", presence::optional, value_type::floating))
    intercept = std::get<double>(*given);
  const bool squeezed = in.boolean("sigmoid", presence::optional).value_or(false);
  in.text("doc", presence::optional);
  model::parts made;
  if (kind == 0U) made = read_linear(in, reading);
  if (kind == 1U) made = read_forest(in, reading);
  if (kind) in.refuse_unknown_fields();
  return std::make_shared<const model>(std::move(made), std::vector{intercept},
                                       score_rule{.link = squeezed ? score_link::sigmoid : score_link::identity});
}

auto read_any(std::string_view file, std::string_view source_name, const model_reading& reading)
    -> std::shared_ptr<const model> {
  const std::string_view text = without_mark(file);
  // The first byte of an ONNX file is the tag of field 1, which contains the version. No text file begins with this
  // byte.
  if (source_name.ends_with(".onnx") || text.starts_with('\x08')) return read_onnx(text, reading);
  if (is_lightgbm_text(text)) return read_lightgbm_text(text, reading);
  constexpr foreign_json limits{.max_bytes = max_model_bytes, .max_memory = max_model_document};
  const auto document =
      is_ubjson(text) ? parse_ubjson(text, source_name, limits) : parse_foreign_json(text, source_name, limits);
  if (!document) {
    reading.problems.append(document.error());
    return nullptr;
  }
  if (document->is_object() && document->contains("tree_info")) return read_lightgbm_dump(*document, reading);
  if (document->is_object() && document->contains("learner")) return read_xgboost(*document, reading);
  return read_own(*document, reading);
}

}  // namespace

auto parse_model(std::string_view text, std::string_view source_name, const registries& declared)
    -> braid::checked<std::shared_ptr<const model>> {
  braid::diagnostics problems;
  auto made = read_any(text, source_name, {declared, problems});
  if (problems.empty()) return made;
  problems.set_source(source_name);
  return std::unexpected(std::move(problems));
}

}  // namespace rankd::detail
