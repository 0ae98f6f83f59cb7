// rankd/store/detail/graph_layers.hpp: the layers of a graph of vectors, and the position of each link in the file.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace rankd::detail {

/// The value of unused link positions, which follow the links of a node.
inline constexpr std::uint32_t no_link = std::numeric_limits<std::uint32_t>::max();

/// The layers of a hierarchical graph. Nodes are numbered in the order of their insertion, and this order is random.
/// Layer 0 has all nodes. Each higher layer has the first 1 / m of the nodes of the layer below it. So the number of
/// nodes and m determine the position of each link.
class graph_layers {
 public:
  /// Requires that m is at least 2, and that there are at most 2^32 nodes.
  constexpr graph_layers(std::uint64_t count, std::uint32_t m) noexcept : m_(m) {
    for (std::uint64_t size = count; layers_ == 0 || size > 1; size /= m) {
      sizes_[layers_] = size;
      first_links_[layers_] = all_links_;
      all_links_ += size * max_links(layers_);
      ++layers_;
    }
  }

  [[nodiscard]] constexpr auto top() const noexcept -> std::size_t { return layers_ - 1; }
  /// Returns the number of nodes in a layer. Requires that `layer` is at most `top()`.
  [[nodiscard]] constexpr auto size(std::size_t layer) const noexcept -> std::uint64_t { return sizes_[layer]; }
  /// Returns the highest layer that contains the given node.
  [[nodiscard]] constexpr auto layer_of(std::uint64_t node) const noexcept -> std::size_t {
    std::size_t layer = top();
    while (layer > 0 && node >= sizes_[layer]) --layer;
    return layer;
  }
  /// Returns how many links a node of a layer may have.
  [[nodiscard]] constexpr auto max_links(std::size_t layer) const noexcept -> std::size_t {
    return layer == 0 ? std::size_t{2} * m_ : m_;
  }
  /// Returns the position of a node's first link among all links of the graph.
  [[nodiscard]] constexpr auto first_link(std::size_t layer, std::uint64_t node) const noexcept -> std::uint64_t {
    return first_links_[layer] + node * max_links(layer);
  }
  [[nodiscard]] constexpr auto all_links() const noexcept -> std::uint64_t { return all_links_; }

 private:
  static constexpr std::size_t max_layers = 33;  // enough for 2^32 nodes if m is 2

  std::uint32_t m_;
  std::size_t layers_ = 0;
  std::uint64_t all_links_ = 0;
  std::array<std::uint64_t, max_layers> sizes_{};
  std::array<std::uint64_t, max_layers> first_links_{};
};

}  // namespace rankd::detail
