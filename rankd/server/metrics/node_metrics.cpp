// rankd/server/metrics/node_metrics.cpp: keeps the metrics of single nodes. These metrics are added and removed
// together with the plans of the nodes.
#include <rankd/server/metrics/serve_metrics.hpp>

#include <algorithm>
#include <array>

namespace rankd {
namespace {

using kind = exposition::kind;

/// The name under which the nodes beyond `max_listed_nodes` are counted. No node can have this name.
constexpr std::string_view other_nodes = "(others)";

/// Returns whether a node spends most of its time waiting for I/O.
auto waits(const bound_plan& plan, std::string_view node) -> bool {
  const auto found = std::ranges::find(plan.nodes, node, &bound_node::node_id);
  return found != plan.nodes.end() && found->op->work() == op_work::waits;
}

}  // namespace

void serve_metrics::node_counts::add(const node_sample& one) noexcept {
  const bool failed = one.state == node_state::failed || one.state == node_state::timed_out;
  if (one.state != node_state::done && !failed) return;
  ++runs;
  errors += failed ? 1 : 0;
  rows += one.rows_out;
  retries += static_cast<std::uint64_t>(one.retries);
  if (one.queue) queue.add(*one.queue);
  if (one.run) work.add(*one.run);
}

void serve_metrics::node_counts::add(const node_counts& other) noexcept {
  runs += other.runs;
  errors += other.errors;
  rows += other.rows;
  retries += other.retries;
  queue.add(other.queue);
  work.add(other.work);
}

/// Creates the counts for a new version of a plan. Each node continues the counts of the node with the same name in the
/// previous version.
auto serve_metrics::made_for(const bound_plan& plan, const plan_nodes_seen* before) -> plan_nodes_seen {
  plan_nodes_seen made{.digest = plan.digest, .names = {}, .places = {}, .counts = {}};
  made.places.resize(plan.nodes.size());
  for (const node_index node : plan.whole.shape.order()) {
    const std::size_t listed = std::min<std::size_t>(plan.whole.shape.position(node), max_listed_nodes);
    const std::string_view name = listed < max_listed_nodes ? std::string_view(plan.nodes[node].node_id) : other_nodes;
    made.places[node] = listed;
    if (made.counts.size() > listed) continue;
    made.names.emplace(name, listed);
    made.counts.emplace_back();
    if (before == nullptr) continue;
    const auto known = before->names.find(name);
    if (known != before->names.end()) made.counts.back() = before->counts[known->second];
  }
  return made;
}

void serve_metrics::count_nodes(const bound_plan& plan, std::span<const node_sample> nodes,
                                const plan_source& serving) {
  const std::scoped_lock lock(mutex_);
  auto found = nodes_.find(plan.name);
  if (found == nodes_.end() || found->second.digest != plan.digest) {
    const auto now = serving.find(plan.name);
    if (!now || now->bound.get() != &plan) return;
    plan_nodes_seen made = made_for(plan, found == nodes_.end() ? nullptr : &found->second);
    found = nodes_.insert_or_assign(plan.name, std::move(made)).first;
  }
  plan_nodes_seen& seen = found->second;
  for (std::size_t node = 0; node < std::min(nodes.size(), seen.places.size()); ++node)
    seen.counts[seen.places[node]].add(nodes[node]);
}

void serve_metrics::add_nodes_to(std::string_view plan, plan_nodes_seen& sums) const {
  const std::scoped_lock lock(mutex_);
  const auto found = nodes_.find(plan);
  if (found == nodes_.end()) return;
  for (const auto& [name, place] : sums.names) {
    const auto known = found->second.names.find(name);
    if (known != found->second.names.end()) sums.counts[place].add(found->second.counts[known->second]);
  }
}

void serve_metrics::forget_others(std::span<const known_plan> serving) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(nodes_, [serving](const auto& each) {
    return std::ranges::find(serving, each.first, &known_plan::name) == serving.end();
  });
}

void serve_metrics::write_nodes(exposition& out, std::span<serve_metrics* const> loops,
                                std::span<const known_plan> serving) {
  struct listed_plan {
    const bound_plan* plan;
    plan_nodes_seen sums;
  };
  std::vector<listed_plan> all;
  for (serve_metrics* each : loops) each->forget_others(serving);
  for (const known_plan& each : serving) {
    if (!each.bound) continue;
    listed_plan& one = all.emplace_back(listed_plan{each.bound.get(), made_for(*each.bound, nullptr)});
    for (const serve_metrics* loop : loops) loop->add_nodes_to(each.name, one.sums);
  }
  const auto for_each = [&all](auto fn) {
    for (const auto& [plan, sums] : all)
      for (const auto& [name, place] : sums.names)
        if (sums.counts[place].runs != 0) fn(*plan, std::string_view(name), sums.counts[place]);
  };
  struct counter {
    std::string_view name;
    std::string_view help;
    std::uint64_t node_counts::* value;
  };
  static constexpr std::array counters{
      counter{"rankd_node_runs_total", "Runs of nodes that ended in time.", &node_counts::runs},
      counter{"rankd_node_errors_total", "Runs of nodes that failed.", &node_counts::errors},
      counter{"rankd_node_rows_total", "Rows that nodes have returned.", &node_counts::rows}};
  for (const counter& each : counters) {
    out.family(each.name, kind::counter, each.help);
    for_each([&](const bound_plan& plan, std::string_view node, const node_counts& counts) {
      out.sample({{"plan", plan.name}, {"node", node}}, static_cast<double>(counts.*each.value));
    });
  }
  const auto was_retried = [](const listed_plan& each) {
    return std::ranges::any_of(each.sums.counts, [](const node_counts& counts) { return counts.retries != 0; });
  };
  if (std::ranges::any_of(all, was_retried))
    out.family("rankd_node_retries_total", kind::counter,
               "Runs of nodes that were repeated after a failure of a store.");
  for_each([&](const bound_plan& plan, std::string_view node, const node_counts& counts) {
    if (counts.retries != 0) out.sample({{"plan", plan.name}, {"node", node}}, static_cast<double>(counts.retries));
  });
  out.family("rankd_node_duration_seconds", kind::histogram,
             "Time that nodes spent queued (queue), computing (run) or waiting for a store (io).");
  for_each([&](const bound_plan& plan, std::string_view node, const node_counts& counts) {
    const std::string_view part = waits(plan, node) ? "io" : "run";
    out.histogram({{"plan", plan.name}, {"node", node}, {"part", "queue"}}, counts.queue.buckets(),
                  counts.queue.seconds());
    out.histogram({{"plan", plan.name}, {"node", node}, {"part", part}}, counts.work.buckets(), counts.work.seconds());
  });
}

}  // namespace rankd
