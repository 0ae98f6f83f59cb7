// rankd/op/columns.cpp: finds the columns that the rows of each node may have, by visiting the nodes in the order of
// the plan.
#include <rankd/op/columns.hpp>

#include <rankd/op/operator_list.hpp>
#include <rankd/plan/key_template.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rankd {
namespace {

/// Returns the option of a node whose value is a key template, or null if no option is a key template.
auto find_template(const plan_node& node) -> const plan_param* {
  const auto at = std::ranges::find(node.params, param_kind::key_template, &plan_param::kind);
  return at == node.params.end() ? nullptr : &*at;
}

/// Returns the keys whose columns fill the holes of a key template.
auto columns_in(const plan_param& param, const registries& declared) -> std::vector<const key_entry*> {
  std::vector<const key_entry*> out;
  const auto keys = key_template::parse(std::get<std::string>(param.value));  // named: g++ 12 ends temporaries early
  for (const template_hole& hole : keys->holes)
    if (hole.from == template_hole::source_kind::column) out.push_back(declared.find_key(hole.name));
  return out;
}

void add_keys(const plan_param& param, std::vector<std::uint32_t>& keys) {
  if (param.kind == param_kind::key_id) keys.push_back(param.index());
  if (param.kind == param_kind::key_ids) keys.insert(keys.end(), param.key_ids.begin(), param.key_ids.end());
}

auto each_once(std::vector<std::uint32_t> keys) -> std::vector<std::uint32_t> {
  std::ranges::sort(keys);
  const auto repeated = std::ranges::unique(keys);
  keys.erase(repeated.begin(), repeated.end());
  return keys;
}

/// Returns the option that lists the columns that a node adds and never overwrites. Returns null if the node adds no
/// column.
auto added_by(const plan_node& node) -> const plan_param* {
  const added_columns& adds = find_op(node.op)->adds;
  if (adds.option.empty()) return nullptr;
  const plan_param* const param = node.find_param(adds.option);
  return param != nullptr || adds.otherwise.empty() ? param : node.find_param(adds.otherwise);
}

/// Returns, in ascending order, the keys that a node writes according to its options.
auto written_keys(const plan_node& node) -> std::vector<std::uint32_t> {
  std::vector<std::uint32_t> keys;
  if (!find_op(node.op)->adds.option.empty()) {
    if (const plan_param* const param = added_by(node)) add_keys(*param, keys);
    return each_once(std::move(keys));
  }
  for (const param_shape& shape : find_op(node.op)->shape.params)
    if (const plan_param* const param = node.find_param(shape.name); param != nullptr && shape.use == key_use::write)
      add_keys(*param, keys);
  return each_once(std::move(keys));
}

class column_walk {
 public:
  column_walk(const plan& loaded, const registries& declared) : loaded_(&loaded), declared_(&declared) {
    columns_.resize(loaded.nodes.size());
    found_.resize(loaded.nodes.size());
    for (const node_index node : loaded.order) visit(node);
    for (node_index node = 0; node < loaded.nodes.size(); ++node)
      if (loaded.nodes[node].fallback) check_substitute(node, *loaded.nodes[node].fallback);
  }

  /// Returns the keys that the rows of a node may have.
  [[nodiscard]] auto list_keys(node_index node) const -> std::vector<std::uint32_t> {
    std::vector<std::uint32_t> out;
    const key_set given = given_by(node);
    for (std::size_t place = 0; place < given.size(); ++place)
      if (given[place]) out.push_back(declared_->keys()[place].key_id);
    return out;
  }

  [[nodiscard]] auto may_have(node_index node, std::uint32_t key) const -> bool {
    return loaded_->nodes[node].fallback ? given_by(node)[find_place(key)] : columns_[node][find_place(key)];
  }

  [[nodiscard]] auto diagnostics() && -> braid::diagnostics {
    braid::diagnostics all;
    for (braid::diagnostics& each : found_) all.append(std::move(each));
    return all;
  }

 private:
  using key_set = std::vector<bool>;  // by position among the declared keys

  [[nodiscard]] auto find_place(std::uint32_t key_id) const -> std::size_t {
    return static_cast<std::size_t>(declared_->find_key(key_id) - declared_->keys().data());
  }

  static void add(key_set& own, const key_set& others) {
    std::transform(own.begin(), own.end(), others.begin(), own.begin(), std::logical_or{});
  }

  /// Returns the keys that the rows of a node or the rows of its fallback may have.
  [[nodiscard]] auto given_by(node_index node) const -> key_set {
    key_set out = columns_[node];
    for (const plan_node* of = &loaded_->nodes[node]; of->fallback; of = &loaded_->nodes[of->fallback->node]) {
      if (of->fallback->kind == fallback_kind::input) add(out, given_by(of->sources.front()));
      if (of->fallback->kind != fallback_kind::node) break;
      add(out, columns_[of->fallback->node]);
    }
    return out;
  }

