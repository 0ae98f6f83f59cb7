// rankd/engine/plans/bound_plan.cpp: compiles the expressions and predicates of a plan, and binds its nodes.
#include <rankd/engine/plans/bound_plan.hpp>

#include <rankd/engine/captured_rows.hpp>
#include <rankd/engine/plan_check.hpp>
#include <rankd/op/operator_list.hpp>
#include <rankd/op/columns.hpp>
#include <rankd/op/extra_columns.hpp>
#include <rankd/op/fuse.hpp>
#include <rankd/op/operator_library.hpp>
#include <rankd/op/option_value.hpp>
#include <rankd/plan/source_location.hpp>
#include <rankd/registry/digest.hpp>

#include <braid/base/config.hpp>

#include <algorithm>
#include <chrono>
#include <span>
#include <tuple>
#include <utility>

namespace rankd {
namespace {

auto compile(const expr_tree& tree, const registries& declared) { return compile_expr(tree, declared); }
auto compile(const pred_tree& tree, const registries& declared) { return compile_pred(tree, declared); }

/// Compiles the expression trees of a table. For a tree with errors, creates a program without code, so that the nodes
/// can still be checked. Such a program never runs.
template <typename Program, typename Tree>
auto compile_table(const std::vector<named_tree<Tree>>& table, const registries& declared, braid::diagnostics& problems)
    -> std::vector<Program> {
  std::vector<Program> programs;
  programs.reserve(table.size());
  for (const named_tree<Tree>& entry : table) {
    auto program = compile(entry.tree, declared);
    if (!program) problems.append(std::move(program.error()));
    programs.push_back(program ? std::move(*program) : Program(nullptr));
  }
  return programs;
}

/// Fuses two nodes if the rows of the first node go only to the second, and if both together can then do less work.
void fuse_pairs(const plan& loaded, const bind_context& context, std::vector<bound_node>& nodes) {
  std::vector<std::size_t> takers(nodes.size(), 0);
  for (const bound_node& node : nodes)
    for (const node_index source : node.sources) ++takers[source];
  for (const node_index output : loaded.outputs) ++takers[output];
  const auto stands_alone = [&](node_index index) {
    return nodes[index].fallback || loaded.nodes[index].capture || loaded.nodes[index].cache ||
           !loaded.nodes[index].wakers.empty();
  };
  for (const plan_node& node : loaded.nodes)
    if (node.fallback && node.fallback->kind == fallback_kind::node) ++takers[node.fallback->node];
  for (node_index second = 0; second < nodes.size(); ++second) {
    if (nodes[second].sources.size() != 1) continue;
    const node_index first = nodes[second].sources.front();
    if (takers[first] != 1 || stands_alone(first) || stands_alone(second)) continue;
    auto both = fuse(loaded.nodes[first], loaded.nodes[second], context);
    if (!both) continue;
    nodes[first].op = std::move(both->first);
    nodes[second].op = std::move(both->second);
    nodes[second].change = both->second_change;
    nodes[first].fused_with = second;
    nodes[second].fused_with = first;
  }
}

void note_extra_columns(const plan& loaded, const registries& declared, std::vector<bound_node>& nodes) {
  const std::vector<extra_use> uses = uses_of_extra_columns(loaded, declared);
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    nodes[at].extras = uses[at];
    if (uses[at] != extra_use::shown) continue;
    nodes[at].extra_key = declared.find_key(find_op(loaded.nodes[at].op)->extra_column)->key_id;
  }
}

/// Returns the options of a node that are bound to params. Requires that these params are declared.
auto bound_options(const plan_node& node, const registries& declared) -> std::vector<bound_option> {
  std::vector<bound_option> out;
  for (const plan_param& option : node.params)
    if (option.bound) out.push_back({option.name, declared.index_of(*declared.find_param(option.bound->param_id))});
  return out;
}

/// Checks that the keys that a fallback's field `nulls` lists are declared.
void check_nulls(const plan_node& node, const registries& declared, braid::diagnostics& problems) {
  if (!node.fallback) return;
  const std::string parent = braid::json_pointer(node.fallback->pointer, "nulls");
  for (std::size_t i = 0; i < node.fallback->nulls.size(); ++i) {
    if (declared.find_key(node.fallback->nulls[i]) != nullptr) continue;
    problems.add({.code = "unknown_key",
                  .pointer = braid::json_pointer(parent, i),
                  .message = "no key has the number " + std::to_string(node.fallback->nulls[i]),
                  .hint = "the keys are declared in keys.toml",
                  .node = {},
                  .source = {}});
  }
}

auto bind_node(const plan& loaded, const plan_node& node, const bind_context& context, braid::diagnostics& problems)
    -> bound_node {
  const op_entry* entry = find_op(node.op);
  BRAID_EXPECTS(entry != nullptr, "the loader of plans accepts only operators that exist");
  braid::diagnostics own;
  check_bindings(node, context.declared, own);
  auto op = entry->bind(node, context);
  if (!op) own.append(std::move(op.error()));
  check_conditions(loaded, node, own);
  check_nulls(node, context.declared, own);
  if (!own.empty()) {
    own.set_node(node.node_id);
    problems.append(std::move(own));
    return {};
  }
  return {.node_id = node.node_id,
          .op_name = node.op,
          .place = {},
          .op = std::move(*op),
          .sources = node.sources,
          .change = entry->change,
          .fused_with = std::nullopt,
          .options = bound_options(node, context.declared),
          .fallback = node.fallback,
          .timeout = node.timeout_ms ? std::chrono::milliseconds(*node.timeout_ms) : braid::duration::max(),
          .retries = node.retries,
          .hedge = std::chrono::milliseconds(node.hedge_ms)};
}

/// Returns the digests of models. Requires that the models were found before.
auto make_digests(std::vector<std::string> names, model_folder* models) -> std::vector<model_digest> {
  std::vector<model_digest> out;
  for (std::string& name : names) {
    std::string sha256 = models->digest(name).value();
    out.push_back({std::move(name), std::move(sha256)});
  }
  return out;
}

/// Returns the libraries whose operators the nodes use, sorted by name and without duplicates.
auto list_operators(const plan& loaded) -> std::vector<operator_digest> {
  std::vector<operator_digest> out;
  for (const plan_node& node : loaded.nodes)
    if (const operator_digest* const from = find_library(node.op);
        from != nullptr && std::ranges::find(out, *from) == out.end())
      out.push_back(*from);
  std::ranges::sort(out, {}, [](const operator_digest& each) { return std::tie(each.library, each.sha256); });
  return out;
}

/// Returns the digests of files of vectors. Requires that the files were found before.
auto make_digests(const std::vector<std::string>& endpoints, const registries& declared, vector_folder* vectors)
    -> std::vector<model_digest> {
  std::vector<model_digest> out;
  for (const std::string& id : endpoints) out.push_back({id, vectors->digest(*declared.find_endpoint(id)).value()});
  return out;
}

/// Returns the digests of the models and of the files of vectors that a plan uses.
auto used_by(const bound_plan& plan) -> std::vector<model_digest> {
  std::vector<model_digest> all = plan.models;
  all.insert(all.end(), plan.vectors.begin(), plan.vectors.end());
  return all;
}

/// Returns the node that returns its rows in pages, if there is one. Reports an error if several nodes do so, because a
/// cursor contains only one position.
auto find_page_node(const plan& loaded, braid::diagnostics& problems) -> std::optional<node_index> {
  std::optional<node_index> found;
  for (node_index at = 0; at < loaded.nodes.size(); ++at) {
    const plan_node& node = loaded.nodes[at];
    if (find_op(node.op)->reads != request_part::cursor) continue;
    if (!found) {
      found = at;
      continue;
    }
    problems.add({.code = "too_many_pages",
                  .pointer = node.pointer,
                  .message = "a plan must have at most one `core::paginate`, because a cursor holds one position",
                  .hint = {},
                  .node = node.node_id,
                  .source = {}});
  }
  return found;
}

auto bind_nodes(const plan& loaded, const bind_context& context, braid::diagnostics& problems)
    -> std::vector<bound_node> {
  std::vector<bound_node> nodes;
  nodes.reserve(loaded.nodes.size());
  for (const plan_node& node : loaded.nodes) nodes.push_back(bind_node(loaded, node, context, problems));
  return nodes;
}

/// Runs the checks that concern several nodes. Each check requires that the earlier checks found no errors. Returns the
/// node that returns its rows in pages, if there is one.
auto check_whole(const plan& loaded, const registries& declared, braid::diagnostics& problems)
    -> std::optional<node_index> {
  check_condition_count(loaded, problems);
  const std::optional<node_index> page_node = find_page_node(loaded, problems);
  if (problems.empty()) problems = check_columns(loaded, declared);
  if (problems.empty()) problems = check_captures(loaded, declared);
  if (problems.empty()) problems = check_caches(loaded, declared);
  return page_node;
}

/// Removes the diagnostics about models and files of vectors. Used for checks that do not read files.
auto without_files(const braid::diagnostics& problems) -> braid::diagnostics {
  braid::diagnostics out;
  for (const braid::diagnostic& each : problems)
    if (each.code != "no_models" && each.code != "no_vectors") out.add(each);
  return out;
}

}  // namespace

