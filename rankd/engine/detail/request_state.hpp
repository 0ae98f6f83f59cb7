// rankd/engine/detail/request_state.hpp: the state of one run of a plan for one request, and the adapter for the graph
// runner.
#pragma once

#include <rankd/engine/plans/bound_plan.hpp>
#include <rankd/engine/caching/chunk_cache.hpp>
#include <rankd/engine/detail/cached_parts.hpp>
#include <rankd/engine/options.hpp>
#include <rankd/engine/requests/request.hpp>
#include <rankd/op/operator.hpp>
#include <rankd/op/usage.hpp>
#include <rankd/rows/row_set.hpp>
#include <rankd/store/shared_reads.hpp>
#include <rankd/store/store.hpp>

#include <braid/base/arena.hpp>
#include <braid/base/clock.hpp>
#include <braid/coro/task.hpp>
#include <braid/graph/run.hpp>
#include <braid/sync/atomic.hpp>
#include <braid/sync/stop_flag.hpp>
#include <braid/trace/trace.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace rankd {

/// The state of one node during a request. Only the thread that runs the node writes it. Other threads may read the two
/// atomic times meanwhile.
struct node_slot {
  explicit node_slot(chunk_cache& chunks) noexcept : memory(1024, &chunks) {}

  /// The memory of a node that does not run on the loop. It allocates nothing before its first use.
  braid::arena memory;
  row_set output;
  std::optional<op_error> error;
  std::uint64_t malformed_ids = 0;
  std::uint64_t malformed_values = 0;
  std::uint64_t looked_at = 0;
  const merged_rows* merged = nullptr;  ///< for a node that merges rows, after it has ended
  std::optional<std::uint64_t> next_page;
  std::size_t rows_in = 0;
  std::int64_t retries = 0;  ///< retries so far
  braid::node_mode mode = braid::node_mode::here;
  // The times below are set only if `node_timing` is `on`, because reading a clock takes as long as running a small
  // node.
  braid::time_point ready{};
  braid::atomic<braid::duration::rep> started{0};  // written by the running worker; read by the loop, perhaps meanwhile
  braid::atomic<braid::duration::rep> ended{0};    // the same; written after everything else in the slot

  [[nodiscard]] auto started_at() const noexcept -> braid::time_point {
    return braid::time_point(braid::duration(started.load(braid::relaxed)));
  }
  /// Returns the time at which the node ended. Requires that the node has ended.
  [[nodiscard]] auto ended_at() const noexcept -> braid::time_point {
    return braid::time_point(braid::duration(ended.load(braid::relaxed)));
  }
};

/// The state of a node that failed and has a fallback. The loop writes this state before it starts the nodes that read
/// the fallback's rows.
struct fallen_node {
  std::string_view code;  ///< the code of the failure; empty if the node has not failed
  row_set output;         ///< unset if another node is the fallback
};

/// States whether the times of each node are measured.
enum class node_timing : std::uint8_t { off, on };

/// The size of the memory that a request allocates first, and the cache that provides its chunks.
struct first_memory {
  std::shared_ptr<chunk_cache> chunks;
  std::size_t bytes = 0;
};

/// The plan, or the part of a plan, that runs for a request.
struct run_target {
  std::shared_ptr<const bound_plan> plan;
  /// The caches from which nodes read their rows. If this pointer is null, nodes with a cache run like other nodes.
  cached_parts* caches = nullptr;
  /// The part of the plan that runs, and whose rows are the answer. If this pointer is null, the whole plan runs.
  const bound_cache* part = nullptr;

  [[nodiscard]] auto route(std::span<const scalar> params) const -> std::shared_ptr<const plan_route> {
    if (part != nullptr) return part->part->find_route(params);
    return caches != nullptr ? plan->caches->rest->find_route(params) : find_route(*plan, params);
  }
};

/// All state of a request. It is freed as a whole, and its memory is reused by later requests.
struct request_state {
  request_state(run_target target, rank_request&& r, request_stores s, braid::time_point now, node_timing t,
                first_memory first)
      : plan(std::move(target.plan)),
        caches(target.caches),
        part(target.part),
        request(std::move(r)),
        stores(std::move(s.list)),
        reads(std::move(s.reads)),
        pinned(std::move(s.from)),
        begin(now),
        timing(t),
        chunks(std::move(first.chunks)),
        memory(first.bytes, chunks.get()),
        used(plan->budget, plan->nodes.size()),
        route(run_target{plan, caches, part}.route(request.params)),
        cached(caches == nullptr ? 0 : plan->caches->all.size()),
        nodes(make_nodes()) {
    if (plan->has_fallbacks) expect_failures();
  }
  request_state(const request_state&) = delete;
  auto operator=(const request_state&) -> request_state& = delete;
  ~request_state() { std::ranges::destroy(nodes); }

