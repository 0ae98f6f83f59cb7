// rankd/engine/requests/request_state.cpp: runs the nodes of a plan for one request.
#include <rankd/engine/detail/request_state.hpp>

#include <rankd/op/row_change.hpp>
#include <rankd/plan/fallback.hpp>
#include <rankd/store/hedging_stores.hpp>

#include <braid/base/config.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/sleep.hpp>

#include <algorithm>
#include <array>
#include <chrono>

namespace rankd {

/// Returns the rows of a node's fallback. If the fallback node has failed as well, the fallback of that node is used,
/// and so on. The chain ends, because the loader refuses cycles.
auto request_state::find_replaced_rows(node_index node) const noexcept -> const row_set& {
  while (!fallen[node].code.empty()) {
    const node_fallback& fallback = *plan->nodes[node].fallback;
    if (fallback.kind != fallback_kind::node) return fallen[node].output;
    node = fallback.node;
  }
  return nodes[node].output;
}

namespace {

/// Returns whether a failure with this code is temporary, so that a retry may succeed.
auto is_momentary(std::string_view code) noexcept -> bool {
  static constexpr std::array<std::string_view, 7> codes{"model_overloaded", "model_timeout",    "model_unreachable",
                                                         "store_not_ready",  "store_overloaded", "store_timeout",
                                                         "store_unreachable"};
  return std::ranges::find(codes, code) != codes.end();
}

/// Returns whether another node, a capture or the answer uses the extra column of a node. An extra column is added by
/// an operator although no option names it.
auto wants_extras(const bound_node& node, const rank_request& request) -> bool {
  if (!request.captures.empty()) return true;  // captures show all columns
  if (node.extras != extra_use::shown) return node.extras == extra_use::read;
  return !request.output_keys || std::ranges::binary_search(*request.output_keys, node.extra_key);
}

}  // namespace

void request_state::expect_failures() {
  fallen = memory.filled(plan->nodes.size(), fallen_node());
  if (!used.is_bounded()) return;
  for (node_index node = 0; node < plan->nodes.size(); ++node)
    if (plan->nodes[node].fallback) used.mark_replaceable(route->shape.position(node));
}

/// Returns whether a failed node has a fallback for its failure. If there is such a fallback, the slot of the node is
/// not read again, because a node that exceeded its time may still write to the slot.
auto plan_nodes::replaces(const braid::graph_failure& failure) noexcept -> bool {
  using cause = braid::graph_failure::cause;
  const auto& fallback = state_->plan->nodes[failure.node].fallback;
  if (!fallback || failure.error) return false;
  std::string_view code = "node_timeout";
  if (failure.why == cause::node_failed) {
    const auto& error = state_->nodes[failure.node].error;
    if (!error) return false;
    code = error->code;
  }
  const auto known = find_failure(fallback->on, code, node_failure_codes());
  if (!known) return false;
  fallen_node& fallen = state_->fallen[failure.node];
  fallen.code = *known;
  if (state_->used.is_bounded()) state_->used.withdraw(state_->route->shape.position(failure.node));
  if (fallback->kind == fallback_kind::input)
    fallen.output = state_->find_rows(state_->find_sources(failure.node).front());
  return true;
}

namespace {

/// Returns true if a fallback covers all failure codes.
auto replaces_all(const std::optional<node_fallback>& fallback) noexcept -> bool {
  return fallback && std::ranges::all_of(node_failure_codes(), [&](std::string_view code) {
           return find_failure(fallback->on, code, node_failure_codes()).has_value();
         });
}

}  // namespace

/// Returns whether a failure of the node can change the answer. Returns true for every node if the budget limits rows
/// or bytes, or if rows are captured. The run then waits for every node, because it needs the amounts or rows of all
/// nodes.
auto plan_nodes::may_fail(braid::node_index node) const noexcept -> bool {
  const bound_plan& plan = *state_->plan;
  if (state_->used.is_bounded() || !plan.captures.empty() || !state_->request.captures.empty()) return true;
  if (state_->route->takes_cached(node)) return true;
  const bound_node& what = plan.nodes[node];
  // Operators that compute can also fail with codes for which a plan cannot define a fallback.
  if (what.op->work() == op_work::waits && replaces_all(what.fallback)) return false;
  return timeout(node) != braid::duration::max() || what.op->may_fail();
}

auto plan_nodes::mode(braid::node_index node) noexcept -> braid::node_mode {
  if (state_->is_idle(node)) return braid::node_mode::here;
  const bound_node& what = state_->plan->nodes[node];
  node_slot& slot = state_->nodes[node];
  slot.ready = now();
  if (state_->route->takes_cached(node)) return slot.mode = braid::node_mode::task;
  for (const node_index source : state_->find_sources(node)) slot.rows_in += state_->find_rows(source).size();
  return slot.mode = find_place(*what.op, slot.rows_in);
}

auto plan_nodes::find_place(const bound_op& op, std::size_t rows) const noexcept -> braid::node_mode {
  if (op.work() == op_work::waits) return braid::node_mode::task;
  if (options_->order == run_order::one_by_one) return braid::node_mode::here;
  return op.cost_ns(rows, state_->request.params) <= options_->max_inline_ns ? braid::node_mode::here
                                                                             : braid::node_mode::worker;
}

/// Returns the number of rows for one parallel part. Only a node that runs on a worker is divided into parts.
auto plan_nodes::find_part(const bound_op& op, const node_slot& slot) const noexcept -> std::size_t {
  if (slot.mode != braid::node_mode::worker) return evaluate_options::one_part;
  const double parts = op.cost_ns(slot.rows_in, state_->request.params) / options_->part_ns;
  if (!(parts >= 2)) return evaluate_options::one_part;
  return static_cast<std::size_t>(static_cast<double>(slot.rows_in) / parts);
}

auto plan_nodes::make_context(braid::node_index node) -> node_context {
  const bound_node& what = state_->plan->nodes[node];
  node_slot& slot = state_->nodes[node];
  if (slot.retries == 0) slot.started.store(now().time_since_epoch().count(), braid::relaxed);
  // A node that waits has its own memory, because a store may fill that memory from another thread. If the budget
  // limits bytes, every node has its own memory, so that the memory use of the node can be measured.
  const bool shares = slot.mode == braid::node_mode::here && !state_->used.bounds_bytes();
  braid::arena& memory = shares ? state_->memory : slot.memory;
  const std::span<const node_index> sources = state_->find_sources(node);
  const std::span<row_set> inputs = memory.uninitialized<row_set>(sources.size());
  for (std::size_t at = 0; at < inputs.size(); ++at) inputs[at] = state_->find_rows(sources[at]);
  return {.memory = memory,
          .inputs = inputs,
          .params = state_->request.params,
          .stores = *state_->stores,
          .user = state_->request.user_id ? &*state_->request.user_id : nullptr,
          .rows_of_part = find_part(*what.op, slot),
          .used = state_->used.is_bounded() ? &state_->used : nullptr,
          .position = state_->route->shape.position(node),
          .candidates = state_->request.candidates.get(),
          .wants_extras = wants_extras(what, state_->request),
          .page_begin = state_->request.page.begin};
}

/// Claims the rows and bytes of a node from the budget. Only operators that create rows are charged for rows.
auto plan_nodes::keeps_budget(const bound_node& node, const node_context& context, std::size_t rows) const noexcept
    -> bool {
  if (context.used == nullptr) return true;
  return context.used->claim(context.position,
                             {.rows = makes_rows(node.change) ? rows : 0, .bytes = context.memory.reserved()});
}

auto plan_nodes::ended(braid::node_index node, const node_context& context, op_result<row_set> result)
    -> braid::node_status {
  node_slot& slot = state_->nodes[node];
  slot.ended.store(now().time_since_epoch().count(), braid::relaxed);
  slot.malformed_ids = context.malformed_ids;
  slot.malformed_values = context.malformed_values;
  slot.looked_at = context.looked_at;
  slot.next_page = context.next_page;
  slot.merged = context.merged;
  const bool fits = keeps_budget(state_->plan->nodes[node], context, result ? result->size() : 0);
  if (result && !fits) result = over_budget();
  if (!result) {
    slot.error = std::move(result.error());
    return braid::node_status::failed;
  }
  BRAID_ASSERT(keeps_promise(state_->plan->nodes[node].change, context.inputs, *result),
               "the rows of a result must have the row_change of the operator's entry");
  slot.output = *result;
  return braid::node_status::done;
}

auto plan_nodes::make_activity(braid::node_index node) const -> braid::trace::activity {
  if (!braid::trace::is_on()) [[likely]]
    return {};
  return braid::trace::activity(state_->plan->nodes[node].node_id + " of " + state_->request.engine_request_id);
}

/// Runs a node that computes. In a trace, such a node is a slice of its thread, and a node that waits is a separate
/// track.
auto plan_nodes::run(braid::node_index node, const braid::stop_flag& stop) -> braid::node_status {
  if (state_->is_idle(node)) return braid::node_status::done;  // no node that runs takes its rows
  if (!braid::trace::is_on()) [[likely]]
    return compute(node, stop);
  const braid::trace::span shown(braid::trace::intern(state_->plan->nodes[node].node_id));
  return compute(node, stop);
}

auto plan_nodes::compute(braid::node_index node, const braid::stop_flag& stop) -> braid::node_status {
  node_context context = make_context(node);
  context.stop = &stop;
  return ended(node, context, state_->plan->nodes[node].op->run(context));
}

/// Runs a node that waits. If the node fails with a temporary failure, it is retried within its own time limit and the
/// deadline of the request. If all retries fail, the last failure is returned.
auto plan_nodes::ask(braid::node_index node) -> braid::task<braid::node_status> {
  const braid::trace::activity shown = make_activity(node);
  const bound_node& what = state_->plan->nodes[node];
  node_slot& slot = state_->nodes[node];
  std::optional<hedging_stores> hedging;
  if (what.hedge != braid::duration::zero()) hedging.emplace(*state_->stores, what.hedge);
  for (;;) {
    node_context context = make_context(node);
    if (hedging) context.stores = hedging->list();
    braid::task<op_result<row_set>> work = what.op->start(context);
    op_result<row_set> result = co_await std::move(work);
    if (result || slot.retries == what.retries || !is_momentary(result.error().code))
      co_return ended(node, context, std::move(result));
    braid::scope& around = co_await braid::this_scope();
    const std::chrono::milliseconds pause(std::int64_t{1} << slot.retries);
    if (around.deadline() - around.where().now() <= pause) co_return ended(node, context, std::move(result));
    ++slot.retries;
    co_await braid::sleep_for(pause);
  }
}

/// Reads the rows of a node from the cache, or waits until they are in the cache. A task is used even if the rows are
/// already in the cache, because only a task can report that memory is exhausted.
auto plan_nodes::take_cached(braid::node_index node) -> braid::task<braid::node_status> {
  const braid::trace::activity shown = make_activity(node);
  state_->nodes[node].started.store(now().time_since_epoch().count(), braid::relaxed);
  const bound_cache& cache = *state_->plan->caches->of_node[node];
  cached_node& own = *state_->find_cached(node);
  braid::scope& around = co_await braid::this_scope();
  own = state_->caches->look_up(state_->plan, cache, state_->request, state_->pinned, around.where().root());
  if (own.rows == nullptr) {
    auto making = state_->caches->make(state_->plan, cache, state_->request, state_->pinned, own);
    co_await std::move(making);
  }
  co_return ended(node, own);
}

auto plan_nodes::ended(braid::node_index node, const cached_node& own) -> braid::node_status {
  node_slot& slot = state_->nodes[node];
  slot.ended.store(now().time_since_epoch().count(), braid::relaxed);
  if (own.rows == nullptr) {
    if (own.error) slot.error = op_error{own.error->code, own.error->message};
    return braid::node_status::failed;
  }
  const std::uint32_t position = state_->route->shape.position(node);
  if (state_->used.is_bounded() && !state_->used.claim(position, {.rows = own.rows->rows.size(), .bytes = 0})) {
    slot.error = over_budget().error();
    return braid::node_status::failed;
  }
  slot.output = own.rows->rows;
  return braid::node_status::done;
}

}  // namespace rankd
