// rankd/op/columns.cpp: walks through a plan with a set of keys for each node.
#include <rankd/op/columns.hpp>

#include <rankd/op/catalog.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rankd {
namespace {

/// Operators that add columns and write over none, and the params that list them: the first that is given counts.
struct adding_op {
  std::string_view name;
  std::array<std::string_view, 2> params;
  std::string_view hint;
};
constexpr std::array adding_ops{
    adding_op{"core::join", {"map", "select"}, "`map` gives the values another key"},
    adding_op{"core::call_models", {"out_keys", "out_keys"}, "give the scores a key that nothing before has written"},
    adding_op{
        "core::extract_features", {"out_keys", "out_keys"}, "give the features keys that nothing before has written"},
    adding_op{"core::fetch_features", {"keys", "keys"}, "fetch a feature once, and before its key is written"},
};

auto find_adding(std::string_view op) -> const adding_op* {
  const auto at = std::ranges::find(adding_ops, op, &adding_op::name);
  return at == adding_ops.end() ? nullptr : &*at;
}

constexpr std::string_view media_name = "core::media";
constexpr std::string_view fixed_source_name = "test::fixed_source";
constexpr std::string_view country = "country";

class column_walk {
 public:
  column_walk(const plan& loaded, const registries& declared) : loaded_(&loaded), declared_(&declared) {
    columns_.resize(loaded.nodes.size());
    found_.resize(loaded.nodes.size());
    for (const node_index node : loaded.order) visit(node);
  }

  /// The keys that the rows of a node may have.
  [[nodiscard]] auto keys_of(node_index node) const -> std::vector<std::uint32_t> {
    std::vector<std::uint32_t> out;
    for (std::size_t place = 0; place < columns_[node].size(); ++place)
      if (columns_[node][place]) out.push_back(declared_->keys()[place].key_id);
    return out;
  }

  [[nodiscard]] auto diagnostics() && -> braid::diagnostics {
    braid::diagnostics all;
    for (braid::diagnostics& each : found_) all.append(std::move(each));
    return all;
  }

 private:
  using key_set = std::vector<bool>;  // by position among the declared keys

  [[nodiscard]] auto place_of(std::uint32_t key_id) const -> std::size_t {
    return static_cast<std::size_t>(declared_->find_key(key_id) - declared_->keys().data());
  }

  void visit(node_index at) {
    const plan_node& node = loaded_->nodes[at];
    key_set& own = columns_[at];
    if (find_op(node.op)->change == row_change::dense_source) {
      own = source_columns(node);
      return;
    }
    own = columns_[node.sources.front()];
    if (const adding_op* adds = find_adding(node.op)) return add_columns(at, *adds, own);
    for (const node_index source : node.sources)
      std::transform(own.begin(), own.end(), columns_[source].begin(), own.begin(), std::logical_or{});
    for (const plan_param& param : node.params)
      if (param.name == "out_key") own[place_of(param.index())] = true;
  }

  /// What comes from the store, from the request, or from nowhere.
  [[nodiscard]] auto source_columns(const plan_node& node) const -> key_set {
    key_set out(declared_->keys().size(), false);
    out[place_of(registries::id_key)] = true;
    if (find_op(node.op)->reads == request_part::candidates) {
      if (const plan_param* keys = node.find_param("keys"))
        for (const std::uint32_t key : keys->key_ids) out[place_of(key)] = true;
    } else if (node.op != media_name && node.op != fixed_source_name)
      out[static_cast<std::size_t>(declared_->find_key(country) - declared_->keys().data())] = true;
    return out;
  }

  void add_columns(node_index at, const adding_op& adds, key_set& own) {
    const plan_node& node = loaded_->nodes[at];
    const plan_param* added = node.find_param(adds.params[0]);
    if (added == nullptr) added = node.find_param(adds.params[1]);
    if (added == nullptr) return;
    for (std::size_t i = 0; i < added->key_ids.size(); ++i) {
      const std::size_t place = place_of(added->key_ids[i]);
      if (own[place]) report(at, braid::json_pointer(added->pointer, i), declared_->keys()[place], adds);
      own[place] = true;
    }
  }

