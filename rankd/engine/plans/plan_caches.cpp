// rankd/engine/plans/plan_caches.cpp: determines which nodes may have a cache, and what the cache keys contain.
#include <rankd/engine/plans/plan_caches.hpp>

#include <rankd/engine/plan_check.hpp>
#include <rankd/engine/plans/plan_needs.hpp>
#include <rankd/op/operator_list.hpp>
#include <rankd/op/operator.hpp>
#include <rankd/registry/digest.hpp>
#include <rankd/registry/names.hpp>

#include <algorithm>
#include <utility>

namespace rankd {
namespace {

/// Returns a flag for each node: false for the given node and for all nodes that its rows depend on, true for all
/// others.
auto outside_of_part(const plan& loaded, node_index node) -> std::vector<bool> {
  std::vector<bool> outside(loaded.nodes.size(), true);
  std::vector<node_index> open{node};
  while (!open.empty()) {
    const node_index at = open.back();
    open.pop_back();
    if (!outside[at]) continue;
    outside[at] = false;
    open.insert(open.end(), loaded.nodes[at].sources.begin(), loaded.nodes[at].sources.end());
  }
  return outside;
}

struct obstacle {
  std::string message;
  std::string hint;
};

auto obstacle_of_node(const plan_node& node, const plan_node& cached) -> std::optional<obstacle> {
  const std::string name = quote_name(node.node_id);
  const bool is_self = &node == &cached;
  if (node.cache && !is_self)
    return obstacle{"the rows are computed from the rows of " + name + ", which has its own cache",
                    "remove one of the two caches"};
  if (node.fallback)
    return obstacle{(is_self ? "the node" : "the rows are computed from the rows of " + name + ", which") +
                        std::string(" has a fallback, whose rows must not be cached"),
                    "remove the fallback or the cache"};
  const request_part reads = find_op(node.op)->reads;
  if (reads == request_part::candidates)
    return obstacle{"the rows are computed from the request's candidates, which " + name + " reads",
                    "leave out the cache"};
  if (reads == request_part::cursor)
    return obstacle{"the rows depend on the cursor of the request, which " + name + " reads",
                    "put the cache on a node before it"};
  return std::nullopt;
}

/// Returns the first reason why a node cannot have a cache. Checks first the nodes, in the order of their numbers, and
/// then the params.
auto find_obstacle(const plan& loaded, node_index cached, const registries& declared) -> std::optional<obstacle> {
  const std::vector<bool> outside = outside_of_part(loaded, cached);
  for (node_index at = 0; at < outside.size(); ++at) {
    if (outside[at]) continue;
    if (auto found = obstacle_of_node(loaded.nodes[at], loaded.nodes[cached])) return found;
  }
  for (const param_entry* param : params_read_by(loaded, declared, outside))
    if (param->clock)
      return obstacle{
          "the rows depend on the time of the request, which param " + quote_name(param->name) + " contains",
          "read the param in a node after the cached node"};
  return std::nullopt;
}

auto bind_cache(const std::shared_ptr<const plan>& loaded, node_index node, std::span<const pred_program> preds,
                const registries& declared, std::string_view identity) -> bound_cache {
  const plan_node& of = loaded->nodes[node];
  bound_cache out{.node = node, .how = *of.cache, .digest = {}, .reads_user = false, .params = {}, .part = {}};
  std::string all(identity);
  for (const registry_digest& each : declared.digests()) all += '\n' + each.name + ' ' + each.sha256;
  out.digest = sha256_hex(all + '\n' + of.node_id);
  const cache_inputs inputs = inputs_of_cache(*loaded, node, declared);
  out.reads_user = inputs.reads_user;
  for (const param_entry* param : inputs.params) out.params.push_back(declared.index_of(*param));
  out.part =
      std::make_shared<const plan_branches>(loaded, preds, declared, route_ends{.outputs = {node}, .cached = {}});
  return out;
}

}  // namespace

auto check_caches(const plan& loaded, const registries& declared) -> braid::diagnostics {
  braid::diagnostics problems;
  std::size_t count = 0;
  for (node_index at = 0; at < loaded.nodes.size(); ++at) {
    const plan_node& node = loaded.nodes[at];
    if (!node.cache) continue;
    const auto report = [&](std::string code, obstacle reason) {
      problems.add({.code = std::move(code),
                    .pointer = node.cache->pointer,
                    .message = std::move(reason.message),
                    .hint = std::move(reason.hint),
                    .node = node.node_id,
                    .source = {}});
    };
    if (++count > max_caches) {
      report("too_many_caches", {"a plan may have at most " + std::to_string(max_caches) + " nodes with a cache", {}});
      break;
    }
    if (auto found = find_obstacle(loaded, at, declared)) report("uncacheable", std::move(*found));
  }
  return problems;
}

auto inputs_of_cache(const plan& loaded, node_index node, const registries& declared) -> cache_inputs {
  const std::vector<bool> outside = outside_of_part(loaded, node);
  cache_inputs out{.node_id = loaded.nodes[node].node_id, .reads_user = false, .params = {}};
  for (node_index at = 0; at < outside.size(); ++at)
    out.reads_user = out.reads_user || (!outside[at] && find_op(loaded.nodes[at].op)->reads == request_part::user);
  out.params = params_read_by(loaded, declared, outside);
  return out;
}

auto bind_caches(const std::shared_ptr<const plan>& loaded, std::span<const pred_program> preds,
                 const registries& declared, std::string_view identity) -> std::shared_ptr<const plan_caches> {
  auto out = std::make_shared<plan_caches>();
  std::vector<bool> cached(loaded->nodes.size(), false);
  for (node_index at = 0; at < loaded->nodes.size(); ++at) {
    if (!loaded->nodes[at].cache) continue;
    cached[at] = true;
    out->all.push_back(bind_cache(loaded, at, preds, declared, identity));
  }
  if (out->all.empty()) return nullptr;
  out->of_node.assign(loaded->nodes.size(), nullptr);
  for (const bound_cache& each : out->all) out->of_node[each.node] = &each;
  out->rest = std::make_shared<const plan_branches>(loaded, preds, declared,
                                                    route_ends{.outputs = {}, .cached = std::move(cached)});
  return out;
}

}  // namespace rankd