  /// Reports fallback_lacks_column if the rows of a node's fallback lack a column of the node. Columns that the option
  /// `nulls` lists may be absent.
  void check_substitute(node_index index, const node_fallback& fallback) {
    if (fallback.kind == fallback_kind::empty) return;
    const plan_node& node = loaded_->nodes[index];
    const bool is_input = fallback.kind == fallback_kind::input;
    const key_set given = given_by(is_input ? node.sources.front() : fallback.node);
    std::string lacking;
    for (std::size_t place = 0; place < given.size(); ++place) {
      const key_entry& key = declared_->keys()[place];
      if (!columns_[index][place] || given[place] ||
          std::ranges::find(fallback.nulls, key.key_id) != fallback.nulls.end())
        continue;
      lacking.append(lacking.empty() ? "" : ", ").append(std::to_string(key.key_id)).append(" (" + key.name + ")");
    }
    if (lacking.empty()) return;
    found_[index].add({.code = "fallback_lacks_column",
                       .pointer = braid::json_pointer(fallback.pointer, "use"),
                       .message = "the fallback does not provide these columns of the node: " + lacking,
                       .hint = "list these columns in `nulls`, which sets them to null",
                       .node = node.node_id,
                       .source = {}});
  }

  void visit(node_index index) {
    const plan_node& node = loaded_->nodes[index];
    key_set& own = columns_[index];
    if (const plan_param* const keys = find_template(node)) check_template(index, *keys);
    check_other_rows(index);
    if (find_op(node.op)->change == row_change::dense_source) {
      own = source_columns(node);
      return;
    }
    own = given_by(node.sources.front());
    if (!find_op(node.op)->adds.option.empty()) return add_columns(index, own);
    // If an operator returns only rows of its first input, the other inputs contribute only to the columns that the
    // operator writes.
    const bool gives_all = makes_rows(find_op(node.op)->change);
    for (const node_index source : gives_all ? node.sources : node.inputs) add(own, given_by(source));
    for (const std::uint32_t key : written_keys(node)) own[find_place(key)] = true;
  }

  /// Returns the columns that a source node reads from the store or from the request. Returns no columns for other
  /// nodes.
  [[nodiscard]] auto source_columns(const plan_node& node) const -> key_set {
    key_set out(declared_->keys().size(), false);
    out[find_place(registries::id_key)] = true;
    for (const param_shape& shape : find_op(node.op)->shape.params) {
      const plan_param* const param = node.find_param(shape.name);
      if (param == nullptr || shape.use != key_use::write) continue;
      if (param->kind == param_kind::key_id) out[find_place(param->index())] = true;
      for (const std::uint32_t key : param->key_ids) out[find_place(key)] = true;
    }
    if (const std::string_view extra = find_op(node.op)->extra_column; !extra.empty())
      out[static_cast<std::size_t>(declared_->find_key(extra) - declared_->keys().data())] = true;
    return out;
  }

  /// Reports an error if the rows cannot have the column of a hole in a key template, because the key would then be
  /// null for every row.
  void check_template(node_index index, const plan_param& keys) {
    const plan_node& node = loaded_->nodes[index];
    for (const key_entry* key : columns_in(keys, *declared_)) {
      if (!node.sources.empty() && given_by(node.sources.front())[find_place(key->key_id)]) continue;
      const std::string rows = node.sources.empty() ? "a node without an input has no columns"
                                                    : "the rows of `" + loaded_->nodes[node.sources.front()].node_id +
                                                          "` have no column `" + key->name + "`";
      found_[index].add({.code = "unknown_column",
                         .pointer = keys.pointer,
                         .message = "{" + key->name + "} has no value: " + rows,
                         .hint = "add the column in an earlier node, or read the value from a param: {P.NAME}",
                         .node = node.node_id,
                         .source = {}});
    }
  }

  /// Reports unknown_column if an option names a node whose rows cannot have the column by which the source finds rows.
  void check_other_rows(node_index index) {
    const plan_node& node = loaded_->nodes[index];
    const op_entry& op = *find_op(node.op);
    const plan_param* const other = op.also_has_column.empty() ? nullptr : node.find_param(op.also_has_column);
    if (other == nullptr) return;
    const std::size_t place = find_place(node.find_param(op.finds_rows_by)->index());
    if (given_by(other->index())[place]) return;
    found_[index].add({.code = "unknown_column",
                       .pointer = other->pointer,
                       .message = "the rows of `" + loaded_->nodes[other->index()].node_id + "` have no column `" +
                                  declared_->keys()[place].name + "`, so they have no vectors",
                       .hint = "add the column in an earlier node, for instance by core::hash",
                       .node = node.node_id,
                       .source = {}});
  }