  void report(node_index at, std::string pointer, const key_entry& key, const adding_op& adds) {
    found_[at].add({.code = "column_exists",
                    .pointer = std::move(pointer),
                    .message = "the rows may have key " + std::to_string(key.key_id) + " (" + key.name +
                               ") already, and `" + std::string(adds.name) + "` writes over nothing",
                    .hint = std::string(adds.hint),
                    .node = loaded_->nodes[at].node_id,
                    .source = {}});
  }

  const plan* loaded_;
  const registries* declared_;
  std::vector<key_set> columns_;
  std::vector<braid::diagnostics> found_;  // per node: diagnostics come in the order of the artifact
};

void add_keys(const plan_param& param, std::vector<std::uint32_t>& keys) {
  if (param.kind == param_kind::key_id) keys.push_back(param.index());
  if (param.kind == param_kind::key_ids) keys.insert(keys.end(), param.key_ids.begin(), param.key_ids.end());
}

void add_keys(const syntax_tree& tree, std::vector<std::uint32_t>& keys) {
  for (const tree_node& node : tree.nodes) {
    if (const auto* const key = std::get_if<key_number>(&node.payload)) keys.push_back(key->key_id);
    if (const auto* const test = std::get_if<regex_test>(&node.payload)) keys.push_back(test->key_id);
  }
}

auto each_once(std::vector<std::uint32_t> keys) -> std::vector<std::uint32_t> {
  std::ranges::sort(keys);
  const auto repeated = std::ranges::unique(keys);
  keys.erase(repeated.begin(), repeated.end());
  return keys;
}

/// A `by` that is not given is `id`, for every operator that has one; rows that come from the store for other rows are
/// found by their `id`.
auto read_keys(const plan& loaded, const plan_node& node) -> std::vector<std::uint32_t> {
  std::vector<std::uint32_t> keys;
  const op_entry& op = *find_op(node.op);
  if (op.change == row_change::dense_source && op.shape.inputs != 0) keys.push_back(registries::id_key);
  for (const param_shape& shape : op.shape.params) {
    const plan_param* const param = node.find_param(shape.name);
    if (param == nullptr) {
      if (shape.kind == param_kind::key_id && shape.name == "by") keys.push_back(registries::id_key);
      continue;
    }
    if (shape.use == key_use::read) add_keys(*param, keys);
    if (shape.kind == param_kind::expr_id) add_keys(loaded.expr_table[param->index()].tree, keys);
    if (shape.kind == param_kind::pred_id) add_keys(loaded.pred_table[param->index()].tree, keys);
  }
  return each_once(std::move(keys));
}

auto written_keys(const plan_node& node) -> std::vector<std::uint32_t> {
  std::vector<std::uint32_t> keys;
  if (const adding_op* const adds = find_adding(node.op)) {
    const plan_param* param = node.find_param(adds->params[0]);
    if (param == nullptr) param = node.find_param(adds->params[1]);
    if (param != nullptr) add_keys(*param, keys);
    return each_once(std::move(keys));
  }
  for (const param_shape& shape : find_op(node.op)->shape.params)
    if (const plan_param* const param = node.find_param(shape.name); param != nullptr && shape.use == key_use::write)
      add_keys(*param, keys);
  return each_once(std::move(keys));
}

}  // namespace

auto columns_of(const plan& loaded, const registries& declared) -> std::vector<node_columns> {
  const column_walk walk(loaded, declared);
  std::vector<node_columns> all;
  for (node_index at = 0; at < loaded.nodes.size(); ++at) {
    const plan_node& node = loaded.nodes[at];
    node_columns columns{read_keys(loaded, node), written_keys(node), walk.keys_of(at)};
    if (find_op(node.op)->change == row_change::dense_source) columns.writes = columns.has;
    all.push_back(std::move(columns));
  }
  return all;
}

auto check_columns(const plan& loaded, const registries& declared) -> braid::diagnostics {
  const auto adds = [](const plan_node& node) { return find_adding(node.op) != nullptr; };
  if (std::ranges::none_of(loaded.nodes, adds)) return {};
  return column_walk(loaded, declared).diagnostics();
}

}  // namespace rankd
