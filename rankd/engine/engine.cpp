// rankd/engine/engine.cpp: runs one request from its start to its answer.
#include <rankd/engine/engine.hpp>

#include <rankd/engine/detail/cached_parts.hpp>
#include <rankd/engine/detail/capture_rows.hpp>
#include <rankd/engine/detail/explain.hpp>
#include <rankd/engine/detail/request_state.hpp>
#include <rankd/engine/detail/thrown_message.hpp>
#include <rankd/engine/requests/page_cursors.hpp>
#include <rankd/engine/plans/plan_needs.hpp>
#include <rankd/rows/concat.hpp>

#include <braid/base/config.hpp>
#include <braid/coro/scope.hpp>
#include <braid/graph/run.hpp>
#include <braid/base/detail/memory_shortage.hpp>
#include <braid/task/detail/job_allocator.hpp>
#include <braid/trace/trace.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

namespace rankd {

/// A run of a plan. The scope of the run is a child of the loop's root scope, not of the caller's scope, because the
/// run may end after the answer.
struct engine::execution {
  execution(const engine& owner, braid::scope& root, braid::time_point deadline, std::shared_ptr<request_state> s)
      : state(std::move(s)),
        inside(root, deadline),
        nodes(*state, owner.options_),
        graph(owner.options_.order == run_order::one_by_one ? state->route->line : state->route->shape, nodes,
              owner.runtime_->workers(), inside, &state->memory) {}

