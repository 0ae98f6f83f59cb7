// rankd/plan/graph.cpp: checks cycles, order, depth and reachability in a plan's graph, without recursion.
#include <rankd/plan/detail/artifact.hpp>
#include <rankd/registry/names.hpp>

#include <algorithm>
#include <queue>

namespace rankd::detail {
namespace {

auto about(const plan_node& node, std::string_view code, std::string message) -> braid::diagnostic {
  return {.code = std::string(code),
          .pointer = node.pointer,
          .message = std::move(message),
          .hint = {},
          .node = node.node_id,
          .source = {}};
}

/// Returns the number of edges into a node; `edge_at` returns these edges one by one.
auto edge_count(const plan_node& node) -> std::size_t { return node.sources.size() + node.after.size(); }
auto edge_at(const plan_node& node, std::size_t place) -> node_index {
  return place < node.sources.size() ? node.sources[place] : node.after[place - node.sources.size()];
}

template <typename Fn>
void for_each_edge(const plan_node& node, Fn fn) {
  for (const node_index source : node.sources) fn(source);
  for (const node_index before : node.after) fn(before);
}

/// Returns a cycle as text, such as "`a` → `b` → `a`". For a long cycle, the text names only the first nodes.
auto spell_cycle(const std::vector<plan_node>& nodes, std::span<const node_index> cycle) -> std::string {
  constexpr std::size_t max_named = 8;
  std::string out;
  for (const node_index i : cycle.first(std::min(cycle.size(), max_named))) out += quote_name(nodes[i].node_id) + " → ";
  if (cycle.size() > max_named) out += "… (" + std::to_string(cycle.size()) + " nodes) → ";
  return out + quote_name(nodes[cycle.front()].node_id);
}

/// Finds cycles by a depth-first search from nodes to their sources. An edge to a node on the current path closes a
/// cycle.
class cycle_finder {
 public:
  cycle_finder(const std::vector<plan_node>& nodes, braid::diagnostics& problems)
      : nodes_(nodes), problems_(problems), state_(nodes.size(), unseen), next_source_(nodes.size(), 0) {}

  void run() {
    for (node_index i = 0; i < nodes_.size(); ++i)
      if (state_[i] == unseen) search(i);
  }

 private:
  enum visit : std::uint8_t { unseen, on_path, done };

  void search(node_index start) {
    enter(start);
    while (!path_.empty()) {
      const node_index at = path_.back();
      if (next_source_[at] == edge_count(nodes_[at])) {
        state_[at] = done;
        path_.pop_back();
        continue;
      }
      const node_index source = edge_at(nodes_[at], next_source_[at]++);
      if (state_[source] == unseen)
        enter(source);
      else if (state_[source] == on_path)
        report(source);
    }
  }

  void enter(node_index i) {
    state_[i] = on_path;
    path_.push_back(i);
  }

  void report(node_index closing) {
    constexpr std::size_t max_cycles = 20;
    if (++found_ > max_cycles) return;
    // Reverses the path, because the search goes against the edges, but messages follow the flow of data.
    std::vector<node_index> cycle(std::ranges::find(path_, closing), path_.end());
    std::ranges::reverse(cycle);
    std::ranges::rotate(cycle, std::ranges::min_element(cycle));
    problems_.add(about(nodes_[cycle.front()], "cycle", "the nodes form a cycle: " + spell_cycle(nodes_, cycle)));
  }

  const std::vector<plan_node>& nodes_;
  braid::diagnostics& problems_;
  std::vector<visit> state_;
  std::vector<std::size_t> next_source_;  ///< of each node, the edge to follow next
  std::vector<node_index> path_;
  std::size_t found_ = 0;
};

/// Returns the nodes in topological order (Kahn's algorithm). If several nodes are ready, the node with the smallest
/// index is next.
auto topological(const std::vector<plan_node>& nodes) -> std::vector<node_index> {
  std::vector<std::vector<node_index>> users(nodes.size());
  std::vector<std::size_t> waiting(nodes.size());
  std::priority_queue<node_index, std::vector<node_index>, std::greater<>> ready;
  for (node_index i = 0; i < nodes.size(); ++i) {
    waiting[i] = edge_count(nodes[i]);
    for_each_edge(nodes[i], [&](node_index source) { users[source].push_back(i); });
    if (waiting[i] == 0) ready.push(i);
  }
  std::vector<node_index> order;
  while (!ready.empty()) {
    const node_index at = ready.top();
    ready.pop();
    order.push_back(at);
    for (const node_index user : users[at])
      if (--waiting[user] == 0) ready.push(user);
  }
  return order;
}

}  // namespace

auto order_nodes(const std::vector<plan_node>& nodes, braid::diagnostics& problems) -> std::vector<node_index> {
  auto order = topological(nodes);
  if (order.size() != nodes.size()) cycle_finder(nodes, problems).run();
  return order;
}

void check_depth(const plan& ordered, braid::diagnostics& problems) {
  std::vector<std::size_t> depth(ordered.nodes.size(), 1);
  for (const node_index i : ordered.order) {
    const plan_node& node = ordered.nodes[i];
    for_each_edge(node, [&](node_index source) { depth[i] = std::max(depth[i], depth[source] + 1); });
    if (depth[i] <= max_plan_depth) continue;
    problems.add(about(node, "plan_too_deep",
                       "the longest path to this node has more than " + std::to_string(max_plan_depth) + " nodes"));
    return;  // every node after it is too deep as well
  }
}

void check_reach(const plan& whole, braid::diagnostics& problems) {
  std::vector<bool> reaches(whole.nodes.size(), false);
  std::vector<node_index> open = whole.outputs;
  while (!open.empty()) {
    const node_index at = open.back();
    open.pop_back();
    if (reaches[at]) continue;
    reaches[at] = true;
    const plan_node& node = whole.nodes[at];
    open.insert(open.end(), node.sources.begin(), node.sources.end());
    if (node.fallback && node.fallback->kind == fallback_kind::node) open.push_back(node.fallback->node);
  }
  for (node_index i = 0; i < whole.nodes.size(); ++i) {
    const plan_node& node = whole.nodes[i];
    if (!reaches[i]) problems.add(about(node, "reaches_no_output", "no output depends on " + quote_name(node.node_id)));
  }
}

}  // namespace rankd::detail
