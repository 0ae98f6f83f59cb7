// braid/graph.hpp: task graphs: functions and coroutines that run after their predecessors.
// It contains `graph_builder` and `static_graph`, for functions; `flow_builder` and `flow`, for functions and
// coroutines that pass typed values. Graphs whose nodes are data (braid/graph/run.hpp, run_options.hpp, shape.hpp) have
// separate headers.
#pragma once

#include <braid/graph/flow.hpp>
#include <braid/graph/static_graph.hpp>
