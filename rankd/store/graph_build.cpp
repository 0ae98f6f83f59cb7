// rankd/store/graph_build.cpp: inserts vectors into a hierarchical graph, batch by batch.
#include <rankd/store/detail/graph_build.hpp>

#include <rankd/store/detail/graph_search.hpp>
#include <rankd/store/detail/row_block.hpp>
#include <rankd/store/detail/vector_layout.hpp>

#include <braid/base/random.hpp>
#include <braid/task/parallel.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

namespace rankd::detail {
namespace {

constexpr std::size_t share_of_batch = 64;  // a batch has at most this part of the nodes before it
constexpr std::size_t max_batch = 1024;

auto random_order(std::size_t count, std::uint64_t seed) -> std::vector<std::uint32_t> {
  std::vector<std::uint32_t> rows(count);
  std::iota(rows.begin(), rows.end(), std::uint32_t{0});
  braid::random_source random(seed);
  for (std::size_t at = 0; at + 1 < count; ++at) std::swap(rows[at], rows[at + random.below(count - at)]);
  return rows;
}

auto squared_length(std::span<const float> vector) -> double {
  double sum = 0;
  for (const double number : vector) sum += number * number;
  return sum;
}

/// The vectors of nodes, changed so that vectors are near by squared distance if they are near by the metric:
/// - cosine: all vectors have the length 1, or 0.
/// - dot: the longest vector has the length 1. An additional number in each vector gives the other vectors this length
///   as well. The additional number of a query is 0, so its distances depend only on the dot product. Source: Bachrach
///   et al., "Speeding up the Xbox recommender system using a Euclidean transformation for inner-product spaces", 2014.
class node_vectors {
 public:
  node_vectors(const vector_table& table, std::span<const std::uint32_t> rows, vector_metric metric)
      : dimensions_(table.dimensions + (metric == vector_metric::dot ? 1 : 0)) {
    double longest = 0;
    for (const std::uint32_t row : rows) longest = std::max(longest, squared_length(table.at(row)));
    numbers_.reserve(rows.size() * dimensions_);
    for (const std::uint32_t row : rows) {
      const std::span<const float> vector = table.at(row);
      const double square = squared_length(vector);
      const double scale = metric == vector_metric::l2 ? 1 : std::sqrt(metric == vector_metric::dot ? longest : square);
      for (const double number : vector) numbers_.push_back(static_cast<float>(scale == 0 ? 0 : number / scale));
      if (metric != vector_metric::dot) continue;
      const double rest = longest == 0 ? 0 : std::max(0.0, 1 - square / longest);
      numbers_.push_back(static_cast<float>(std::sqrt(rest)));
    }
  }

  [[nodiscard]] auto dimensions() const noexcept -> std::size_t { return dimensions_; }
  [[nodiscard]] auto data() const noexcept -> const float* { return numbers_.data(); }
  [[nodiscard]] auto at(std::uint32_t node) const noexcept -> std::span<const float> {
    return std::span(numbers_).subspan(node * dimensions_, dimensions_);
  }

 private:
  std::size_t dimensions_;
  std::vector<float> numbers_;
};

/// A node as a query of `graph_search`. The score is the negated squared distance.
class node_query {
 public:
  node_query(const node_vectors& vectors, std::uint32_t node)
      : numbers_(vectors.at(node).begin(), vectors.at(node).end()), block_(vectors.data(), vectors.dimensions()) {}

  void score(std::span<const std::uint32_t> nodes, block_scores& out) {
    vector_kernels_here().squared_distance(block_.gather(nodes), numbers_.data(), numbers_.size(), out.data());
    for (double& each : out) each = -each;
  }
  [[nodiscard]] static auto is_before(std::uint32_t a, std::uint32_t b) noexcept -> bool { return a < b; }
  [[nodiscard]] static auto accepts(std::uint32_t /*node*/) noexcept -> bool { return true; }
  [[nodiscard]] static auto is_stopped() noexcept -> bool { return false; }

