// rankd/store/vector_graph.hpp: the settings of a hierarchical graph (HNSW) over the vectors of a file.
#pragma once

#include <rankd/registry/registries.hpp>

#include <cstdint>

namespace rankd {

/// The settings with which a graph is built. Source: Malkov, Yashunin, "Efficient and robust approximate nearest
/// neighbor search using Hierarchical Navigable Small World graphs", 2018.
struct vector_graph {
  std::uint32_t m = 16;                 ///< the maximum number of links of a node; twice as many in the lowest layer
  std::uint32_t ef_construction = 200;  ///< the width of the search for the links of a node
  vector_metric metric = vector_metric::dot;  ///< the measure by which near vectors are linked
  std::uint64_t seed = 1;                     ///< another seed produces another graph

  auto operator==(const vector_graph&) const -> bool = default;
};

inline constexpr std::uint32_t min_m = 2;
inline constexpr std::uint32_t max_m = 128;
inline constexpr std::uint32_t max_ef_construction = 10'000;

}  // namespace rankd
