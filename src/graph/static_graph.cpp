// src/graph/static_graph.cpp: executes the nodes of a static graph on several threads (docs/design/static_graph.md).
#include <braid/graph/static_graph.hpp>

#include "static_block.hpp"

#include <braid/base/config.hpp>
#include <braid/graph/detail/walk_count.hpp>
#include <braid/sync/stop_flag.hpp>
#include <braid/task/detail/end_signal.hpp>
#include <braid/task/detail/fork.hpp>
#include <braid/task/detail/fork_exchange.hpp>
#include <braid/task/detail/fork_patience.hpp>
#include <braid/task/detail/spare_threads.hpp>
#include <braid/task/worker.hpp>

#include <exception>
#include <optional>

namespace braid {
namespace detail {

/// A run of a static graph. The object is on the stack of the thread that waits for the run.
class static_run {
 public:
  static_run(static_block& nodes, const stop_flag* flag, const std::stop_token* token) noexcept
      : block(nodes), flag_(flag), token_(token), mode_(flag == nullptr && token == nullptr ? mode::go : mode::ask) {}

  /// Returns whether the remaining nodes are skipped because of a failure or a stop. Costs one load if the run has no
  /// stop token.
  [[nodiscard]] auto is_over() noexcept -> bool {
    const mode now = mode_.load(relaxed);
    if (now == mode::go) [[likely]]
      return false;
    return now == mode::halted || is_stopped();
  }

  void fail(std::exception_ptr thrown) noexcept {
    if (!failed_.exchange(true, relaxed)) thrown_ = std::move(thrown);
    mode_.store(mode::halted, relaxed);
  }

  [[nodiscard]] auto has_left_out() const noexcept -> bool { return mode_.load(relaxed) == mode::halted; }

  /// Counts one more walk through the graph. Not called for the first walk, which is counted when the run is created.
  void has_one_more_walk() noexcept {
    walks.begin();
    if (!has_several_walks()) several_.store(true, relaxed);
  }

  /// Returns whether more than one walk has begun. The function may miss walks that other threads have just begun.
  [[nodiscard]] auto has_several_walks() const noexcept -> bool { return several_.load(relaxed); }

  /// Returns the result of the run: success, or the reason why nodes were skipped.
  /// Errors: rethrows the exception of a node.
  auto take() -> result<void> {
    if (failed_.load(relaxed)) std::rethrow_exception(std::exchange(thrown_, nullptr));
    if (const int why = left_out_.load(relaxed); why != 0) return braid::fail(static_cast<errc>(why));
    return {};
  }

  static_block& block;
  alignas(cache_line) walk_count walks;
  end_signal ended;  // set by the last walk, unless that is the first

 private:
  enum class mode : std::uint32_t {
    go,
    ask,     // each node is preceded by a check for a stop
    halted,  // no further node begins
  };

  auto is_stopped() noexcept -> bool;

  const stop_flag* const flag_;
  const std::stop_token* const token_;
  std::exception_ptr thrown_;              // written by the walk that sets `failed_`, before it ends
  atomic<bool> failed_{false};             // a node has thrown; set by the first node that throws
  atomic<int> left_out_{0};                // the errc of the stop that skipped nodes; 0 if nothing was skipped
  alignas(cache_line) atomic<mode> mode_;  // set to `halted` by a walk that threw or found a stop
  atomic<bool> several_{false};            // set by each walk except the first
};

auto static_run::is_stopped() noexcept -> bool {
  std::optional<errc> why;
  if (flag_ != nullptr && flag_->requested()) why = flag_->reason();
  if (token_ != nullptr && token_->stop_requested()) why = errc::stopped;
  if (!why) return false;
  left_out_.store(static_cast<int>(*why), relaxed);
  mode_.store(mode::halted, relaxed);
  return true;
}

namespace {

/// Returns the worker of the calling thread, or null if the thread is not a worker or other threads cannot steal its
/// forks.
auto forking_worker() noexcept -> worker* {
  worker* const self = worker_of_thread;
  return self != nullptr && self->exchange != nullptr ? self : nullptr;
}

/// A walk: the part of a run that one thread executes, one node after the other, until it finds no ready node.
class walk {
 public:
  walk(static_run& run, worker* self) noexcept
      : run_(run),
        block_(run.block),
        nodes_(run.block.nodes()),
        self_(self),
        base_(self == nullptr ? 0 : self->forks.position()) {}

