// src/graph/flow_builder.cpp: checks the edges of a flow, and assigns each of its values an offset in a block of
// memory.
#include <braid/graph/flow.hpp>
#include <braid/sync/atomic.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace braid::detail {
namespace {

constinit atomic<std::uint32_t> builders{0};  // the number of builders so far

constexpr std::size_t max_count = std::size_t{1} << 30U;  // the maximum number of values, and of edges

/// Assigns each value an offset after the previous value. Returns false if the sizes exceed the limit.
auto place_values(flow_plan& plan) -> bool {
  constexpr std::size_t max_bytes = std::size_t{1} << 40U;
  for (flow_value_slot& each : plan.values) {
    const std::size_t alignment = each.kind.alignment;
    each.offset = (plan.values_end + alignment - 1) / alignment * alignment;
    plan.values_end = each.offset + each.kind.size;
    plan.alignment = std::max(plan.alignment, alignment);
    if (plan.values_end > max_bytes) return false;
  }
  return true;
}

}  // namespace

flow_draft::flow_draft(std::span<const flow_value_kind> inputs) : number_(builders.fetch_add(1, relaxed) + 1) {
  for (const flow_value_kind& each : inputs) plan_.values.push_back({each});
  plan_.inputs = inputs.size();
}

auto flow_draft::add(const flow_node_options& options, flow_call call, boxed_call fn, flow_value_kind gives,
                     std::span<const flow_source> takes) -> flow_source {
  const auto node = static_cast<node_index>(size());
  const auto first = static_cast<std::uint32_t>(plan_.sources.size());
  const bool is_small = call.run != nullptr && options.size == node_size::small;
  if (is_small && options.timeout != duration::max())
    add_diagnostic("timeout_of_small_node", options.name,
                   "a small function is not interrupted, so it cannot have a timeout");
  for (const flow_source source : takes) {
    if (!is_known(source)) {
      add_diagnostic("unknown_node", options.name, "its input comes from a node of another builder");
      continue;
    }
    plan_.sources.push_back(source.value);
    if (source.value >= plan_.inputs) edges_.push_back({static_cast<node_index>(source.value - plan_.inputs), node});
  }
  const node_mode mode = call.start != nullptr ? node_mode::task : is_small ? node_mode::here : node_mode::worker;
  plan_.nodes.push_back({.name = std::string(options.name),
                         .mode = mode,
                         .timeout = options.timeout,
                         .call = call,
                         .fn = std::move(fn),
                         .first_source = first,
                         .sources = static_cast<std::uint32_t>(plan_.sources.size() - first)});
  plan_.values.push_back({gives});
  return {static_cast<flow_value_index>(plan_.values.size() - 1), number_};
}

void flow_draft::add_diagnostic(std::string_view code, std::string_view node, std::string message) {
  diagnostics_.add({.code = std::string(code),
                    .pointer = {},
                    .message = std::move(message),
                    .hint = {},
                    .node = std::string(node),
                    .source = {}});
}

auto flow_draft::build(flow_source result) -> checked<std::shared_ptr<const flow_plan>> {
  if (result.builder != 0 && !is_known(result))
    add_diagnostic("unknown_node", {}, "the result comes from a node of another builder");
  if (plan_.values.size() > max_count || edges_.size() > max_count || !place_values(plan_))
    add_diagnostic("too_large", {}, "a flow may have at most 2^30 nodes, 2^30 edges and a tebibyte of values");
  if (!diagnostics_.empty()) return std::unexpected(std::move(diagnostics_));
  plan_.shape = graph_shape::make(plan_.nodes.size(), edges_).value();
  return std::make_shared<const flow_plan>(std::move(plan_));
}

}  // namespace braid::detail

namespace braid {

void detail::flow_ending::fill(flow_report& report, const flow_state& state, const flow_run& run) {
  const std::size_t nodes = state.plan().nodes.size();
  report.progress_.reserve(nodes);
  for (node_index node = 0; node < nodes; ++node) report.progress_.push_back(run.progress(node));
  report.times_.assign(state.times().begin(), state.times().end());
  report.plan_ = state.shared_plan();
  report.begin_ = state.begin();
  report.late_ = run.late();
  report.has_times_ = report.times_.size() == nodes && state.records_times();
}

}  // namespace braid
