// rankd/store/detail/graph_build.hpp: builds a hierarchical graph (HNSW) over vectors.
#pragma once

#include <rankd/store/vector_build.hpp>
#include <rankd/store/vector_graph.hpp>

#include <cstdint>
#include <vector>

namespace rankd::detail {

struct built_graph {
  std::vector<std::uint32_t> rows;   ///< for each node, its row in the table
  std::vector<std::uint32_t> links;  ///< in the order of graph_layers, and as they are stored in a file
};

/// Builds a graph over the vectors of a table. The same table and settings produce the same graph on every machine,
/// with any number of workers. The reason is that nodes are inserted in batches, and that the size of a batch depends
/// only on the number of nodes in earlier batches. Nodes of the same batch do not see each other when they search the
/// graph. Requires at least one vector. Cost: for each vector, a search of width `ef_construction`; all workers take
/// part.
auto build_graph(const vector_table& table, const vector_graph& settings, const vector_progress& progress)
    -> built_graph;

}  // namespace rankd::detail
