// rankd/op/model_reading.cpp: looks up in the registries the keys that model files name.
#include <rankd/op/detail/model_reading.hpp>

#include <rankd/registry/names.hpp>

#include <algorithm>
#include <utility>

namespace rankd::detail {
namespace {

auto is_leaf(const tree_model& trees, std::size_t node) -> bool { return trees.nodes[node].left == node; }

/// Returns whether a feature name was generated or left empty because training data had no column names. LightGBM
/// writes `Column_` and a number, XGBoost writes nothing.
auto is_made_up(std::string_view name) -> bool {
  if (name.empty()) return true;
  constexpr std::string_view prefix = "Column_";
  return name.starts_with(prefix) && name.size() > prefix.size() &&
         std::ranges::all_of(name.substr(prefix.size()), [](char c) { return c >= '0' && c <= '9'; });
}

/// Returns whether all features that the model uses have generated or empty names.
auto are_unnamed(const trained_model& made, const std::vector<bool>& used, const registries& declared) -> bool {
  for (std::size_t at = 0; at < used.size(); ++at)
    if (used[at] && (!is_made_up(made.features[at]) || declared.find_key(made.features[at]) != nullptr)) return false;
  return true;
}

}  // namespace

auto model_reading::key(const std::string& name, const std::string& pointer) const -> std::uint32_t {
  const auto refuse = [&](std::string_view code, std::string message, std::string hint) {
    report(code, pointer, std::move(message), std::move(hint));
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
  if (found->type == value_type::string || found->type == value_type::vector)
    return refuse(
        "wrong_key_type",
        named + " is of type " + std::string(to_string(found->type)) + "; a model can use only int, float and bool",
        {});
  return found->key_id;
}

void model_reading::bound(std::size_t items, const std::string& pointer, std::size_t max_count) const {
  if (items == 0) report("too_few_items", pointer, "the list must not be empty");
  if (items > max_count)
    report("too_many_items", pointer,
           "the list has " + std::to_string(items) + " items; the limit is " + std::to_string(max_count));
}

auto is_new(std::uint32_t key, std::vector<std::uint32_t>& seen) -> bool {
  if (std::ranges::find(seen, key) != seen.end()) return false;
  seen.push_back(key);
  return true;
}

auto with_keys(trained_model made, const model_reading& reading) -> std::shared_ptr<const model> {
  if (!reading.problems.empty()) return nullptr;
  tree_model& trees = made.trees;
  std::vector<bool> used(made.features.size());
  for (std::size_t at = 0; at < trees.nodes.size(); ++at)
    if (!is_leaf(trees, at)) used[trees.nodes[at].feature] = true;
  if (std::ranges::find(used, true) != used.end() && are_unnamed(made, used, reading.declared)) {
    reading.report("unnamed_features", made.features_pointer, "the features of the model have no names",
                   made.naming_hint);
    return nullptr;
  }
  std::vector<std::uint32_t> positions(made.features.size());
  for (std::size_t at = 0; at < made.features.size(); ++at) {
    if (!used[at]) continue;
    const std::string place = braid::json_pointer(made.features_pointer, at);
    const std::uint32_t key = reading.key(made.features[at], place);
    positions[at] = static_cast<std::uint32_t>(trees.key_ids.size());
    if (key != 0 && !is_new(key, trees.key_ids)) reading.report("duplicate_value", place, "this key is listed twice");
  }
  for (std::size_t at = 0; at < trees.nodes.size(); ++at)
    if (!is_leaf(trees, at)) trees.nodes[at].feature = positions[trees.nodes[at].feature];
  if (!reading.problems.empty()) return nullptr;
  return std::make_shared<const model>(std::move(trees), std::move(made.intercepts), made.rule);
}

}  // namespace rankd::detail