  std::shared_ptr<request_state> state;
  braid::scope inside;
  plan_nodes nodes;
  braid::graph_run<plan_nodes> graph;
};

namespace {

/// The result of a run, from which the answer is written.
struct run_end {
  const braid::graph_run<plan_nodes>& graph;
  const braid::graph_shape& shape;
  std::optional<braid::graph_failure> failure;
  std::optional<usage::breach> breach;  ///< why the node of the failure counts as failed
};

/// Returns the name of a node for use in messages.
auto name_of(const bound_node& node) -> std::string {
  return "node `" + node.node_id + (node.place.empty() ? "`" : "` (" + node.place + ")");
}

/// Returns the error for a run that exceeded its time. The error names the first unfinished node in the order of the
/// plan. Which nodes are unfinished depends on timing.
auto error_of_time(std::string code, std::string message, const run_end& run, const request_state& state)
    -> rank_error {
  for (const node_index node : run.shape.order()) {
    if (run.graph.progress(node) == braid::node_progress::done || state.route->bypasses(node)) continue;
    if (!state.failure_of(node).empty()) continue;
    const bound_node& first = state.plan->nodes[node];
    return {std::move(code), message + "; " + name_of(first) + " was the first unfinished node", first.node_id, {}};
  }
  return {std::move(code), std::move(message), {}, {}};
}

auto error_of_stop(const run_end& run, const request_state& state) -> rank_error {
  if (run.failure->reason != braid::errc::deadline_exceeded)
    return {"stopped", "the engine was stopped before the plan ended", {}, {}};
  if (state.request.deadline_from == deadline_source::budget)
    return error_of_time("time_budget_exceeded",
                         "the plan did not end within the " + std::to_string(state.plan->budget.max_deadline->count()) +
                             " ms that its budget allows",
                         run, state);
  return error_of_time("deadline_exceeded", "the deadline of the request passed before its plan was done", run, state);
}

auto error_of(const usage::breach& breach, const bound_node& node) -> rank_error {
  const bool rows = breach.what == usage::kind::rows;
  return {rows ? "row_budget_exceeded" : "memory_budget_exceeded",
          name_of(node) + ": up to this node, the plan creates " + std::to_string(breach.made) +
              (rows ? " rows" : " bytes") + ", but the budget of the plan allows " + std::to_string(breach.bound),
          node.node_id,
          {}};
}

/// Returns the error for a node that exceeded its time limit, which is its own limit or the engine's limit for all
/// nodes.
auto error_of_node_time(const bound_node& node) -> rank_error {
  const auto own = std::chrono::floor<std::chrono::milliseconds>(node.timeout).count();
  const bool has_own = node.timeout != braid::duration::max();
  return {"node_timeout",
          name_of(node) + " did not end within " +
              (has_own ? "its time limit of " + std::to_string(own) + " ms"
                       : "the time limit for all nodes (--node-timeout-ms)"),
          node.node_id,
          {}};
}

auto error_of(const run_end& run, const request_state& state) -> rank_error {
  using cause = braid::graph_failure::cause;
  const braid::graph_failure& failure = *run.failure;
  if (failure.why == cause::run_stopped) return error_of_stop(run, state);
  const bound_node& failed = state.plan->nodes[failure.node];
  if (run.breach) return error_of(*run.breach, failed);
  const std::string& node = failed.node_id;
  const std::string named = name_of(failed);
  if (failure.why == cause::node_timeout) return error_of_node_time(failed);
  if (const cached_node* taken = state.find_cached(failure.node); taken != nullptr && taken->error)
    return *taken->error;
  if (failure.error && braid::detail::is_memory_shortage(failure.error))
    return {"out_of_memory", named + " could not allocate memory", node, {}};
  if (failure.error) return {"internal_error", named + " threw: " + detail::thrown_message(failure.error), node, {}};
  const auto& node_error = state.nodes[failure.node].error;
  if (!node_error) return {"stopped", named + " was stopped", node, {}};
  return {node_error->code, named + ": " + node_error->message, node, {}};
}

/// Concatenates the rows of all outputs.
auto rows_of_outputs(request_state& state) -> row_set {
  if (state.part != nullptr) return state.find_rows(state.part->node);
  const auto& outputs = state.plan->outputs;
  if (outputs.size() == 1) return state.find_rows(outputs.front());
  const std::span<row_set> all = state.memory.uninitialized<row_set>(outputs.size());
  std::ranges::transform(outputs, all.begin(), [&state](node_index node) { return state.find_rows(node); });
  return concat(all, state.memory);
}

auto list_fields(const row_set& rows, const rank_request& request, const registries& declared)
    -> std::vector<const key_entry*> {
  std::vector<const key_entry*> fields = shown_fields(rows.table(), declared);
  if (request.output_keys)
    std::erase_if(fields, [&request](const key_entry* key) {
      return !std::ranges::binary_search(*request.output_keys, key->key_id);
    });
  return fields;
}

auto failed_node(const std::optional<braid::graph_failure>& failure) -> std::optional<node_index> {
  if (!failure || failure->why == braid::graph_failure::cause::run_stopped) return std::nullopt;
  return failure->node;
}

/// Returns the first node that exceeded the budget. After a failure, checks only the failed node and the nodes before
/// it, because other nodes may still be running.
auto find_breach(const request_state& state, const braid::graph_shape& shape,
                 const std::optional<braid::graph_failure>& failure) -> std::optional<usage::breach> {
  using cause = braid::graph_failure::cause;
  if (!state.used.is_bounded()) return std::nullopt;
  if (!failure) return state.used.first_breach(state.nodes.size());
  if (failure->why == cause::run_stopped) return std::nullopt;
  const std::uint32_t position = shape.position(failure->node);
  return state.used.first_breach(position + (failure->why == cause::node_failed ? 1 : 0));
}

/// Returns the nodes whose fallback was used, in the order of the plan.
auto list_degraded(const request_state& state) -> std::vector<degradation> {
  std::vector<degradation> out;
  if (state.fallen.empty()) return out;
  for (const node_index node : state.route->shape.order())
    if (const std::string_view code = state.failure_of(node); !code.empty())
      out.push_back({.plan = {},
                     .node = state.plan->nodes[node].node_id,
                     .code = std::string(code),
                     .used = find_substitute(*state.plan, node)});
  return out;
}

/// Returns the number of nodes whose rows were already in the cache.
auto count_cached(const request_state& state) -> std::size_t {
  return static_cast<std::size_t>(std::ranges::count_if(state.cached, [](const cached_node& each) {
    return each.rows != nullptr && (each.use == cache_use::hit || each.use == cache_use::stale);
  }));
}

/// Adds the counts of malformed values found by the nodes of cached parts, except nodes that also ran for this request.
/// Requires that all nodes have ended, because only then is it known which fallback nodes have run.
void count_malformed_of_parts(request_state& state) {
  for (node_index node = 0; node < state.nodes.size(); ++node) {
    const cached_node* const taken = state.find_cached(node);
    if (taken == nullptr || taken->rows == nullptr) continue;
    for (const malformed_counts& each : taken->rows->malformed) {
      if (each.node != node && !state.is_idle(each.node)) continue;
      state.nodes[each.node].malformed_ids = each.ids;
      state.nodes[each.node].malformed_values = each.values;
    }
  }
}

/// Returns whether a cached part also served other requests. If so, the time of this request is no measure of the
/// plan's cost.
auto shares_work(const request_state& state) -> bool {
  return std::ranges::any_of(state.cached, [](const cached_node& each) { return each.use != cache_use::miss; });
}

/// Returns whether an option of any node of the plan names this endpoint.
auto names_endpoint(const plan& stated, std::string_view endpoint_id) -> bool {
  return std::ranges::any_of(stated.nodes, [endpoint_id](const plan_node& node) {
    return std::ranges::any_of(node.params, [endpoint_id](const plan_param& param) {
      const auto* value = std::get_if<std::string>(&param.value);
      return param.kind == param_kind::endpoint_ref && value != nullptr && *value == endpoint_id;
    });
  });
}

/// Returns the generations of the embedded stores that the plan reads.
auto list_generations(const request_state& state, const registries& declared) -> std::vector<generation_report> {
  std::vector<generation_report> out;
  for (std::size_t at = 0; at < state.stores->size(); ++at) {
    const store* const each = (*state.stores)[at];
    if (each == nullptr || each->generation() == 0) continue;
    const std::string& id = declared.endpoints()[at].endpoint_id;
    if (names_endpoint(*state.plan->stated, id)) out.push_back({.endpoint_id = id, .generation = each->generation()});
  }
  return out;
}

/// Completes the explanation of a run. The time after the critical path is computed as the total time minus the time of
/// the critical path, so that all times add up exactly.
auto make_explanation(const run_picture& run, const ranking& answer, const registries& declared) -> explanation {
  explanation all = explain(run, declared);
  all.total = answer.total;
  all.answering = answer.total;
  for (const path_step& step : all.critical_path) all.answering -= step.wait + step.run;
  if (run.state.reads != nullptr) all.reads = run.state.reads->counts();
  all.generations = list_generations(run.state, declared);
  return all;
}

/// Adds the rows that the request captures. If the options enable it, also adds the rows that the plan captures.
void add_captures(const run_picture& run, const engine_options& options, const registries& declared, ranking& answer) {
  if (!run.state.request.captures.empty()) answer.captured = captured_for_request(run, declared);
  if (options.captures == plan_captures::taken) answer.captured_by_plan = captured_by_plan(run, declared);
}

auto make_answer(const std::shared_ptr<request_state>& state, const run_end& run, const registries& declared,
                 const engine_options& options) -> ranking {
  const rank_request& request = state->request;
  const bool is_explained = request.explain == explain_mode::on;
  const braid::time_point known = is_explained ? braid::steady_time().now() : braid::time_point{};
  ranking answer;
  answer.request_id = request.request_id;
  answer.engine_request_id = request.engine_request_id;
  answer.plan = state->plan->name;
  answer.memory = state;
  answer.experiments = state->plan->experiments;
  answer.arms = request.arms;
  answer.shares_work = shares_work(*state);
  if (run.failure) {
    answer.error = error_of(run, *state);
  } else {
    answer.rows = rows_of_outputs(*state);
    answer.fields = list_fields(answer.rows, request, declared);
    answer.cached_nodes = count_cached(*state);
    answer.degraded = list_degraded(*state);
    count_malformed_of_parts(*state);
    for (node_index node = 0; node < state->nodes.size(); ++node) {
      if (!state->failure_of(node).empty()) continue;  // it may run on, and what it found is not shown
      answer.malformed_ids += state->nodes[node].malformed_ids;
      answer.malformed_values += state->nodes[node].malformed_values;
    }
  }
  if (options.metrics == node_metrics::collected) answer.nodes = list_samples(run.graph, run.failure, *state);
  answer.total = braid::steady_time().now() - state->begin;
  const bool is_captured = !request.captures.empty() || (options.captures == plan_captures::taken &&
                                                         captures_request(*state->plan, request.request_id));
  if (!is_explained && !is_captured) [[likely]]
    return answer;
  const run_picture picture{.state = *state,
                            .shape = run.shape,
                            .nodes = list_states(run.graph, run.failure, *state),
                            .failed = failed_node(run.failure),
                            .known = known,
                            .candidates = answer.rows};
  if (is_captured) add_captures(picture, options, declared, answer);
  if (is_explained) answer.explained = std::make_shared<const explanation>(make_explanation(picture, answer, declared));
  return answer;
}

/// Returns the answer to a request that is refused before any node runs.
auto refusal_of(const bound_plan& plan, const rank_request& request, rank_error error) -> ranking {
  ranking answer;
  answer.request_id = request.request_id;
  answer.engine_request_id = request.engine_request_id;
  answer.plan = plan.name;
  answer.error = std::move(error);
  return answer;
}

/// Returns the cursor of the next page. Returns an empty text if there is no next page.
auto make_next_cursor(const request_state& state, const ranking& answer, const engine_options& options) -> std::string {
  const std::optional<node_index> node = state.plan->page_node;
  if (answer.error || !node || !state.failure_of(*node).empty() || !state.nodes[*node].next_page) return {};
  const asked_page& page = state.request.page;
  return options.cursors->sign({.begin = *state.nodes[*node].next_page, .first = page.first}, page.identity,
                               state.request.time);
}

/// Returns whether a request may read rows from the cache. A request that captures rows or explains ids runs all nodes
/// instead.
auto takes_cached(const bound_plan& plan, const rank_request& request, const engine_options& options) -> bool {
  if (plan.caches == nullptr || !request.captures.empty() || !request.explain_ids.empty()) return false;
  return options.captures != plan_captures::taken || !captures_request(plan, request.request_id);
}

/// Returns the name of a request in traces of the process.
auto activity_name(const request_state& state) -> std::string {
  std::string out = "request " + state.request.engine_request_id + " of plan " + state.plan->name;
  if (!state.request.trace_id.empty()) out += " in trace " + state.request.trace_id;
  return out;
}

}  // namespace

engine::engine(braid::runtime& runtime, const registries& declared, std::vector<store*> stores, engine_options options)
    : runtime_(&runtime),
      declared_(&declared),
      pins_(stores),
      shared_(shared_reads::suits(stores) ? std::make_unique<shared_reads>(std::move(stores), options.records)
                                          : nullptr),
      options_(std::move(options)) {
  if (options_.cache.bytes == 0) return;
  // A cached part of a plan has the plan's limits for rows and bytes, but not its time limit. Each waiting request has
  // its own deadline.
  caches_ = std::make_unique<cached_parts>(
      options_.cache, [this](std::shared_ptr<const bound_plan> plan, const bound_cache& part, rank_request request,
                             const pinned_stores& pinned) {
        return rank_alone({.plan = std::move(plan), .caches = nullptr, .part = &part}, std::move(request),
                          stores_from(pinned));
      });
}

engine::~engine() = default;

auto engine::cached() const noexcept -> std::optional<cache_counts> {
  return caches_ == nullptr ? std::nullopt : std::optional(caches_->counts());
}

auto engine::stores_of_request() -> request_stores { return stores_from(pins_.now()); }

auto engine::stores_from(const pinned_stores& pinned) -> request_stores {
  request_stores out =
      shared_ == nullptr ? request_stores(pinned.list) : request_stores(shared_->for_request(pinned.list));
  if (caches_ != nullptr) out.from = pinned;
  return out;
}

auto engine::rank(const bound_plan& plan, rank_request request) -> braid::task<ranking> {
  return begin(std::shared_ptr<const bound_plan>(std::shared_ptr<const void>(), &plan), std::move(request), {});
}

auto engine::rank(std::shared_ptr<const bound_plan> plan, rank_request request, request_stores stores)
    -> braid::task<ranking> {
  return begin(std::move(plan), std::move(request), std::move(stores));
}

/// Starts the task for a request. A request is a large object, so it is moved only once, into its task.
auto engine::begin(std::shared_ptr<const bound_plan> plan, rank_request&& request, request_stores stores)
    -> braid::task<ranking> {
  cached_parts* const caches = stores.list == nullptr ? caches_.get() : nullptr;
  if (stores.list == nullptr) stores = stores_of_request();
  if (plan->substitute == nullptr) [[likely]]
    return rank_alone({.plan = std::move(plan), .caches = caches}, std::move(request), std::move(stores));
  return rank_or_substitute(std::move(plan), std::move(request), std::move(stores), caches);
}

/// Runs a plan, and if it fails, its fallback plan. The plan's deadline is shortened by the time that is reserved for
/// the fallback plan.
auto engine::rank_or_substitute(std::shared_ptr<const bound_plan> plan, rank_request request, request_stores stores,
                                cached_parts* caches) -> braid::task<ranking> {
  using std::chrono::milliseconds;
  braid::scope& around = co_await braid::this_scope();
  const braid::time_point begun = around.where().now();
  const plan_fallback& fallback = *plan->stated->fallback;
  keep_to_budget(request, plan->budget, options_.times);
  rank_request again = request;
  if (request.deadline)
    request.deadline = std::max(*request.deadline - milliseconds(fallback.reserve_ms), milliseconds(1));
  auto first_task = rank_alone({.plan = plan, .caches = caches}, std::move(request), stores);
  ranking first = co_await std::move(first_task);
  if (!first.error) co_return first;
  const auto code = find_failure(fallback.on, first.error->code, plan_failure_codes());
  if (!code) co_return first;

  again.arms.clear();      // their values are in the params
  again.captures.clear();  // they are nodes of the plan that has failed
  if (again.deadline) {
    const auto used = std::chrono::floor<milliseconds>(around.where().now() - begun);
    again.deadline = std::max(*again.deadline - used, milliseconds(1));
  }
  if (!check_needs(again, find_route(*plan->substitute, again.params)->needs, *plan->declared).empty()) co_return first;
  auto second_task = rank_alone({.plan = plan->substitute, .caches = caches}, std::move(again), std::move(stores));
  ranking second = co_await std::move(second_task);
  first.shares_work = second.shares_work = first.shares_work || second.shares_work;
  if (second.error) {
    first.failed_after = std::make_shared<const ranking>(std::move(second));
    co_return first;
  }
  second.degraded.insert(second.degraded.begin(),
                         {.plan = plan->name, .node = {}, .code = std::string(*code), .used = second.plan});
  second.plan = plan->name;
  second.experiments = first.experiments;
  second.arms = first.arms;
  second.captured = first.captured;
  second.total += first.total;
  second.failed_before = std::make_shared<const ranking>(std::move(first));
  co_return second;
}

auto engine::rank_alone(run_target target, rank_request request, request_stores stores) -> braid::task<ranking> {
  braid::scope& around = co_await braid::this_scope();
  const braid::time_point now = around.where().now();
  BRAID_EXPECTS(target.plan->declared->endpoints().size() == declared_->endpoints().size(),
                "a plan and the engine must have the same endpoints");
  if (target.part == nullptr) {
    keep_to_budget(request, target.plan->budget, options_.times);
    if (auto refused = find_page(request, *target.plan, *target.plan->declared, options_.cursors.get()))
      co_return refusal_of(*target.plan, request, std::move(*refused));
  }
  if (!takes_cached(*target.plan, request, options_)) target.caches = nullptr;
  const braid::time_point own = request.deadline ? now + *request.deadline : braid::time_point::max();
  // If the caller's scope has an earlier deadline than the request, that deadline counts as the request's own deadline.
  if (around.deadline() < own) request.deadline_from = deadline_source::request;
  const node_timing timing =
      target.part == nullptr ? choose_timing(request) : node_timing::off;  // a part is not a request
  auto state = std::allocate_shared<request_state>(braid::detail::job_allocator<request_state>(), std::move(target),
                                                   std::move(request), std::move(stores), braid::steady_time().now(),
                                                   timing, first_memory{chunks_, first_chunk_.load(braid::relaxed)});
  const braid::trace::activity shown =
      braid::trace::is_on() ? braid::trace::activity(activity_name(*state)) : braid::trace::activity();
  auto run = std::allocate_shared<execution>(braid::detail::job_allocator<execution>(), *this, around.where().root(),
                                             std::min(own, around.deadline()), state);

  around.where().root().spawn(run_to_the_end(run, *this));

  // If the waiting caller is stopped, the run is stopped as well.
  struct stop_guard {
    execution& target;
    ~stop_guard() { target.inside.request_stop(); }
  };
  {
    const stop_guard guard{*run};
    co_await run->graph.settled();
  }
  std::optional<braid::graph_failure> failure = run->graph.failure();
  const braid::graph_shape& shape = options_.order == run_order::one_by_one ? state->route->line : state->route->shape;
  const std::optional<usage::breach> breach = find_breach(*state, shape, failure);
  if (breach) failure = {braid::graph_failure::cause::node_failed, shape.order()[breach->position], nullptr};
  // Nodes that run on the loop delay the loop's timers, so the deadline is checked again.
  if (!failure && around.where().now() >= run->inside.deadline())
    failure = {braid::graph_failure::cause::run_stopped, 0, nullptr, braid::errc::deadline_exceeded};
  const run_end end{.graph = run->graph, .shape = shape, .failure = failure, .breach = breach};
  ranking answer = make_answer(state, end, *state->plan->declared, options_);
  note_memory(state->memory.used());
  answer.next_cursor = make_next_cursor(*state, answer, options_);
  co_return answer;
}

/// Returns whether the nodes of a request are timed. The nodes are always timed if the request sets `explain` or
/// requires times.
auto engine::choose_timing(const rank_request& request) noexcept -> node_timing {
  const bool explained = request.explain == explain_mode::on;
  const bool counted = options_.metrics == node_metrics::collected && asked_++ % std::max(options_.timed_of, 1U) == 0;
  return explained || counted || request.is_timed ? node_timing::on : node_timing::off;
}

/// Adapts the initial memory of later requests to the memory that recent requests used, so that one chunk is usually
/// enough. After a single large request, the size decreases again quickly.
void engine::note_memory(std::size_t used) noexcept {
  constexpr std::size_t min_count = 4096;
  constexpr std::size_t max_count = std::size_t{1} << 20U;
  const std::size_t before = first_chunk_.load(braid::relaxed);
  const std::size_t wanted = used > before ? used : before - (before - used) / 16;
  first_chunk_.store(std::clamp(wanted, min_count, max_count), braid::relaxed);
}

/// Runs a plan, and owns its state until the last node has ended. If the loop is stopping, the plan is not started.
auto engine::run_to_the_end(std::shared_ptr<execution> run, engine& owner) -> braid::task<void> {
  try {
    run->graph.start();
    co_await run->graph.join();
  } catch (...) {
    // A node has thrown the exception, and the answer already reports it.
  }
  owner.late_.fetch_add(run->graph.late(), braid::relaxed);
}

auto no_runtime(std::error_code error) -> braid::diagnostics {
  return braid::diagnostics({.code = "no_runtime",
                             .pointer = {},
                             .message = "no thread can be started: " + error.message(),
                             .hint = {},
                             .node = {},
                             .source = {}});
}

}  // namespace rankd
