// braid/graph/static_graph.hpp: graphs of functions without values, which are built once and run often.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/graph/detail/node_call.hpp>
#include <braid/graph/shape.hpp>
#include <braid/sync/stop_flag.hpp>
#include <braid/task/detail/refused_call.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace braid {

namespace detail {
class static_block;
}  // namespace detail

/// A graph of functions that only compute, created by a `graph_builder`. It runs on the workers of a pool. For nodes
/// that wait, may fail or have deadlines, use `graph_run`.
/// Threads: any, but only one run at a time. A node may run other graphs, fork, and wait for its forks.
class BRAID_API static_graph {
 public:
  static_graph(static_graph&& other) noexcept;
  auto operator=(static_graph&& other) noexcept -> static_graph&;
  ~static_graph();

  /// Returns the number of nodes.
  [[nodiscard]] auto size() const noexcept -> std::size_t;

  /// Runs each node once, after all its predecessors, on this worker and on idle workers of its pool. On a thread that
  /// is not a worker, the nodes run in `default_pool`. Everything that the predecessors of a node have written is
  /// visible to the node. Blocks: until no node runs any more; a worker runs other forks during the wait. Errors:
  /// rethrows the first exception of a node; nodes that had not begun are skipped, and the graph can be run again.
  /// Requires that this graph is not running. Cost: no allocation; stack memory for one node.
  void run() { static_cast<void>(run_until(nullptr, nullptr)); }

  /// Works like `run`, but skips nodes that have not begun when a stop is requested. Errors: if nodes were skipped,
  /// errc::stopped, or the reason of the stop request if it has a reason.
  template <stop_signal Signal>
  [[nodiscard]] auto run(Signal&& stop) -> result<void> {
    if constexpr (std::is_same_v<std::remove_cvref_t<Signal>, stop_flag>)
      return run_until(&stop, nullptr);
    else
      return run_until(nullptr, &stop);
  }

 private:
  friend class graph_builder;
  explicit static_graph(std::unique_ptr<detail::static_block> nodes) noexcept;

  [[nodiscard]] auto run_until(const stop_flag* flag, const std::stop_token* token) -> result<void>;

  std::unique_ptr<detail::static_block> nodes_;
};

/// A handle for a node, for use with the builder that returned it.
class graph_node {
 public:
  graph_node() = default;  ///< refers to no node

 private:
  friend class graph_builder;
  graph_node(node_index number, std::uint32_t builder) noexcept : number_(number), builder_(builder) {}

  node_index number_ = 0;
  std::uint32_t builder_ = 0;  // the number of the builder; 0 if it refers to no node
};

namespace detail {

/// The function of a node, which each run calls. Its result is discarded.
template <typename Fn>
concept node_function = std::constructible_from<std::decay_t<Fn>, Fn> && std::invocable<std::decay_t<Fn>&> &&
                        !is_lazy_work<std::invoke_result_t<std::decay_t<Fn>&>>;

/// Ends the compilation with a clear message for a callable that cannot be a node.
template <typename Fn>
struct refused_node : refused_call<Fn> {};
template <typename Fn>
  requires returns_lazy_work<Fn>
struct refused_node<Fn> {
  static_assert(!returns_lazy_work<Fn>,
                "a node of this graph is a function whose result is dropped: use a braid::flow "
                "for functions that return tasks");
};

}  // namespace detail

/// A builder of a `static_graph`. Threads: one at a time.
class BRAID_API graph_builder {
 public:
  graph_builder();
  graph_builder(graph_builder&&) = default;
  auto operator=(graph_builder&&) -> graph_builder& = default;
  ~graph_builder() = default;

  /// Returns a node that calls `fn`. Cost: no additional allocation for trivially copyable captures of up to 16 bytes.
  template <detail::node_function Fn>
  auto add(Fn&& fn) -> graph_node {
    using callable = std::decay_t<Fn>;
    if constexpr (detail::fits_in_node<callable>) {
      calls_.push_back(detail::call_inside(std::forward<Fn>(fn)));
    } else {
      boxes_.push_back(detail::make_box(std::forward<Fn>(fn)));
      calls_.push_back(detail::call_of_box<callable>(boxes_.back()));
    }
    return {static_cast<node_index>(calls_.size() - 1), number_};
  }

  /// Returns a node that calls `fn` and has a name, which errors show. Names need not be unique.
  template <detail::node_function Fn>
  auto add(std::string_view name, Fn&& fn) -> graph_node {
    names_.push_back({static_cast<node_index>(size()), std::string(name)});
    try {
      return add(std::forward<Fn>(fn));
    } catch (...) {
      names_.pop_back();
      throw;
    }
  }

  /// Does not compile; its error message describes what is wrong with the callable.
  template <typename Fn>
    requires(!detail::node_function<Fn>)
  auto add(Fn&& /*fn*/) {
    static_cast<void>(detail::refused_node<Fn>());
    return graph_node();
  }
  template <typename Fn>
    requires(!detail::node_function<Fn>)
  auto add(std::string_view /*name*/, Fn&& fn) {
    return add(std::forward<Fn>(fn));
  }

  /// Makes all nodes of `later` begin only after `node` has ended.
  template <std::same_as<graph_node>... Nodes>
  void precede(graph_node node, Nodes... later) {
    (add_edge(node, later), ...);
  }

  /// Makes `node` begin only after all nodes of `earlier` have ended.
  template <std::same_as<graph_node>... Nodes>
  void succeed(graph_node node, Nodes... earlier) {
    (add_edge(earlier, node), ...);
  }

  [[nodiscard]] auto size() const noexcept -> std::size_t { return calls_.size(); }

  /// Returns the graph and leaves the builder empty. Errors: diagnostics with the codes `unknown_node`, `self_edge`,
  /// `duplicate_edge` and `too_large`. If the graph has none of these errors, a diagnostic with the code `cycle` for
  /// one of its cycles. The messages name the nodes.
  [[nodiscard]] auto build() && -> checked<static_graph>;

 private:
  struct named_node {
    node_index node;
    std::string name;
  };

  void add_edge(graph_node from, graph_node to);
  [[nodiscard]] auto is_known(graph_node node) const noexcept -> bool {
    return node.builder_ == number_ && node.number_ < calls_.size();
  }
  [[nodiscard]] auto name_of(node_index node) const -> std::string;
  void add_diagnostic(std::string_view code, node_index about, std::string message);
  void report_cycle(const std::vector<node_index>& cycle);

  std::uint32_t number_;  // the number of this builder in the process
  std::vector<detail::node_call> calls_;
  std::vector<detail::boxed_call> boxes_;
  std::vector<named_node> names_;  // the named nodes in ascending order
  std::vector<graph_shape::edge> edges_;
  diagnostics diagnostics_;
};

}  // namespace braid