auto plan_identity(const std::string& artifact_digest, const std::vector<model_digest>& used,
                   const std::vector<operator_digest>& operators) -> std::string {
  if (used.empty() && operators.empty()) return artifact_digest;
  std::string all = artifact_digest;
  for (const model_digest& each : used) all += '\n' + each.name + ' ' + each.sha256;
  for (const operator_digest& each : operators) all += "\noperators " + each.library + ' ' + each.sha256;
  return sha256_hex(all);
}

auto bind_plan(plan loaded, const registries& declared, const plan_budget& budget, model_folder* models,
               vector_folder* vectors) -> braid::checked<bound_plan> {
  braid::diagnostics problems;
  const std::vector<expr_program> exprs = compile_table<expr_program>(loaded.expr_table, declared, problems);
  const std::vector<pred_program> preds = compile_table<pred_program>(loaded.pred_table, declared, problems);

  const bind_context with{declared, exprs, preds, models, vectors};

  std::vector<bound_node> nodes = bind_nodes(loaded, with, problems);
  const std::optional<node_index> page_node = check_whole(loaded, declared, problems);
  if (!problems.empty()) return std::unexpected(with_locations(problems, loaded));
  for (std::size_t at = 0; at < nodes.size(); ++at) nodes[at].place = source_location(loaded, loaded.nodes[at].pointer);

  fuse_pairs(loaded, with, nodes);
  note_extra_columns(loaded, declared, nodes);

  const bool has_fallbacks =
      std::ranges::any_of(nodes, [](const bound_node& node) { return node.fallback.has_value(); });
  std::vector<node_index> captures;
  for (node_index at = 0; at < loaded.nodes.size(); ++at)
    if (loaded.nodes[at].capture) captures.push_back(at);
  std::vector<model_digest> called = make_digests(list_models(loaded), models);
  std::vector<model_digest> searched = make_digests(list_vectors(loaded), declared, vectors);
  bound_plan out{.name = loaded.plan_name,
                 .digest = {},
                 .artifact_digest = loaded.digest,
                 .models = std::move(called),
                 .vectors = std::move(searched),
                 .operators = list_operators(loaded),
                 .budget = budget,
                 .warnings = with_locations(missing_columns(loaded, declared), loaded),
                 .nodes = std::move(nodes),
                 .outputs = loaded.outputs,
                 .page_node = page_node,
                 .whole = whole_route(loaded, declared),
                 .branches = {},
                 .stated = std::make_shared<const plan>(std::move(loaded)),
                 .has_fallbacks = has_fallbacks,
                 .captures = std::move(captures),
                 .declared = {std::shared_ptr<const void>(), &declared}};
  if (models != nullptr)
    for (const std::string& each : list_models(*out.stated)) out.warnings.append(models->warnings(each));
  out.digest = plan_identity(out.artifact_digest, used_by(out), out.operators);
  if (has_branches(*out.stated)) out.branches = std::make_shared<const plan_branches>(out.stated, preds, declared);
  out.caches = bind_caches(out.stated, preds, declared, out.digest);
  return out;
}