  std::shared_ptr<const bound_plan> plan;  ///< perhaps no longer the one that serves
  cached_parts* caches;                    ///< as in run_target
  const bound_cache* part;                 ///< as in run_target
  rank_request request;
  store_list stores;
  std::shared_ptr<const request_reads> reads;  ///< null if nothing counts the reads of the stores
  pinned_stores pinned;  ///< the stores from which parts of the plan read; not set without a cache
  braid::time_point begin;
  node_timing timing;
  std::shared_ptr<chunk_cache> chunks;  ///< shared, because answers may outlive the engine
  braid::arena memory;  ///< for the request as a whole, and for nodes that run on the loop; only the loop uses it
  usage used;
  std::shared_ptr<const plan_route> route;  ///< the nodes that run
  std::vector<cached_node> cached;          ///< by position in plan_caches::all; empty if no cache is used
  std::span<node_slot> nodes;               ///< in `memory`
  std::span<fallen_node> fallen;            ///< by node number; empty if the plan has no fallbacks

  /// Returns the nodes whose rows a node reads. For a node that chooses among inputs, this is only the chosen input.
  [[nodiscard]] auto find_sources(node_index node) const noexcept -> std::span<const node_index> {
    if (route->takes_cached(node)) return {};
    if (route->taken.empty() || route->taken[node] == plan_route::none) return plan->nodes[node].sources;
    return {&route->taken[node], 1};
  }

  /// Returns how a node with a cache got its rows. Returns null if the node does not use a cache.
  [[nodiscard]] auto find_cached(node_index node) const noexcept -> const cached_node* {
    if (!route->takes_cached(node)) [[likely]]
      return nullptr;
    return &cached[static_cast<std::size_t>(plan->caches->of_node[node] - plan->caches->all.data())];
  }
  [[nodiscard]] auto find_cached(node_index node) noexcept -> cached_node* {
    return const_cast<cached_node*>(
        std::as_const(*this).find_cached(node));  // NOLINT(*-const-cast): of a state to write
  }

  /// Returns the code of a node's failure, if the node's fallback is used. Returns an empty text if not. Threads: the
  /// loop's thread.
  [[nodiscard]] auto failure_of(node_index node) const noexcept -> std::string_view {
    return fallen.empty() ? std::string_view() : fallen[node].code;
  }

  /// Returns the output rows of a node: its own, or those of its fallback. Requires that the node has ended.
  [[nodiscard]] auto find_rows(node_index node) const noexcept -> const row_set& {
    if (!fallen.empty()) [[unlikely]]
      return find_replaced_rows(node);
    return nodes[node].output;
  }

  /// Returns whether a node does not run in this request. Requires that all nodes before it have ended.
  [[nodiscard]] auto is_idle(node_index node) const noexcept -> bool {
    if (route->bypasses(node)) return true;
    if (fallen.empty()) [[likely]]
      return false;
    const auto& wakers = route->wakers[node];
    return !wakers.empty() &&
           std::ranges::none_of(wakers, [this](node_index waker) { return !fallen[waker].code.empty(); });
  }

 private:
  [[nodiscard]] auto find_replaced_rows(node_index node) const noexcept -> const row_set&;
  void expect_failures();
  auto make_nodes() -> std::span<node_slot> {
    const std::size_t count = plan->nodes.size();
    auto* const first = static_cast<node_slot*>(memory.bytes(count * sizeof(node_slot), alignof(node_slot)));
    for (std::size_t at = 0; at < count; ++at) std::construct_at(first + at, *chunks);
    return {first, count};
  }
};

/// The adapter that the graph runner uses to run the nodes of a plan.
class plan_nodes {
 public:
  plan_nodes(request_state& state, const engine_options& options) noexcept
      : state_(&state), options_(&options), is_timed_(state.timing == node_timing::on) {}

  auto mode(braid::node_index node) noexcept -> braid::node_mode;
  auto timeout(braid::node_index node) const noexcept -> braid::duration {
    if (state_->route->takes_cached(node)) return braid::duration::max();  // its nodes have their own
    return std::min(options_->node_timeout, state_->plan->nodes[node].timeout);
  }
  auto run(braid::node_index node, const braid::stop_flag& stop) -> braid::node_status;
  auto start(braid::node_index node) -> braid::task<braid::node_status> {
    return state_->route->takes_cached(node) ? take_cached(node) : ask(node);
  }
  auto replaces(const braid::graph_failure& failure) noexcept -> bool;
  auto may_fail(braid::node_index node) const noexcept -> bool;

 private:
  [[nodiscard]] auto now() const noexcept -> braid::time_point {
    return is_timed_ ? braid::steady_time().now() : braid::time_point{};
  }
  [[nodiscard]] auto find_place(const bound_op& op, std::size_t rows) const noexcept -> braid::node_mode;
  [[nodiscard]] auto find_part(const bound_op& op, const node_slot& slot) const noexcept -> std::size_t;
  auto make_context(braid::node_index node) -> node_context;
  [[nodiscard]] auto keeps_budget(const bound_node& node, const node_context& context, std::size_t rows) const noexcept
      -> bool;
  auto compute(braid::node_index node, const braid::stop_flag& stop) -> braid::node_status;
  auto ask(braid::node_index node) -> braid::task<braid::node_status>;
  auto take_cached(braid::node_index node) -> braid::task<braid::node_status>;
  auto ended(braid::node_index node, const cached_node& own) -> braid::node_status;
  [[nodiscard]] auto make_activity(braid::node_index node) const -> braid::trace::activity;
  auto ended(braid::node_index node, const node_context& context, op_result<row_set> result) -> braid::node_status;

  request_state* state_;
  const engine_options* options_;
  bool is_timed_;
};

}  // namespace rankd
