// rankd/engine/request_state.cpp: running one node of a plan.
#include <rankd/engine/detail/request_state.hpp>

#include <rankd/op/row_change.hpp>

#include <braid/base/assert.hpp>

namespace rankd {

auto plan_nodes::place(braid::node_index node) noexcept -> braid::node_place {
  const bound_node& what = state_->plan->nodes[node];
  node_slot& slot = state_->nodes[node];
  slot.ready = braid::steady_time().now();
  for (const node_index source : what.sources) slot.rows_in += state_->nodes[source].output.size();
  if (what.op->work() == op_work::waits) return braid::node_place::task;
  const bool small = what.op->cost_ns(slot.rows_in) <= longest_run_here_ns_;
  return small ? braid::node_place::here : braid::node_place::worker;
}

auto plan_nodes::context_of(braid::node_index node) -> node_context {
  const bound_node& what = state_->plan->nodes[node];
  node_slot& slot = state_->nodes[node];
  slot.started = braid::steady_time().now();
  const std::span<row_set> inputs = slot.memory.uninitialized<row_set>(what.sources.size());
  for (std::size_t at = 0; at < inputs.size(); ++at) inputs[at] = state_->nodes[what.sources[at]].output;
  return {.memory = slot.memory,
          .inputs = inputs,
          .params = state_->request.params,
          .stores = state_->stores,
          .user_id = state_->request.user_id};
}

auto plan_nodes::ended(braid::node_index node, const node_context& context, op_result<row_set> result)
    -> braid::node_status {
  node_slot& slot = state_->nodes[node];
  slot.ended = braid::steady_time().now();
  slot.malformed_ids = context.malformed_ids;
  if (!result) {
    slot.error = std::move(result.error());
    return braid::node_status::failed;
  }
  BRAID_ASSERT(keeps_promise(state_->plan->nodes[node].change, context.inputs, *result),
               "an operator keeps what its entry says about its rows");
  slot.output = *result;
  return braid::node_status::done;
}

auto plan_nodes::run(braid::node_index node, const braid::stop_flag& stop) -> braid::node_status {
  node_context context = context_of(node);
  context.stop = &stop;
  return ended(node, context, state_->plan->nodes[node].op->run(context));
}

auto plan_nodes::start(braid::node_index node) -> braid::task<braid::node_status> {
  node_context context = context_of(node);
  braid::task<op_result<row_set>> work = state_->plan->nodes[node].op->start(context);
  op_result<row_set> result = co_await std::move(work);
  co_return ended(node, context, std::move(result));
}

}  // namespace rankd