 private:
  std::vector<double> numbers_;
  row_block block_;
};

/// Chooses the links of a node from a list of near nodes. A near node that is nearer to an already chosen node than to
/// the node itself is not linked, because a search reaches it through the chosen node. So links lead in all directions.
class link_choice {
 public:
  link_choice(const node_vectors& vectors, std::size_t max_links)
      : vectors_(vectors), max_links_(max_links), numbers_(vectors.dimensions()) {}

  /// Chooses links from the nodes `near`, which are sorted by nearness.
  auto choose(std::span<const scored_node> near) -> std::vector<std::uint32_t> {
    std::size_t same = 0;
    for (const scored_node& each : near) {
      if (chosen_.size() == max_links_) break;
      // Without this limit, equal vectors could occupy all links, and a search could not get away from them.
      if (each.score == 0 && ++same > max_links_ / 2) continue;
      if (near.size() > max_links_ && is_covered(each)) continue;
      add(each.node);
    }
    return std::move(chosen_);
  }

 private:
  [[nodiscard]] auto is_covered(const scored_node& each) -> bool {
    std::ranges::copy(vectors_.at(each.node), numbers_.begin());
    block_scores distances{};
    for (std::size_t first = 0; first < chosen_.size(); first += vector_block) {
      vector_kernels_here().squared_distance(blocks_.data() + first * vectors_.dimensions(), numbers_.data(),
                                             numbers_.size(), distances.data());
      const std::size_t count = std::min(vector_block, chosen_.size() - first);
      if (std::ranges::any_of(std::span(distances).first(count), [&](double each_to) { return each_to < -each.score; }))
        return true;
    }
    return false;
  }

  void add(std::uint32_t node) {
    const std::size_t place = chosen_.size();
    if (place % vector_block == 0) blocks_.resize(blocks_.size() + vector_block * vectors_.dimensions());
    const std::span<const float> vector = vectors_.at(node);
    for (std::size_t at = 0; at < vector.size(); ++at) blocks_[place_in_blocks(place, at, vector.size())] = vector[at];
    chosen_.push_back(node);
  }

  const node_vectors& vectors_;
  std::size_t max_links_;
  std::vector<double> numbers_;
  std::vector<float> blocks_;  // of the chosen nodes
  std::vector<std::uint32_t> chosen_;
};

class graph_builder {
 public:
  graph_builder(const vector_table& table, std::span<const std::uint32_t> rows, const vector_graph& settings)
      : vectors_(table, rows, settings.metric),
        layers_(rows.size(), settings.m),
        width_(std::max(settings.ef_construction, settings.m)),
        links_(layers_.all_links(), no_link) {}

  auto run(const vector_progress& progress) -> std::vector<std::uint32_t> {
    const std::uint64_t count = layers_.size(0);
    for (std::uint64_t first = 1; first < count;) {
      const std::uint64_t end =
          std::min(count, first + std::clamp<std::uint64_t>(first / share_of_batch, 1, max_batch));
      insert(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(end));
      first = end;
      if (progress) progress(end, count);
    }
    return std::move(links_);
  }

 private:
  /// A link in a layer, from an existing node to a node of the current batch.
  struct new_link {
    std::size_t layer = 0;
    std::uint32_t from = 0;
    std::uint32_t to = 0;

    auto operator<=>(const new_link&) const = default;
  };

  [[nodiscard]] auto place(std::size_t layer, std::uint32_t node) -> std::span<std::uint32_t> {
    return std::span(links_).subspan(layers_.first_link(layer, node), layers_.max_links(layer));
  }
  [[nodiscard]] auto all_links() const -> graph_links { return {layers_, links_}; }