  /// Runs this node and all nodes that become ready on this thread. Returns how many of the nodes that this walk has
  /// pushed to its deque other threads have stolen.
  auto go(static_node& from) noexcept -> std::int32_t;

 private:
  auto after(const static_node& done) noexcept -> static_node*;
  auto after_many(const static_node& done) noexcept -> static_node*;
  auto arrive(static_node& node) noexcept -> bool;
  auto arrive_first(static_node& node) noexcept -> bool;
  [[nodiscard]] auto is_alone() const noexcept -> bool;
  void push(static_node& ready) noexcept;
  void spare(static_node& ready) noexcept;
  auto pop() noexcept -> static_node*;
  auto take_spare() noexcept -> static_node*;
  auto newest_spare() noexcept -> static_node&;
  void answer() noexcept;
  void leave_out() noexcept;

  static_run& run_;
  static_block& block_;
  static_node* const nodes_;
  worker* const self_;
  std::uint32_t base_;       // entries above this position of the deque belong to this walk
  std::int32_t pushed_ = 0;  // its entries that were not popped, and those of a walk that waits in this context
  std::uint32_t spare_ = static_node::none;  // the newest node for which the deque had no room
};

auto walk::go(static_node& from) noexcept -> std::int32_t {
  static_node* at = &from;
  while (at != nullptr) {
    try {
      while (at != nullptr && !run_.is_over()) {
        at->what.call(at->what.storage.data());
        at = after(*at);
      }
    } catch (...) {
      run_.fail(std::current_exception());
    }
    if (at == nullptr) return pushed_;
    leave_out();
    at = nullptr;
  }
  return pushed_;
}

/// Counts down the successors of an ended node, and returns the node to run next.
[[gnu::always_inline]] inline auto walk::after(const static_node& done) noexcept -> static_node* {
  static_node* next = nullptr;
  if (done.second == static_node::none) {
    if (done.first != static_node::none && arrive(nodes_[done.first])) next = &nodes_[done.first];
  } else if (done.second < static_node::many) {
    static_node& first = nodes_[done.first];
    static_node& second = nodes_[done.second];
    if (arrive(first)) next = &first;
    if (arrive(second)) {
      if (next == nullptr)
        next = &second;
      else
        push(second);
    }
  } else {
    next = after_many(done);
  }
  if (self_ != nullptr && self_->forks.wanted()) [[unlikely]]
    answer();
  return next != nullptr ? next : pop();
}

auto walk::after_many(const static_node& done) noexcept -> static_node* {
  static_node* next = nullptr;
  for (const node_index place : block_.successors(done)) {
    static_node& target = nodes_[place];
    if (!arrive(target)) continue;
    if (next == nullptr)
      next = &target;
    else
      push(target);
  }
  return next;
}

[[gnu::always_inline]] inline auto walk::arrive(static_node& node) noexcept -> bool {
  if (node.predecessors == 1) return true;
  if (run_.has_several_walks()) return node.waiting_for.arrive(node.predecessors);
  if (self_ == nullptr) return node.waiting_for.arrive_alone(node.predecessors);
  return arrive_first(node);
}

/// Counts down a node in the first walk of a run, on a worker. The deque is pinned, so that no thief can begin a walk
/// between the check and the update.
[[gnu::always_inline]] inline auto walk::arrive_first(static_node& node) noexcept -> bool {
  if (!self_->forks.try_pin()) [[unlikely]]
    return node.waiting_for.arrive(node.predecessors);
  const bool ready =
      is_alone() ? node.waiting_for.arrive_alone(node.predecessors) : node.waiting_for.arrive(node.predecessors);
  self_->forks.unpin();
  return ready;
}

/// Returns whether this is the only walk of the run, because no entry that this walk has pushed is or was visible to
/// thieves. Requires that the deque is pinned and that this is the run's first walk.
[[gnu::always_inline]] inline auto walk::is_alone() const noexcept -> bool {
  const std::uint32_t border = self_->forks.position() - static_cast<std::uint32_t>(self_->forks.private_size());
  return static_cast<std::int32_t>(border - base_) <= 0;
}

[[gnu::always_inline]] inline void walk::push(static_node& ready) noexcept {
  if (self_ == nullptr) return spare(ready);
  // If a node of this walk has waited, the worker may have run entries of its deque that are older than this walk's
  // first entry.
  if (const std::uint32_t position = self_->forks.position(); static_cast<std::int32_t>(position - base_) < 0)
    base_ = position;
  if (!self_->forks.try_push_privately(ready)) [[unlikely]]
    return spare(ready);
  ++pushed_;
}

/// Adds a ready node to a list of nodes that did not fit into the deque. The links of the list are stored in the
/// countdowns, which no other thread reads before the next run.
void walk::spare(static_node& ready) noexcept {
  ready.waiting_for.set(spare_);
  spare_ = ready.place;
}

auto walk::newest_spare() noexcept -> static_node& {
  static_node& newest = nodes_[spare_];
  spare_ = newest.waiting_for.get();
  newest.waiting_for.set(newest.predecessors);
  return newest;
}

[[gnu::always_inline]] inline auto walk::pop() noexcept -> static_node* {
  if (spare_ != static_node::none) [[unlikely]]
    return take_spare();
  if (self_ == nullptr) return nullptr;
  while (static_cast<std::int32_t>(self_->forks.position() - base_) > 0) {
    fork_record* const newest = self_->forks.pop();
    if (newest == nullptr) return nullptr;
    if (block_.contains(*newest)) [[likely]] {
      --pushed_;
      return static_cast<static_node*>(newest);
    }
    newest->run(*newest);  // a node has left it to a task_group
  }
  return nullptr;
}

/// Returns the newest node of the spare list. Thieves cannot reach this list. So if the deque's private part is empty,
/// this function also moves some nodes from the list to the deque.
auto walk::take_spare() noexcept -> static_node* {
  static_node& taken = newest_spare();
  if (self_ == nullptr || self_->forks.private_size() != 0) return &taken;
  for (std::size_t moved = 0; moved < worker::max_forks / 2 && spare_ != static_node::none; ++moved)
    push(newest_spare());
  return &taken;
}

void walk::answer() noexcept {
  if (self_->forks.private_size() != 0) self_->exchange->answer(*self_);
}

void walk::leave_out() noexcept {
  spare_ = static_node::none;
  while (pop() != nullptr) {}
}

/// Waits for the walks of other threads. At this point the worker's deque is empty: thieves steal the oldest entries
/// first, so they have also taken all entries that are older than this run.
void wait_for_others(worker& self, static_run& run) noexcept {
  fork_patience some(self.exchange->looks());
  while (!run.ended.is_set()) {
    if (self.absent != 0) self.spares->yield_context(self);  // a node may wait for a job that needs the worker context
    if (self.exchange->help(self))
      some.restart();
    else
      some.wait(run.ended);
  }
}

void run_all(static_run& run) noexcept {
  worker* const self = forking_worker();
  walk first(run, self);
  const std::int32_t taken = first.go(run.block.entry());
  if (!run.walks.end(taken)) wait_for_others(*self, run);
}

/// A guard for the exclusive use of a graph's nodes by one run. The destructor restores the nodes for the next run.
class taken_nodes {
 public:
  explicit taken_nodes(static_run& run) noexcept : run_(run) { run_.block.take(run_); }
  taken_nodes(const taken_nodes&) = delete;
  auto operator=(const taken_nodes&) -> taken_nodes& = delete;
  ~taken_nodes() {
    if (run_.has_left_out()) run_.block.fill();
    run_.block.give_back();
  }

 private:
  static_run& run_;
};

}  // namespace

void static_node::run_it(fork_record& self) noexcept {
  auto& node = static_cast<static_node&>(self);
  static_run& run = static_block::find_run(node);
  run.has_one_more_walk();
  walk here(run, forking_worker());
  const std::int32_t taken = here.go(node);
  if (run.walks.end(taken)) run.ended.set();
}

}  // namespace detail

static_graph::static_graph(std::unique_ptr<detail::static_block> nodes) noexcept : nodes_(std::move(nodes)) {}
static_graph::static_graph(static_graph&& other) noexcept = default;
auto static_graph::operator=(static_graph&& other) noexcept -> static_graph& = default;
static_graph::~static_graph() = default;

auto static_graph::size() const noexcept -> std::size_t { return nodes_ == nullptr ? 0 : nodes_->size(); }

auto static_graph::run_until(const stop_flag* flag, const std::stop_token* token) -> result<void> {
  if (size() == 0) return {};
  detail::static_run run(*nodes_, flag, token);
  {
    const detail::taken_nodes taken(run);
    if (detail::worker_of_thread != nullptr)
      detail::run_all(run);
    else
      detail::run_elsewhere([&run] { detail::run_all(run); });
  }
  return run.take();
}

}  // namespace braid
