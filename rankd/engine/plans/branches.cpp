// rankd/engine/plans/branches.cpp: evaluates the conditions of a plan before a request runs, and builds the graph of
// the nodes that run.
#include <rankd/engine/plans/branches.hpp>

#include <rankd/engine/detail/route_fallbacks.hpp>
#include <rankd/expr/evaluate.hpp>
#include <rankd/rows/row_set.hpp>

#include <braid/base/arena.hpp>
#include <braid/base/config.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace rankd {
namespace {

auto find_conditions(const plan_node& node) -> const plan_param* {
  const auto found = std::ranges::find(node.params, param_kind::pred_ids, &plan_param::kind);
  return found == node.params.end() ? nullptr : &*found;
}

/// Returns the edges of a linear order: one edge from each node to the next node.
auto edges_of_line(std::span<const braid::node_index> order) -> std::vector<braid::graph_shape::edge> {
  std::vector<braid::graph_shape::edge> edges;
  for (std::size_t at = 1; at < order.size(); ++at) edges.push_back({order[at - 1], order[at]});
  return edges;
}

/// Returns, for each node, the nodes whose rows it reads. The list of a node that does not run is empty.
auto find_sources(const plan& loaded, const plan_route& route) -> detail::node_lists {
  detail::node_lists out(loaded.nodes.size());
  for (node_index at = 0; at < out.size(); ++at) {
    if (route.bypasses(at) || route.takes_cached(at)) continue;
    if (!route.taken.empty() && route.taken[at] != plan_route::none)
      out[at] = {route.taken[at]};
    else
      out[at] = loaded.nodes[at].sources;
  }
  return out;
}

void add_edges(const detail::node_lists& from, std::vector<braid::graph_shape::edge>& edges) {
  for (node_index to = 0; to < from.size(); ++to)
    for (const node_index each : from[to]) edges.push_back({each, to});
}

/// Returns the fallbacks of a route. If all nodes of the plan run, the loader has already computed the fallbacks.
auto find_fallbacks(const plan& loaded, const plan_route& route, const detail::node_lists& sources)
    -> detail::route_fallbacks {
  const auto has_fallback = [](const plan_node& node) { return node.fallback.has_value(); };
  if (std::ranges::none_of(loaded.nodes, has_fallback)) return {};
  if (!route.bypassed.empty()) return detail::fallbacks_of_route(loaded, route.bypassed, sources);
  detail::route_fallbacks out;
  for (const plan_node& node : loaded.nodes) {
    out.after.push_back(node.after);
    out.wakers.push_back(node.wakers);
  }
  return out;
}

/// Adds to a route its graph and the request fields that it needs. Requires that the nodes of the route are known.
void finish(plan_route& route, const plan& loaded, const registries& declared) {
  route.needs = find_needs(loaded, declared, route.bypassed);
  const detail::node_lists sources = find_sources(loaded, route);
  detail::route_fallbacks fallbacks = find_fallbacks(loaded, route, sources);
  std::vector<braid::graph_shape::edge> edges;
  add_edges(fallbacks.after, edges);
  add_edges(sources, edges);
  auto shape = braid::graph_shape::make(loaded.nodes.size(), edges);
  BRAID_EXPECTS(shape, "the loader of plans refuses cycles");
  route.shape = std::move(*shape);
  route.wakers = std::move(fallbacks.wakers);
  auto line = braid::graph_shape::make(loaded.nodes.size(), edges_of_line(route.shape.order()));
  BRAID_EXPECTS(line, "a line has no cycle");
  route.line = std::move(*line);
}

/// A key that a condition reads, and the JSON pointer to its use.
struct row_value {
  std::uint32_t key_id = 0;
  std::string pointer;
};

auto find_row_value(const syntax_tree& tree) -> std::optional<row_value> {
  for (std::size_t at = 0; at < tree.nodes.size(); ++at) {
    std::optional<row_value> found;
    for_each_key(tree.nodes[at], [&](std::uint32_t key, std::string_view field) {
      if (!found) found = row_value{key, tree.pointer_of(at).append(field)};
    });
    if (found) return found;
  }
  return std::nullopt;
}

}  // namespace

auto whole_route(const plan& loaded, const registries& declared) -> plan_route {
  plan_route route;
  finish(route, loaded, declared);
  return route;
}

plan_branches::plan_branches(std::shared_ptr<const plan> loaded, std::span<const pred_program> preds,
                             const registries& declared, route_ends ends)
    : loaded_(std::move(loaded)), ends_(std::move(ends)), declared_(&declared), of_node_(loaded_->nodes.size()) {
  if (ends_.outputs.empty()) ends_.outputs = loaded_->outputs;
  std::map<std::uint32_t, std::uint32_t> numbers;  // of conditions, by position in pred_table
  for (node_index at = 0; at < loaded_->nodes.size(); ++at) {
    const plan_param* const own = find_conditions(loaded_->nodes[at]);
    if (own == nullptr) continue;
    for (const std::uint32_t tree : own->trees) {
      const auto [known, is_new] = numbers.try_emplace(tree, static_cast<std::uint32_t>(conditions_.size()));
      if (is_new) conditions_.push_back(preds[tree]);
      of_node_[at].push_back(known->second);
    }
  }
}

