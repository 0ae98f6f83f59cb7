// rankd/engine/explain/explain.cpp: reports the states and times of nodes, and the critical path that determined the
// total time.
#include <rankd/engine/detail/explain.hpp>

#include <braid/graph/shape.hpp>

#include <algorithm>
#include <utility>

namespace rankd {
namespace {

using some_time = std::optional<braid::duration>;

auto find_state(braid::node_progress progress) -> node_state {
  using enum braid::node_progress;
  switch (progress) {
    case done: return node_state::done;
    case replaced:
    case failed: return node_state::failed;
    case stopped: return node_state::stopped;
    case running:
    case late: return node_state::running;  // when the answer was known
    case skipped: break;
  }
  return node_state::skipped;
}

/// Returns whether a node that is in this state has written all its results.
auto is_over(node_state state) -> bool { return state == node_state::done || state == node_state::failed; }

/// Returns the state of a node at the end of a run.
auto state_in(const braid::graph_run<plan_nodes>& run, const request_state& state, node_index node) -> node_state {
  if (state.route->bypasses(node)) return node_state::bypassed;
  if (state.failure_of(node) == "node_timeout") return node_state::timed_out;
  const node_state known = find_state(run.progress(node));
  return known == node_state::done && state.is_idle(node) ? node_state::bypassed : known;
}

/// Returns the state of the node that caused the error of a run. A node that exceeded the budget may itself have ended
/// normally.
auto state_of_failed(const braid::graph_failure& failure, node_state known) -> node_state {
  using cause = braid::graph_failure::cause;
  if (failure.why == cause::node_timeout) return node_state::timed_out;
  return failure.why == cause::node_failed ? node_state::failed : known;
}

/// The times of a node at the moment of the answer. For a node that is still running on a worker, only the start is
/// read.
struct stamps {
  some_time ready;
  some_time started;
  some_time ended;
};

auto find_stamps(const run_picture& run, node_index node) -> stamps {
  const node_slot& slot = run.state.nodes[node];
  const auto since_begin = [&](braid::time_point time) -> some_time {
    if (time == braid::time_point{}) return std::nullopt;
    return std::min(time, run.known) - run.state.begin;
  };
  stamps all{.ready = since_begin(slot.ready), .started = since_begin(slot.started_at()), .ended = std::nullopt};
  if (is_over(run.nodes[node])) all.ended = since_begin(slot.ended_at());
  return all;
}

auto keys_added(const request_state& state, node_index node, const registries& declared) -> std::vector<std::string> {
  std::vector<std::string> added;
  for (const keyed_column& each : state.nodes[node].output.table().columns()) {
    bool known = false;
    for (const node_index source : state.find_sources(node))
      known = known || state.find_rows(source).table().find(each.key_id).has_value();
    const key_entry* key = declared.find_key(each.key_id);
    if (!known && key != nullptr) added.push_back(key->name);
  }
  return added;
}

auto make_options(const rank_request& request, const bound_node& node, const registries& declared)
    -> std::vector<option_report> {
  std::vector<option_report> out;
  for (const bound_option& option : node.options) {
    const auto is_among = [&option](const std::vector<std::size_t>& params) {
      return std::ranges::find(params, option.param) != params.end();
    };
    const value_source other = is_among(request.set_by_arms) ? value_source::experiment : value_source::standard;
    out.push_back({.option = option.name,
                   .param = declared.params()[option.param].name,
                   .value = request.params[option.param],
                   .from = is_among(request.overridden) ? value_source::request : other});
  }
  return out;
}

/// Returns the id of the input that a node has chosen. Returns an empty text for nodes that do not choose.
auto chosen_by(const request_state& state, node_index node) -> std::string {
  const auto& taken = state.route->taken;
  return taken.empty() || taken[node] == plan_route::none ? std::string() : state.plan->nodes[taken[node]].node_id;
}

auto make_report(const run_picture& run, node_index node, const registries& declared) -> node_report {
  const bound_plan& plan = *run.state.plan;
  const bound_node& what = plan.nodes[node];
  const node_slot& slot = run.state.nodes[node];
  const stamps times = find_stamps(run, node);
  node_report report{.node_id = what.node_id,
                     .op = what.op_name,
                     .state = run.nodes[node],
                     .fused_with = what.fused_with ? plan.nodes[*what.fused_with].node_id : std::string(),
                     .ready = times.ready,
                     .started = times.started,
                     .ended = times.ended,
                     .waits = what.op->work() == op_work::waits,
                     .rows_in = slot.rows_in,
                     .rows_out = 0,
                     .keys_added = {},
                     .options = make_options(run.state.request, what, declared),
                     .chosen = chosen_by(run.state, node),
                     .retries = slot.retries};
  if (const cached_node* taken = run.state.find_cached(node); taken != nullptr && is_over(report.state)) {
    report.cache = taken->use;
    report.cached = taken->age;
    report.waits = true;
  }
  if (const std::string_view failure = run.state.failure_of(node); !failure.empty()) {
    report.failure = failure;
    report.used = find_substitute(plan, node);
  }
  if (report.state != node_state::done) return report;
  report.rows_out = slot.output.size();
  report.looked_at = slot.looked_at;
  report.keys_added = keys_added(run.state, node, declared);
  return report;
}

/// Returns the times of a node for `critical_path`. For a node that has not ended, the time of the answer is used.
/// Nodes after a failed node have no times, because such nodes did not influence the answer.
auto path_times(const run_picture& run, node_index node) -> braid::node_times {
  const stamps times = find_stamps(run, node);
  if (!times.ready || run.nodes[node] == node_state::skipped) return {};
  if (run.failed && run.shape.position(node) > run.shape.position(*run.failed)) return {};
  const braid::time_point begin = run.state.begin;
  const braid::duration known = run.known - begin;
  const braid::duration started = times.started.value_or(known);
  return {.ready = begin + *times.ready, .started = begin + started, .ended = begin + times.ended.value_or(known)};
}

auto find_path(const run_picture& run) -> std::vector<path_step> {
  std::vector<braid::node_times> times(run.state.nodes.size());
  for (node_index node = 0; node < times.size(); ++node) times[node] = path_times(run, node);
  std::vector<path_step> path;
  for (const braid::critical_step& step : braid::critical_path(run.shape, run.state.begin, times)) {
    const bound_node& node = run.state.plan->nodes[step.node];
    const bool waits = node.op->work() == op_work::waits || run.state.route->takes_cached(step.node);
    path.push_back({.node_id = node.node_id, .waits = waits, .wait = step.queue, .run = step.run});
  }
  return path;
}

auto list_fragments(const plan& stated) -> std::vector<fragment_report> {
  std::vector<fragment_report> out;
  for (const fragment_use& use : stated.fragments) {
    out.push_back({.use = use.id, .fragment = use.fragment, .version = use.version, .nodes = {}});
    for (const node_index node : use.nodes) out.back().nodes.push_back(stated.nodes[node].node_id);
  }
  return out;
}

auto list_arms(const request_state& state) -> std::vector<arm_report> {
  std::vector<arm_report> out;
  for (const chosen_arm& each : state.request.arms) {
    const auto& of = state.plan->experiments->experiments[each.experiment];
    const bool by_bucket = each.from == arm_source::bucket;
    out.push_back({.experiment = of.name,
                   .arm = of.arms[each.arm].name,
                   .layer = state.plan->experiments->layers[of.layer].name,
                   .bucket = by_bucket ? std::optional(each.bucket) : std::nullopt,
                   .is_overridden = each.is_overridden});
  }
  return out;
}

}  // namespace

auto list_states(const braid::graph_run<plan_nodes>& run, const std::optional<braid::graph_failure>& failure,
                 const request_state& state) -> std::vector<node_state> {
  std::vector<node_state> states;
  for (node_index node = 0; node < state.nodes.size(); ++node) states.push_back(state_in(run, state, node));
  if (failure) states[failure->node] = state_of_failed(*failure, states[failure->node]);
  return states;
}

auto list_samples(const braid::graph_run<plan_nodes>& run, const std::optional<braid::graph_failure>& failure,
                  request_state& state) -> std::span<const node_sample> {
  const std::span<node_sample> all = state.memory.filled(state.nodes.size(), node_sample());
  for (node_index node = 0; node < all.size(); ++node) {
    node_sample& out = all[node];
    const node_slot& slot = state.nodes[node];
    out.state = state_in(run, state, node);
    if (failure && failure->node == node) out.state = state_of_failed(*failure, out.state);
    out.retries = slot.retries;
    if (!is_over(out.state)) continue;
    if (out.state == node_state::done) out.rows_out = slot.output.size();
    const bool is_timed = slot.ready != braid::time_point{} && slot.started_at() != braid::time_point{};
    if (!is_timed) continue;
    out.ready = slot.ready - state.begin;
    out.queue = slot.started_at() - slot.ready;
    out.run = slot.ended_at() - slot.started_at();
  }
  return all;
}

auto explain(const run_picture& run, const registries& declared) -> explanation {
  explanation all;
  all.plan_digest = run.state.plan->digest;
  all.critical_path = find_path(run);
  for (const node_index node : run.state.plan->whole.shape.order())
    all.nodes.push_back(make_report(run, node, declared));
  all.ids = find_fates(run, declared);
  all.arms = list_arms(run.state);
  all.fragments = list_fragments(*run.state.plan->stated);
  return all;
}

auto shown_fields(const batch& table, const registries& declared) -> std::vector<const key_entry*> {
  std::vector<const key_entry*> fields;
  for (const keyed_column& each : table.columns()) {
    const key_entry* key = declared.find_key(each.key_id);
    if (key != nullptr && key->status != lifecycle::blocked && key->allow_read) fields.push_back(key);
  }
  return fields;
}

}  // namespace rankd
