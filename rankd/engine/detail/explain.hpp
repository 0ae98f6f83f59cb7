// rankd/engine/detail/explain.hpp: functions that report on the nodes of a run.
#pragma once

#include <rankd/engine/detail/request_state.hpp>
#include <rankd/engine/explain/explanation.hpp>
#include <rankd/engine/ranking.hpp>

#include <braid/base/clock.hpp>
#include <braid/graph/run.hpp>

#include <optional>
#include <vector>

namespace rankd {

/// The state of a run and of its nodes at the moment when the answer was known.
struct run_picture {
  const request_state& state;
  const braid::graph_shape& shape;   ///< the graph in which the nodes ran
  std::vector<node_state> nodes;     ///< by number
  std::optional<node_index> failed;  ///< the node whose failure is the error, if any
  braid::time_point known{};         ///< when the answer was known
  row_set candidates;                ///< empty if the request failed
};

/// Returns the states of all nodes. Threads: the loop's thread, after the result of the run is known.
auto list_states(const braid::graph_run<plan_nodes>& run, const std::optional<braid::graph_failure>& failure,
                 const request_state& state) -> std::vector<node_state>;

/// Returns the measurements of all nodes, indexed by node number. The result is in the memory of the request. Threads:
/// the loop's thread, after the result of the run is known.
auto list_samples(const braid::graph_run<plan_nodes>& run, const std::optional<braid::graph_failure>& failure,
                  request_state& state) -> std::span<const node_sample>;

/// Returns the explanation without the total time and without the values that depend on it. Requires a request with
/// `explain`.
auto explain(const run_picture& run, const registries& declared) -> explanation;

/// Returns the rows of a node or of its fallback. Returns null if there are no rows yet.
auto rows_given(const run_picture& run, node_index node) -> const row_set*;

/// Returns a report on each id that the request asks to explain.
auto find_fates(const run_picture& run, const registries& declared) -> std::vector<id_fate>;

/// Returns the columns of a batch that may be shown in answers, in ascending order of their key ids.
auto shown_fields(const batch& table, const registries& declared) -> std::vector<const key_entry*>;

}  // namespace rankd