auto check_plan(const plan& loaded, const registries& declared) -> plan_findings {
  plan_findings out;
  const std::vector<expr_program> exprs = compile_table<expr_program>(loaded.expr_table, declared, out.problems);
  const std::vector<pred_program> preds = compile_table<pred_program>(loaded.pred_table, declared, out.problems);
  static_cast<void>(bind_nodes(loaded, {declared, exprs, preds, nullptr, nullptr}, out.problems));
  out.problems = without_files(out.problems);
  static_cast<void>(check_whole(loaded, declared, out.problems));
  if (!out.problems.empty()) return out;
  out.warnings = missing_columns(loaded, declared);
  for (node_index at = 0; at < loaded.nodes.size(); ++at)
    if (loaded.nodes[at].cache) out.caches.push_back(inputs_of_cache(loaded, at, declared));
  return out;
}

auto substitute_name(const bound_plan& plan) -> std::string_view {
  const auto& fallback = plan.stated->fallback;
  return fallback ? std::string_view(fallback->plan) : std::string_view();
}

auto add_substitute(bound_plan& plan, std::shared_ptr<const bound_plan> found) -> braid::diagnostics {
  const auto about = [&plan](std::string code, const std::string& message, std::string hint) {
    return with_locations(
        braid::diagnostics({.code = std::move(code),
                            .pointer = braid::json_pointer(plan.stated->fallback->pointer, "plan"),
                            .message = "`" + plan.stated->fallback->plan + "`, the fallback plan, " + message,
                            .hint = std::move(hint),
                            .node = {},
                            .source = {}}),
        *plan.stated);
  };
  if (found == nullptr) return about("unknown_plan", "is not a valid plan", "build this plan, or name another plan");
  if (!substitute_name(*found).empty())
    return about("nested_fallback", "has a fallback plan of its own", "a fallback plan must not have a fallback");
  if (plan.page_node || found->page_node)
    return about("fallback_with_pages", "must not return pages, and cannot replace a plan that returns pages",
                 "remove core::paginate from both plans, or remove the fallback");
  if (found->declared != plan.declared)
    return about("fallback_of_other_registries",
                 "was loaded with other registries, so it cannot answer the same requests",
                 "unpin this plan, or build it again");
  plan.digest =
      sha256_hex(plan_identity(plan.artifact_digest, used_by(plan), plan.operators) + "\nfallback " + found->digest);
  plan.substitute = std::move(found);
  return {};
}

auto depends_on_time(const bound_plan& plan) noexcept -> bool {
  const auto& own = plan.stated->fallback;
  if (own && names_time(own->on)) return true;
  if (plan.substitute != nullptr && depends_on_time(*plan.substitute)) return true;
  return std::ranges::any_of(plan.nodes,
                             [](const bound_node& node) { return node.fallback && names_time(node.fallback->on); });
}

auto find_substitute(const bound_plan& plan, node_index node) -> std::string {
  const node_fallback& fallback = *plan.nodes[node].fallback;
  if (fallback.kind == fallback_kind::node) return plan.nodes[fallback.node].node_id;
  return fallback.kind == fallback_kind::input ? "input" : "empty";
}

auto find_route(const bound_plan& plan, std::span<const scalar> params) -> std::shared_ptr<const plan_route> {
  if (plan.branches != nullptr) return plan.branches->find_route(params);
  return {std::shared_ptr<const void>(), &plan.whole};
}

}  // namespace rankd