  void add_columns(node_index node, key_set& own) {
    const plan_param* const added = added_by(loaded_->nodes[node]);
    if (added == nullptr) return;
    for (std::size_t i = 0; i < added->key_ids.size(); ++i) {
      const std::size_t place = find_place(added->key_ids[i]);
      if (own[place]) report(node, braid::json_pointer(added->pointer, i), declared_->keys()[place]);
      own[place] = true;
    }
  }

  void report(node_index node, std::string pointer, const key_entry& key) {
    const op_entry& op = *find_op(loaded_->nodes[node].op);
    found_[node].add({.code = "column_exists",
                      .pointer = std::move(pointer),
                      .message = "the rows may already have key " + std::to_string(key.key_id) + " (" + key.name +
                                 "), but `" + std::string(op.shape.name) + "` never overwrites a column",
                      .hint = std::string(op.adds.hint),
                      .node = loaded_->nodes[node].node_id,
                      .source = {}});
  }

  const plan* loaded_;
  const registries* declared_;
  std::vector<key_set> columns_;
  std::vector<braid::diagnostics> found_;  // per node: diagnostics come in the order of the artifact
};

void add_keys(const syntax_tree& tree, std::vector<std::uint32_t>& keys) {
  for (const tree_node& node : tree.nodes)
    for_each_key(node, [&keys](std::uint32_t key, std::string_view) { keys.push_back(key); });
}

/// Returns whether a param that the plan omits has a default in this node. Some params apply only if another option has
/// certain values, and a param that does not apply has no default.
auto has_default(const plan_node& node, const param_shape& shape) -> bool {
  const plan_param* const decisive = node.find_param(shape.when.param);
  return decisive == nullptr ||
         std::ranges::find(shape.when.values, std::get<std::string>(decisive->value)) != shape.when.values.end();
}

/// Returns the keys that a node reads. A missing option `by` or `member` means `id`. A source with an input finds its
/// rows by the `id` of the input rows, or by the columns in its key template.
auto read_keys(const plan& loaded, const plan_node& node, const registries& declared) -> std::vector<std::uint32_t> {
  std::vector<std::uint32_t> keys;
  const op_entry& op = *find_op(node.op);
  if (const plan_param* const named = find_template(node)) {
    for (const key_entry* key : columns_in(*named, declared)) keys.push_back(key->key_id);
  } else if (op.change == row_change::dense_source && op.shape.inputs != 0 && op.finds_rows_by.empty()) {
    keys.push_back(registries::id_key);
  }
  for (const param_shape& shape : op.shape.params) {
    const plan_param* const param = node.find_param(shape.name);
    if (param == nullptr) {
      if (shape.kind == param_kind::key_id && (shape.name == "by" || shape.name == "member") &&
          has_default(node, shape))
        keys.push_back(registries::id_key);
      continue;
    }
    if (shape.use == key_use::read) add_keys(*param, keys);
    if (shape.kind == param_kind::expr_id) add_keys(loaded.expr_table[param->index()].tree, keys);
    if (shape.kind == param_kind::pred_id) add_keys(loaded.pred_table[param->index()].tree, keys);
  }
  return each_once(std::move(keys));
}

}  // namespace

auto find_columns(const plan& loaded, const registries& declared) -> std::vector<node_columns> {
  const column_walk walk(loaded, declared);
  std::vector<node_columns> all;
  for (node_index at = 0; at < loaded.nodes.size(); ++at) {
    const plan_node& node = loaded.nodes[at];
    node_columns columns{read_keys(loaded, node, declared), written_keys(node), walk.list_keys(at)};
    if (find_op(node.op)->change == row_change::dense_source) columns.writes = columns.has;
    all.push_back(std::move(columns));
  }
  return all;
}

auto missing_columns(const plan& loaded, const registries& declared) -> braid::diagnostics {
  braid::diagnostics out;
  const column_walk walk(loaded, declared);
  for (const plan_node& node : loaded.nodes) {
    if (node.sources.empty()) continue;
    for (const std::uint32_t key : read_keys(loaded, node, declared)) {
      if (std::ranges::any_of(node.sources, [&](node_index source) { return walk.may_have(source, key); })) continue;
      out.add({.code = "column_missing",
               .pointer = node.pointer,
               .message = "reads key " + std::to_string(key) + " (" + declared.find_key(key)->name +
                          "), but no earlier node writes this key, so its value is null in every row",
               .hint = {},
               .node = node.node_id,
               .source = {}});
    }
  }
  return out;
}

auto check_columns(const plan& loaded, const registries& declared) -> braid::diagnostics {
  const auto matters = [](const plan_node& node) {
    return !find_op(node.op)->adds.option.empty() || find_template(node) != nullptr || node.fallback.has_value();
  };
  if (std::ranges::none_of(loaded.nodes, matters)) return {};
  return column_walk(loaded, declared).diagnostics();
}

}  // namespace rankd