  /// Inserts the nodes from `first` to `end`.
  void insert(std::uint32_t first, std::uint32_t end) {
    std::vector<std::vector<std::vector<std::uint32_t>>> chosen(end - first);  // for each node, for each layer
    braid::parallel_for(first, end, [&](std::uint32_t node) { chosen[node - first] = find_links(node); }, {.grain = 1});
    std::vector<new_link> back;
    for (std::uint32_t node = first; node < end; ++node) {
      for (std::size_t layer = 0; layer < chosen[node - first].size(); ++layer) {
        const std::vector<std::uint32_t>& links = chosen[node - first][layer];
        std::ranges::copy(links, place(layer, node).begin());
        for (const std::uint32_t each : links) back.push_back({layer, each, node});
      }
    }
    std::ranges::sort(back);
    const auto differ = [](const new_link& a, const new_link& b) {
      return std::tie(a.layer, a.from) != std::tie(b.layer, b.from);
    };
    std::vector<std::span<const new_link>> groups;
    for (auto at = back.cbegin(); at != back.cend();) {
      const auto next = std::find_if(at, back.cend(), [&](const new_link& each) { return differ(*at, each); });
      groups.emplace_back(at, next);
      at = next;
    }
    braid::parallel_for(std::size_t{0}, groups.size(), [&](std::size_t index) { add_links(groups[index]); },
                        {.grain = 1});
  }

  /// Returns the links of a new node in each of its layers.
  [[nodiscard]] auto find_links(std::uint32_t node) const -> std::vector<std::vector<std::uint32_t>> {
    const graph_links links = all_links();
    node_query query(vectors_, node);
    graph_search search(links, query, width_);
    const std::size_t highest = layers_.layer_of(node);
    std::vector<std::vector<std::uint32_t>> out(highest + 1);
    scored_node entry = search.descend(highest);
    for (std::size_t layer = highest + 1; layer-- > 0;) {
      const std::vector<scored_node> near = search.find(layer, entry, width_);
      out[layer] = link_choice(vectors_, layers_.max_links(1)).choose(near);
      entry = near.front();
    }
    return out;
  }

  /// Adds links to a node of a layer. If the node then has too many links, chooses some of them.
  void add_links(std::span<const new_link> added) {
    const std::size_t layer = added.front().layer;
    const std::uint32_t node = added.front().from;
    const std::span<const std::uint32_t> before = all_links().of(layer, node);
    std::vector<std::uint32_t> all(before.begin(), before.end());
    for (const new_link& each : added) all.push_back(each.to);
    const std::span<std::uint32_t> links = place(layer, node);
    if (all.size() > links.size()) all = link_choice(vectors_, links.size()).choose(sort_by_nearness(node, all));
    std::ranges::fill(std::ranges::copy(all, links.begin()).out, links.end(), no_link);
  }

  [[nodiscard]] auto sort_by_nearness(std::uint32_t node, std::span<const std::uint32_t> others) const
      -> std::vector<scored_node> {
    node_query query(vectors_, node);
    std::vector<scored_node> out;
    block_scores scores{};
    for (std::size_t first = 0; first < others.size(); first += vector_block) {
      const auto some = others.subspan(first, std::min(vector_block, others.size() - first));
      query.score(some, scores);
      for (std::size_t at = 0; at < some.size(); ++at) out.push_back({scores[at], some[at]});
    }
    std::ranges::sort(out, [](const scored_node& a, const scored_node& b) {
      return a.score > b.score || (a.score == b.score && a.node < b.node);
    });
    return out;
  }

  node_vectors vectors_;
  graph_layers layers_;
  std::size_t width_;
  std::vector<std::uint32_t> links_;
};

}  // namespace

auto build_graph(const vector_table& table, const vector_graph& settings, const vector_progress& progress)
    -> built_graph {
  built_graph out{.rows = random_order(table.size(), settings.seed), .links = {}};
  out.links = graph_builder(table, out.rows, settings).run(progress);
  return out;
}

}  // namespace rankd::detail