/// Evaluates all conditions and returns one bit for each condition. Conditions do not read columns, so they are
/// evaluated on one row without columns.
auto plan_branches::outcomes(std::span<const scalar> params) const -> std::uint64_t {
  constexpr std::size_t enough = 4096;
  static constexpr std::array<std::int64_t, 1> one_id{0};
  braid::arena memory(enough);
  const row_set one_row{batch(std::span<const std::int64_t>(one_id))};
  std::uint64_t out = 0;
  for (std::size_t at = 0; at < conditions_.size(); ++at) {
    const evaluated<bitmap> holds = evaluate(conditions_[at], one_row, params, memory);
    BRAID_EXPECTS(holds, "conditions without columns cannot fail");
    if ((*holds)[0]) out |= std::uint64_t{1} << at;
  }
  return out;
}

auto plan_branches::input_taken(node_index node, std::uint64_t outcomes) const -> node_index {
  const auto& own = of_node_[node];
  const auto first = std::ranges::find_if(own, [outcomes](std::uint32_t bit) { return (outcomes >> bit & 1) != 0; });
  return loaded_->nodes[node].inputs[static_cast<std::size_t>(first - own.begin())];
}

/// Builds a route by following the edges from the outputs to the sources. From a node that chooses, only the edge to
/// the chosen input is followed.
auto plan_branches::made_route(std::uint64_t outcomes) const -> plan_route {
  const std::size_t count = loaded_->nodes.size();
  plan_route route;
  route.bypassed.assign(count, true);
  route.taken.assign(count, plan_route::none);
  route.cached = ends_.cached;
  std::vector<node_index> open = ends_.outputs;
  while (!open.empty()) {
    const node_index at = open.back();
    open.pop_back();
    if (!route.bypassed[at]) continue;
    route.bypassed[at] = false;
    if (route.takes_cached(at)) continue;
    if (const auto& fallback = loaded_->nodes[at].fallback; fallback && fallback->kind == fallback_kind::node)
      open.push_back(fallback->node);
    const std::vector<node_index>& sources = loaded_->nodes[at].sources;
    if (of_node_[at].empty()) {
      open.insert(open.end(), sources.begin(), sources.end());
      continue;
    }
    route.taken[at] = input_taken(at, outcomes);
    open.push_back(route.taken[at]);
  }
  finish(route, *loaded_, *declared_);
  return route;
}

auto plan_branches::find_route(std::span<const scalar> params) const -> std::shared_ptr<const plan_route> {
  const std::uint64_t wanted = outcomes(params);
  {
    const std::scoped_lock lock(mutex_);
    if (const auto known = kept_.find(wanted); known != kept_.end()) return known->second;
  }
  auto made = std::make_shared<const plan_route>(made_route(wanted));
  const std::scoped_lock lock(mutex_);
  if (kept_.size() < max_kept) kept_.try_emplace(wanted, made);
  return made;
}

auto plan_branches::kept() const -> std::size_t {
  const std::scoped_lock lock(mutex_);
  return kept_.size();
}

auto has_branches(const plan& loaded) noexcept -> bool {
  return std::ranges::any_of(loaded.nodes, [](const plan_node& node) { return find_conditions(node) != nullptr; });
}

void check_conditions(const plan& loaded, const plan_node& node, braid::diagnostics& problems) {
  const plan_param* const conditions = find_conditions(node);
  if (conditions == nullptr) return;
  for (const std::uint32_t tree : conditions->trees)
    if (auto found = find_row_value(loaded.pred_table[tree].tree))
      problems.add({.code = "row_value_in_condition",
                    .pointer = std::move(found->pointer),
                    .message = "a condition is evaluated before any row exists, but it reads key " +
                               std::to_string(found->key_id) + ", a column of rows",
                    .hint = "use params of the request, or `if` in an expression over rows",
                    .node = {},
                    .source = {}});
}

void check_condition_count(const plan& loaded, braid::diagnostics& problems) {
  std::set<std::uint32_t> all;
  for (const plan_node& node : loaded.nodes) {
    const plan_param* const own = find_conditions(node);
    if (own == nullptr) continue;
    all.insert(own->trees.begin(), own->trees.end());
    if (all.size() <= plan_branches::max_conditions) continue;
    return problems.add({.code = "too_many_conditions",
                         .pointer = own->pointer,
                         .message = "the nodes of a plan may have at most " +
                                    std::to_string(plan_branches::max_conditions) + " conditions in total",
                         .hint = {},
                         .node = node.node_id,
                         .source = {}});
  }
}

}  // namespace rankd
