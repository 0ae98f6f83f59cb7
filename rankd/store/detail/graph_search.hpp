// rankd/store/detail/graph_search.hpp: searches a graph of vectors for the nearest nodes, layer by layer.
#pragma once

#include <rankd/store/detail/graph_layers.hpp>
#include <rankd/store/vector_kernels.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace rankd::detail {

/// A set of nodes. It is a hash table, so that its memory depends on the number of nodes that a search visits, and not
/// on the size of the graph.
class node_set {
 public:
  explicit node_set(std::size_t expected) : places_(std::bit_ceil(2 * expected + 1), no_link) {}

  /// Adds a node. Returns true if the node was not in the set before. Requires a node other than `no_link`.
  auto insert(std::uint32_t node) -> bool {
    if (2 * (count_ + 1) > places_.size()) grow();
    std::uint32_t& place = places_[find(node)];
    if (place == node) return false;
    place = node;
    ++count_;
    return true;
  }
  void clear() {
    std::ranges::fill(places_, no_link);
    count_ = 0;
  }

 private:
  /// Returns the position of a node, or the free position where it can be stored.
  [[nodiscard]] auto find(std::uint32_t node) const noexcept -> std::size_t {
    constexpr std::uint32_t odd = 0x9e37'79b1;
    const std::size_t mask = places_.size() - 1;
    const std::uint32_t hash = node * odd;
    std::size_t place = (hash ^ hash >> 15U) & mask;
    while (places_[place] != no_link && places_[place] != node) place = (place + 1) & mask;
    return place;
  }
  void grow() {
    const std::vector<std::uint32_t> before = std::exchange(places_, std::vector(2 * places_.size(), no_link));
    for (const std::uint32_t node : before)
      if (node != no_link) places_[find(node)] = node;
  }

  std::vector<std::uint32_t> places_;
  std::size_t count_ = 0;
};

/// A node that a search has scored. A greater score means that the node is nearer.
struct scored_node {
  double score = 0;
  std::uint32_t node = 0;
};

/// The links of all nodes, in the order of `graph_layers`.
struct graph_links {
  graph_layers layers;
  std::span<const std::uint32_t> all;

  /// Returns the links of a node in a layer.
  [[nodiscard]] auto of(std::size_t layer, std::uint32_t node) const noexcept -> std::span<const std::uint32_t> {
    const std::span<const std::uint32_t> places = all.subspan(layers.first_link(layer, node), layers.max_links(layer));
    return places.first(static_cast<std::size_t>(std::ranges::find(places, no_link) - places.begin()));
  }
};

/// A search for the nodes that are nearest to a query. The query scores nodes (`score`), orders nodes with equal scores
/// (`is_before`), decides which nodes may be found (`accepts`), and may end the search (`is_stopped`).
/// Threads: one at a time. Lifetime: the links and the query must outlive the search.
template <typename Query>
class graph_search {
 public:
  graph_search(const graph_links& links, Query& query, std::size_t width)
      : links_(links), query_(query), visited_(width * links.layers.max_links(0) / 2) {}

  /// Walks through the layers from the highest layer down to `layer`, beginning at node 0. In each layer, moves to a
  /// nearer neighbour until no neighbour is nearer. Returns the node in `layer` at which the walk ends. The walk
  /// ignores `accepts`.
  [[nodiscard]] auto descend(std::size_t layer) -> scored_node {
    scored_node nearest{0, 0};
    score(std::span(&nearest.node, 1));
    nearest.score = scores_[0];
    for (std::size_t at = links_.layers.top(); at > layer; --at) nearest = walk(at, nearest);
    return nearest;
  }

  /// Returns the accepted nodes of a layer that are nearest to the query, nearest first, at most `width` nodes. Visits
  /// the neighbours of the nearest nodes, until no unvisited node is nearer than the `width` nodes found so far.
  [[nodiscard]] auto find(std::size_t layer, const scored_node& entry, std::size_t width) -> std::vector<scored_node> {
    const auto is_nearer = [this](const scored_node& a, const scored_node& b) { return is_first(a, b); };
    const auto is_farther = [this](const scored_node& a, const scored_node& b) { return is_first(b, a); };
    std::vector<scored_node> left{entry};  // a heap with the nearest node on top
    std::vector<scored_node> found;        // a heap with the farthest node on top
    if (query_.accepts(entry.node)) found.push_back(entry);
    visited_.clear();
    visited_.insert(entry.node);
    while (!left.empty() && !query_.is_stopped()) {
      std::ranges::pop_heap(left, is_farther);
      const scored_node nearest = left.back();
      left.pop_back();
      if (found.size() == width && is_first(found.front(), nearest)) break;
      for_each_new_neighbour(layer, nearest.node, [&](const scored_node& each) {
        if (found.size() == width && !is_first(each, found.front())) return;
        left.push_back(each);
        std::ranges::push_heap(left, is_farther);
        if (!query_.accepts(each.node)) return;
        if (found.size() == width) {
          std::ranges::pop_heap(found, is_nearer);
          found.pop_back();
        }
        found.push_back(each);
        std::ranges::push_heap(found, is_nearer);
      });
    }
    std::ranges::sort(found, is_nearer);
    return found;
  }

  /// Returns the number of nodes that were scored.
  [[nodiscard]] auto looked_at() const noexcept -> std::uint64_t { return looked_at_; }

 private:
  [[nodiscard]] auto is_first(const scored_node& a, const scored_node& b) const -> bool {
    return a.score > b.score || (a.score == b.score && query_.is_before(a.node, b.node));
  }

  void score(std::span<const std::uint32_t> nodes) {
    query_.score(nodes, scores_);
    looked_at_ += nodes.size();
  }

  [[nodiscard]] auto walk(std::size_t layer, scored_node nearest) -> scored_node {
    visited_.clear();
    visited_.insert(nearest.node);
    for (std::uint32_t from = nearest.node;; from = nearest.node) {
      for_each_new_neighbour(layer, from, [&](const scored_node& each) {
        if (is_first(each, nearest)) nearest = each;
      });
      if (nearest.node == from) return nearest;
    }
  }

  /// Scores the neighbours of a node that were not visited before, and calls `visit` with each.
  template <typename Visit>
  void for_each_new_neighbour(std::size_t layer, std::uint32_t node, const Visit& visit) {
    std::array<std::uint32_t, vector_block> nodes{};
    std::size_t count = 0;
    const auto visit_block = [&] {
      if (count == 0) return;
      score(std::span(nodes).first(count));
      for (std::size_t at = 0; at < count; ++at) visit(scored_node{scores_[at], nodes[at]});
      count = 0;
    };
    for (const std::uint32_t each : links_.of(layer, node)) {
      if (!visited_.insert(each)) continue;
      nodes[count++] = each;
      if (count == nodes.size()) visit_block();
    }
    visit_block();
  }

  graph_links links_;
  Query& query_;
  node_set visited_;
  block_scores scores_{};
  std::uint64_t looked_at_ = 0;
};

}  // namespace rankd::detail
