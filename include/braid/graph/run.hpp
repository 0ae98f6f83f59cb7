// braid/graph/run.hpp: runs each node of a graph after its predecessors: in place, on a worker, or as a task.
#pragma once

#include <braid/base/clock.hpp>
#include <braid/base/config.hpp>
#include <braid/base/intrusive_list.hpp>
#include <braid/base/detail/after.hpp>
#include <braid/coro/offload.hpp>
#include <braid/coro/scope.hpp>
#include <braid/coro/sleep.hpp>
#include <braid/coro/synchronization.hpp>
#include <braid/coro/task.hpp>
#include <braid/coro/with_scope.hpp>
#include <braid/graph/detail/graph_nodes.hpp>
#include <braid/graph/detail/run_record.hpp>
#include <braid/graph/run_options.hpp>
#include <braid/graph/shape.hpp>
#include <braid/sync/stop_flag.hpp>
#include <braid/task/executor.hpp>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory_resource>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace braid {

/// One run of a graph. The failed node that comes first in `shape.order()` decides the result of the run, regardless of
/// timing. When a node fails, nodes after it in that order are stopped or never start. Nodes before it continue,
/// because one of them may fail too. When no node before it can still fail (`detail::certain_nodes`), the run is
/// settled, and the remaining nodes are stopped. With `after_failure::keep_going`, only the nodes that depend on a
/// failed node are skipped, and the run is settled when all other nodes have ended. A node that is stopped while it
/// waits for a worker does not begin. A run is settled when its result is known, and joined when none of its nodes runs
/// any more. Between these two times, nodes that cannot be interrupted end late, and are counted. Threads: the thread
/// of the scope's home (the serial executor of its tasks). Lifetime: await `join` before you destroy the run.
template <detail::graph_nodes Nodes>
class graph_run {
 public:
  /// Prepares a run of the graph. `nodes`, `workers` and `scope` must outlive the run. Its arrays come from `memory`.
  graph_run(const graph_shape& shape, Nodes& nodes, executor& workers, scope& scope,
            std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : graph_run(shape, nodes, workers, scope, graph_run_options{.memory = memory}) {}
  /// Prepares a run of the graph with `options`. Everything that the options refer to must outlive the run.
  graph_run(const graph_shape& shape, Nodes& nodes, executor& workers, scope& scope, const graph_run_options& options);
  graph_run(const graph_run&) = delete;
  auto operator=(const graph_run&) -> graph_run& = delete;

  /// Starts every node without predecessors. Call it once.
  void start();

  /// Returns the event that is set when the result is known.
  [[nodiscard]] auto settled() noexcept -> event& { return settled_; }
  /// Returns the reason why the run failed, or nothing if all nodes are done. Requires that the run is settled.
  [[nodiscard]] auto failure() const noexcept -> const std::optional<graph_failure>& { return failure_; }
  /// Returns all failed nodes in the order of the shape. The list is empty without `keep_going`. The list is final once
  /// the run is joined.
  [[nodiscard]] auto failures() const noexcept -> std::span<const graph_failure> { return record_.failures(); }
  /// Returns when each node was ready, started and ended. The result is empty if the options have no clock. Requires
  /// that the run is joined.
  [[nodiscard]] auto times() const noexcept -> std::span<const node_times> { return record_.times(); }
  /// Returns the time at which the run started, for `critical_path`. Returns time_point::min() if the options have no
  /// clock.
  [[nodiscard]] auto begin_time() const noexcept -> time_point { return record_.begin_time(); }
  /// Waits until no node runs any more.
  [[nodiscard]] auto join() noexcept { return scope_->join(); }
  /// Returns the progress of `node`. It is final once the run is joined. After a failure, nodes that depend on the
  /// failed node were skipped; the progress of the other nodes depends on timing.
  [[nodiscard]] auto progress(node_index node) const noexcept -> node_progress { return progress_[node]; }
  /// Returns the number of nodes that ended after their time limit, or after the run was settled. Their results were
  /// not used.
  [[nodiscard]] auto late() const noexcept -> std::size_t { return late_; }

 private:
  struct running_hook : list_hook {};

  /// A node that was started on a worker or as a task, and that has not ended yet.
  struct running : running_hook, stop_callback {
    running(graph_run& r, node_index n, time_point deadline)
        : stop_callback(&stopped), run(&r), node(n), inside(*r.scope_, deadline) {
      run->running_.push_back(*this);
      if (!inside.stop().requested()) inside.link(*this);
    }
    ~running() {
      if (stop_callback::is_linked()) stop_callback::unlink();
      running_hook::unlink();
    }

    /// Handles a stop of the node. If the cause is the node's own deadline, and the run itself was not stopped, the
    /// node has exceeded its time limit.
    static void stopped(stop_callback& self) noexcept {
      auto& at = static_cast<running&>(self);
      const bool own_deadline = at.inside.stop().reason() == errc::deadline_exceeded;
      if (own_deadline && !at.run->scope_->stop().requested()) at.run->time_out(at.node);
    }

    graph_run* run;
    node_index node;
    scope inside;
  };

  struct run_stop : stop_callback {
    explicit run_stop(graph_run& r) noexcept : stop_callback(&stopped), run(&r) {}
    ~run_stop() {
      if (is_linked()) unlink();
    }
    static void stopped(stop_callback& self) noexcept { static_cast<run_stop&>(self).run->stop_run(); }
    graph_run* run;
  };

  struct ready_node {
    node_index node;
    node_mode mode;
  };

  void become_ready(node_index node);
  void drain();
  void leave();
  void run_here(node_index node);
  void start_elsewhere(ready_node ready);
  auto drive(ready_node ready) -> task<void>;
  auto compute(node_index node, const stop_flag& stop) -> task<node_status>;
  void node_ended(node_index node, outcome<node_status>& ended) noexcept;
  void node_stopped(node_index node, outcome<node_status>& ended) noexcept;
  void node_done(node_index node);
  void release_successors(node_index node) noexcept;
  auto is_replaced(const graph_failure& failure) noexcept -> bool;
  void time_out(node_index node) noexcept;
  auto go_on_after(node_index node) -> task<void>;
  void fail_at(graph_failure failure) noexcept;
  void stop_run() noexcept;
  void settle_if_decided() noexcept;

  [[nodiscard]] auto is_wanted(node_index node) const noexcept -> bool {
    if (settled_.is_set()) return false;
    if (record_.keeps_going()) return !record_.is_blocked(node);
    return !failure_ || shape_->position(node) < shape_->position(failure_->node);
  }

  const graph_shape* shape_;
  Nodes* nodes_;
  executor* workers_;
  scope* scope_;
  std::pmr::vector<std::uint32_t> waiting_for_;  // for each node, the number of edges from nodes that are not done
  std::pmr::vector<node_progress> progress_;     // the progress of each node
  std::pmr::vector<ready_node> to_start_;        // ready nodes that run elsewhere: they start first
  std::pmr::vector<node_index> here_;            // ready nodes that run here, the newest next
  std::uint32_t done_in_order_ = 0;              // the number of done nodes at the front of order()
  std::uint32_t decided_in_order_ = 0;           // nodes at the front that are done or cannot fail
  std::size_t running_count_ = 0;                // nodes that have started elsewhere and count towards max_running
  std::size_t late_ = 0;
  std::optional<graph_failure> failure_;  // the failure of the first failed node in order(), so far
  detail::run_record record_;
  intrusive_list<running, running_hook> running_;
  event settled_;
  run_stop on_stop_;
  enum class drain_state : std::uint8_t { idle, draining } drain_state_ = drain_state::idle;
};

template <detail::graph_nodes Nodes>
graph_run<Nodes>::graph_run(const graph_shape& shape, Nodes& nodes, executor& workers, scope& scope,
                            const graph_run_options& options)
    : shape_(&shape),
      nodes_(&nodes),
      workers_(&workers),
      scope_(&scope),
      waiting_for_(shape.predecessor_counts().begin(), shape.predecessor_counts().end(), options.memory),
      progress_(shape.size(), node_progress::skipped, options.memory),
      to_start_(options.memory),
      here_(options.memory),
      record_(shape, options),
      on_stop_(*this) {
  to_start_.reserve(shape.size());  // so that nothing can fail when a node becomes ready
  here_.reserve(shape.size());
}

template <detail::graph_nodes Nodes>
void graph_run<Nodes>::start() {
  if (scope_->stop().requested()) return stop_run();
  scope_->link(on_stop_);
  record_.note_begin();
  for (const node_index node : shape_->order())
    if (waiting_for_[node] == 0) become_ready(node);
  settle_if_decided();  // a graph without nodes is done at once
  drain();
}

template <detail::graph_nodes Nodes>
void graph_run<Nodes>::become_ready(node_index node) {
  record_.note_ready(node);
  const node_mode mode = nodes_->mode(node);
  if (mode == node_mode::here)
    record_.push(here_, node);
  else
    record_.push(to_start_, {node, mode});
}

/// Runs and starts all ready nodes. A node that ends within this loop, however deep in the call stack, only queues its
/// successors for the loop. So a long chain of nodes does not recurse.
template <detail::graph_nodes Nodes>
void graph_run<Nodes>::drain() {
  if (std::exchange(drain_state_, drain_state::draining) == drain_state::draining) return;
  while (true) {
    if (!to_start_.empty() && running_count_ < record_.max_running()) {
      const ready_node next = record_.pop(to_start_);
      if (is_wanted(next.node)) start_elsewhere(next);
    } else if (!here_.empty()) {
      const node_index next = record_.pop(here_);
      if (is_wanted(next)) run_here(next);
    } else {
      break;
    }
  }
  drain_state_ = drain_state::idle;
}

template <detail::graph_nodes Nodes>
void graph_run<Nodes>::run_here(node_index node) {
  progress_[node] = node_progress::running;
  outcome<node_status> ended;
  try {
    const detail::run_stamp around(record_, node);
    ended.set_value(nodes_->run(node, scope_->stop()));
  } catch (...) {
    ended.set_exception(std::current_exception());
  }
  node_ended(node, ended);
}

template <detail::graph_nodes Nodes>
void graph_run<Nodes>::start_elsewhere(ready_node ready) {
  outcome<node_status> refused;
  ++running_count_;
  try {
    return scope_->spawn(drive(ready));
  } catch (...) {
    --running_count_;
    refused.set_exception(std::current_exception());
  }
  node_ended(ready.node, refused);
}

template <detail::graph_nodes Nodes>
auto graph_run<Nodes>::drive(ready_node ready) -> task<void> {
  if (!is_wanted(ready.node)) co_return leave();  // since it was spawned: its first step may have been queued
  const duration timeout = nodes_->timeout(ready.node);
  const time_point now = timeout == duration::max() ? time_point{} : scope_->where().now();
  running self(*this, ready.node, detail::after(now, timeout));
  progress_[ready.node] = node_progress::running;
  outcome<node_status> ended;
  try {
    std::optional<detail::run_stamp> around;
    if (ready.mode == node_mode::task) around.emplace(record_, ready.node);
    task<node_status> work =
        ready.mode == node_mode::task ? nodes_->start(ready.node) : compute(ready.node, self.inside.stop());
    ended = co_await detail::outcome_in(self.inside, std::move(work));
  } catch (...) {
    ended.set_exception(std::current_exception());
  }
  node_ended(ready.node, ended);
  leave();
}

template <detail::graph_nodes Nodes>
void graph_run<Nodes>::leave() {
  --running_count_;
  drain();
}

template <detail::graph_nodes Nodes>
auto graph_run<Nodes>::compute(node_index node, const stop_flag& stop) -> task<node_status> {
  auto body = [this, node, &stop] {
    const detail::run_stamp around(record_, node);
    return nodes_->run(node, stop);
  };
  auto away = offload(*workers_, body);
  co_return co_await away;
}

template <detail::graph_nodes Nodes>
void graph_run<Nodes>::node_ended(node_index node, outcome<node_status>& ended) noexcept {
  const node_status how = ended.has_value() ? ended.take() : node_status::failed;
  if (ended.is_stopped() || how == node_status::skipped) return node_stopped(node, ended);
  const bool timed_out = progress_[node] == node_progress::failed || progress_[node] == node_progress::replaced;
  if (timed_out || settled_.is_set()) {
    if (!timed_out) progress_[node] = node_progress::late;
    ++late_;
    return;
  }
  if (how == node_status::done) return node_done(node);
  graph_failure why{graph_failure::cause::node_failed, node, ended.has_exception() ? ended.exception() : nullptr};
  if (is_replaced(why)) return release_successors(node);
  fail_at(std::move(why));
}

/// Handles the end of a node as stopped. The cause may be the node's own timeout, a failure of an earlier node in the
/// order, or a stop of the run. If there is no such cause, the node has stopped itself, which is a failure.
template <detail::graph_nodes Nodes>
void graph_run<Nodes>::node_stopped(node_index node, outcome<node_status>& ended) noexcept {
  if (progress_[node] == node_progress::failed || progress_[node] == node_progress::replaced) return;
  if (is_wanted(node) && !scope_->stop().requested())
    return fail_at({graph_failure::cause::node_failed, node, nullptr});
  progress_[node] = ended.is_stopped() ? node_progress::stopped : node_progress::skipped;
}

template <detail::graph_nodes Nodes>
void graph_run<Nodes>::node_done(node_index node) {
  progress_[node] = node_progress::done;
  release_successors(node);
}

template <detail::graph_nodes Nodes>
void graph_run<Nodes>::release_successors(node_index node) noexcept {
  for (const node_index next : shape_->successors(node))
    if (--waiting_for_[next] == 0 && is_wanted(next)) become_ready(next);
  settle_if_decided();
}

/// Returns whether a fallback replaces the failed node. If so, the failure does not count, and the fallback nodes and
/// their successors decide the result.
template <detail::graph_nodes Nodes>
auto graph_run<Nodes>::is_replaced(const graph_failure& failure) noexcept -> bool {
  if constexpr (detail::replaceable_nodes<Nodes>) {
    if (!is_wanted(failure.node) || !nodes_->replaces(failure)) return false;
    progress_[failure.node] = node_progress::replaced;
    return true;
  }
  return false;
}

/// Handles a node that exceeded its time limit. A timer calls this, so nodes that become ready run later, in a separate
/// task.
template <detail::graph_nodes Nodes>
void graph_run<Nodes>::time_out(node_index node) noexcept {
  graph_failure why{graph_failure::cause::node_timeout, node, nullptr, errc::deadline_exceeded};
  if (!is_replaced(why)) return fail_at(std::move(why));
  try {
    scope_->spawn(go_on_after(node));
  } catch (...) {
    fail_at(std::move(why));  // out of memory
  }
}

template <detail::graph_nodes Nodes>
auto graph_run<Nodes>::go_on_after(node_index node) -> task<void> {
  co_await yield();
  if (settled_.is_set()) co_return;
  release_successors(node);
  drain();
}

template <detail::graph_nodes Nodes>
void graph_run<Nodes>::fail_at(graph_failure failure) noexcept {
  progress_[failure.node] = node_progress::failed;
  if (!is_wanted(failure.node)) return;
  if (record_.keeps_going()) {
    record_.fail(failure);
    failure_ = record_.failures().front();
    return settle_if_decided();
  }
  failure_ = std::move(failure);
  running_.for_each([this](running& other) {
    if (!is_wanted(other.node)) other.inside.request_stop();
  });
  settle_if_decided();
}

template <detail::graph_nodes Nodes>
void graph_run<Nodes>::stop_run() noexcept {
  if (settled_.is_set()) return;
  failure_ = {graph_failure::cause::run_stopped, 0, nullptr, scope_->stop().reason()};
  settled_.set();
}

/// Settles the run if its result is known: all nodes are done, or a node has failed and no node before it can still
/// fail. With `keep_going`, each node must be done, failed, or dependent on a failed node.
template <detail::graph_nodes Nodes>
void graph_run<Nodes>::settle_if_decided() noexcept {
  const auto order = shape_->order();
  const auto is_done = [this](node_index node) {
    const node_progress reached = progress_[node];
    if (record_.keeps_going() && (reached == node_progress::failed || record_.is_blocked(node))) return true;
    return reached == node_progress::done || reached == node_progress::replaced;
  };
  while (done_in_order_ < order.size() && is_done(order[done_in_order_])) ++done_in_order_;
  if (done_in_order_ == order.size()) return settled_.set();
  if (!failure_ || record_.keeps_going()) return;
  const std::uint32_t failed = shape_->position(failure_->node);
  const auto cannot_fail = [&](node_index node) { return is_done(node) || !detail::may_fail(*nodes_, node); };
  decided_in_order_ = std::max(decided_in_order_, done_in_order_);
  while (decided_in_order_ < failed && cannot_fail(order[decided_in_order_])) ++decided_in_order_;
  if (decided_in_order_ < failed) return;
  settled_.set();  // set before the stop, so that no node counts as having given up
  running_.for_each([](running& other) { other.inside.request_stop(); });
}

}  // namespace braid
