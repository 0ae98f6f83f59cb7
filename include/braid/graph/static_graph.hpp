// braid/graph/static_graph.hpp: functions that run each after its predecessors, laid out once and run many times.
#pragma once

#include <braid/base/config.hpp>
#include <braid/base/error.hpp>
#include <braid/task/stop_signal.hpp>

#include <cstddef>
#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace braid {

namespace detail {
class static_block;
}  // namespace detail

/// What a `graph_builder` makes: nodes that compute, on the workers of a pool. For nodes that wait, fail by themselves
/// or have deadlines there is `graph_run`.
/// Threads: any, one run at a time; a node may run other graphs, fork, and wait for what it has forked.
class BRAID_API static_graph {
 public:
  static_graph(static_graph&& other) noexcept;
  auto operator=(static_graph&& other) noexcept -> static_graph&;
  ~static_graph();

  /// How many nodes it has.
  [[nodiscard]] auto size() const noexcept -> std::size_t;

  /// Runs each node once, after all its predecessors, on this worker and on those of its pool that have nothing else to
  /// do; from a thread that is no worker, in `default_pool`. What predecessors did is visible to a node.
  /// Blocks: until no node runs any more; the worker runs forks of others meanwhile. Errors: rethrows what a node threw
  /// first, after which nodes that had not begun were left out; the graph can be run again. Requires that no other run
  /// of this graph is under way. Cost: allocates nothing; on the stack, as much as one node.
  void run() { static_cast<void>(run_until(nullptr, nullptr)); }

  /// As above, but nodes that have not begun when a stop is requested are left out. Errors: errc::stopped, or the
  /// reason of the flag, if any were.
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

}  // namespace braid
