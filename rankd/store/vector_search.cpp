// rankd/store/vector_search.cpp: searches a file of vectors, either block by block with a heap of the nearest vectors,
// or through the file's graph.
#include <rankd/store/vector_file.hpp>

#include <rankd/registry/vector_bytes.hpp>
#include <rankd/store/detail/graph_search.hpp>
#include <rankd/store/detail/row_block.hpp>
#include <rankd/store/detail/vector_layout.hpp>

#include <braid/base/config.hpp>
#include <braid/task/parallel.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

namespace rankd {
namespace {

/// Returns whether `a` is nearer than `b`. If both are equally near, the vector with the lower id counts as nearer.
auto is_nearer(const neighbour& a, const neighbour& b) noexcept -> bool {
  return a.score > b.score || (a.score == b.score && a.id < b.id);
}

/// A heap of the nearest vectors that were found so far. The farthest of these vectors is on top.
class nearest_heap {
 public:
  explicit nearest_heap(std::size_t count) : count_(count) {}

  void add(const neighbour& each) {
    if (neighbours_.size() < count_) {
      if (std::isnan(each.score)) return;
      neighbours_.push_back(each);
    } else {
      if (!is_nearer(each, neighbours_.front())) return;
      std::ranges::pop_heap(neighbours_, is_nearer);
      neighbours_.back() = each;
    }
    std::ranges::push_heap(neighbours_, is_nearer);
  }

  [[nodiscard]] auto all() && -> std::vector<neighbour> { return std::move(neighbours_); }

 private:
  std::size_t count_;
  std::vector<neighbour> neighbours_;
};

/// The query of a search, in the form that the kernels read.
struct prepared_query {
  std::vector<double> numbers;
  double square = 0;  ///< its dot product with itself

  explicit prepared_query(std::string_view vector) : square(dot_product(vector, vector)) {
    numbers.reserve(vector_size(vector));
    for (std::size_t at = 0; at < vector_size(vector); ++at) numbers.push_back(vector_item(vector, at));
  }

  /// Computes the scores of a block of vectors. `squares` are the squared lengths of these vectors.
  void score(const float* block, const double* squares, vector_metric metric, block_scores& out) const {
    const vector_kernels& with = vector_kernels_here();
    const auto kernel = metric == vector_metric::l2 ? with.squared_distance : with.dot;
    kernel(block, numbers.data(), numbers.size(), out.data());
    if (metric == vector_metric::l2)
      for (double& each : out) each = 0.0 - each;  // an equal vector has the score 0 and not -0
    if (metric == vector_metric::cosine)
      for (std::size_t at = 0; at < out.size(); ++at) out[at] = measure_cosine(out[at], square, squares[at]);
  }
};

}  // namespace

void score_vectors(std::string_view query, std::span<const std::string_view> vectors, vector_metric metric,
                   std::span<double> scores) {
  const prepared_query prepared(query);
  const std::size_t dimensions = prepared.numbers.size();
  std::vector<float> block(dimensions * vector_block);
  std::array<double, vector_block> squares{};
  block_scores found{};
  for (std::size_t first = 0; first < vectors.size(); first += vector_block) {
    const std::size_t count = std::min<std::size_t>(vector_block, vectors.size() - first);
    for (std::size_t place = 0; place < count; ++place) {
      const std::string_view vector = vectors[first + place];
      squares[place] = dot_product(vector, vector);
      for (std::size_t at = 0; at < dimensions; ++at)
        block[detail::place_in_blocks(place, at, dimensions)] = vector_item(vector, at);
    }
    prepared.score(block.data(), squares.data(), metric, found);
    std::ranges::copy_n(found.begin(), static_cast<std::ptrdiff_t>(count),
                        scores.begin() + static_cast<std::ptrdiff_t>(first));
  }
}

/// Scores some vectors of a file that stores its vectors one after the other.
class vector_file::row_scorer {
 public:
  row_scorer(const vector_file& file, const prepared_query& query, vector_metric metric)
      : squares_(file.squares_), query_(query), metric_(metric), block_(file.values_, file.dimensions()) {}

  void score(std::span<const std::uint32_t> slots, block_scores& out) {
    std::array<double, vector_block> squares{};
    if (metric_ == vector_metric::cosine)
      for (std::size_t at = 0; at < slots.size(); ++at) squares[at] = squares_[slots[at]];
    query_.score(block_.gather(slots), squares.data(), metric_, out);
  }

 private:
  std::span<const double> squares_;
  const prepared_query& query_;
  vector_metric metric_;
  detail::row_block block_;
};

/// The query of a search through the graph.
class vector_file::graph_query {
 public:
  graph_query(const vector_file& file, const prepared_query& query, const nearest_options& options)
      : file_(file), options_(options), rows_(file, query, options.metric) {}

  void score(std::span<const std::uint32_t> slots, block_scores& out) { rows_.score(slots, out); }
  [[nodiscard]] auto is_before(std::uint32_t a, std::uint32_t b) const noexcept -> bool {
    return file_.ids_[a] < file_.ids_[b];
  }
  [[nodiscard]] auto accepts(std::uint32_t slot) const noexcept -> bool {
    return options_.allowed == nullptr || options_.allowed->allows(slot);
  }
  [[nodiscard]] auto is_stopped() const noexcept -> bool {
    return options_.stop != nullptr && options_.stop->requested();
  }

 private:
  const vector_file& file_;
  const nearest_options& options_;
  row_scorer rows_;
};

/// A search over ranges of slots, split into pieces that workers may share.
class vector_file::search {
 public:
  search(const vector_file& file, std::string_view vector, const nearest_options& options)
      : file_(file), options_(options), query_(vector) {
    for (const std::uint32_t list : chosen_lists()) add_pieces(file.lists_[list]);
    if (options_.allowed != nullptr && is_whole()) looked_at_ = options_.allowed->size();
  }

  auto run() -> nearest_found {
    const auto stopped = [this] { return options_.stop != nullptr && options_.stop->requested(); };
    if (!options_.is_shared || pieces_.size() < 2) {
      nearest_heap heap(options_.count);
      for (const piece& each : pieces_)
        if (!stopped()) look_through(each, heap);
      return found(std::move(heap).all());
    }
    std::vector<std::vector<neighbour>> of_pieces(pieces_.size());
    braid::parallel_for(std::size_t{0}, pieces_.size(),
                        [&](std::size_t index) {
                          if (stopped()) return;
                          nearest_heap heap(options_.count);
                          look_through(pieces_[index], heap);
                          of_pieces[index] = std::move(heap).all();
                        },
                        {.grain = 1});
    nearest_heap heap(options_.count);
    for (const auto& all : of_pieces)
      for (const neighbour& each : all) heap.add(each);
    return found(std::move(heap).all());
  }

 private:
  static constexpr std::uint64_t piece_slots = 16'384;

  struct piece {
    std::uint64_t first = 0;  ///< a slot
    std::uint64_t count = 0;
  };

  /// Returns whether all lists are searched.
  [[nodiscard]] auto is_whole() const noexcept -> bool {
    return options_.lists == 0 || options_.lists >= file_.lists();
  }

  /// Returns the nearest lists, or all lists, in the order of the file.
  [[nodiscard]] auto chosen_lists() -> std::vector<std::uint32_t> {
    std::vector<std::uint32_t> chosen;
    const std::uint32_t lists = file_.lists();
    if (is_whole()) {
      for (std::uint32_t list = 0; list < file_.lists_.size(); ++list) chosen.push_back(list);
      return chosen;
    }
    nearest_heap heap(options_.allowed != nullptr ? lists : options_.lists);
    block_scores scores{};
    for (std::uint32_t first = 0; first < lists; first += vector_block) {
      const float* block = file_.centroids_ + std::uint64_t{first} * file_.dimensions();
      query_.score(block, file_.centroid_squares_.data() + first, options_.metric, scores);
      for (std::uint32_t at = 0; at < vector_block && first + at < lists; ++at) heap.add({scores[at], first + at});
    }
    std::vector<neighbour> nearest = std::move(heap).all();
    if (options_.allowed != nullptr) leave_out_needless(nearest);
    for (const neighbour& each : nearest) chosen.push_back(static_cast<std::uint32_t>(each.id));
    std::ranges::sort(chosen);
    return chosen;
  }

  /// Keeps only the nearest lists, at least the requested number of them. Further lists are kept until the kept lists
  /// contain all allowed vectors, or as many of them as a search without a filter compares on average.
  void leave_out_needless(std::vector<neighbour>& lists) {
    std::ranges::sort(lists, is_nearer);
    const std::uint64_t wanted = std::min(options_.allowed->size(), file_.size() * options_.lists / file_.lists());
    std::size_t kept = 0;
    while (kept < lists.size() && (kept < options_.lists || looked_at_ < wanted))
      looked_at_ += count_allowed(file_.lists_[static_cast<std::size_t>(lists[kept++].id)]);
    lists.resize(kept);
  }

  [[nodiscard]] auto count_allowed(const list_entry& list) const -> std::uint64_t {
    std::uint64_t count = 0;
    for (std::uint64_t at = 0; at < list.count; at += vector_block)
      count += static_cast<std::uint64_t>(std::popcount(options_.allowed->block((list.first + at) / vector_block)));
    return count;
  }

  void add_pieces(const list_entry& list) {
    if (options_.allowed == nullptr) looked_at_ += list.count;
    for (std::uint64_t at = 0; at < list.count; at += piece_slots)
      pieces_.push_back({list.first + at, std::min(piece_slots, list.count - at)});
  }

  void look_through(const piece& range, nearest_heap& heap) const {
    if (file_.has_rows()) return look_through_rows(range, heap);
    block_scores scores{};
    for (std::uint64_t at = 0; at < range.count; at += vector_block) {
      const std::uint64_t slot = range.first + at;
      const std::uint32_t allowed = options_.allowed == nullptr ? ~0U : options_.allowed->block(slot / vector_block);
      if (allowed == 0) continue;
      query_.score(file_.values_ + slot * file_.dimensions(), file_.squares_.data() + slot, options_.metric, scores);
      const std::uint64_t places = std::min<std::uint64_t>(vector_block, range.count - at);
      for (std::uint64_t place = 0; place < places; ++place)
        if ((allowed >> place & 1U) != 0) heap.add({scores[place], file_.ids_[slot + place]});
    }
  }

  /// Compares the vectors of a piece like `look_through`, for a file that stores its vectors one after the other.
  void look_through_rows(const piece& range, nearest_heap& heap) const {
    row_scorer rows(file_, query_, options_.metric);
    std::array<std::uint32_t, vector_block> slots{};
    std::size_t count = 0;
    block_scores scores{};
    for (std::uint64_t slot = range.first; slot < range.first + range.count; ++slot) {
      if (options_.allowed == nullptr || options_.allowed->allows(slot))
        slots[count++] = static_cast<std::uint32_t>(slot);
      if (count == 0 || (count < slots.size() && slot + 1 < range.first + range.count)) continue;
      rows.score(std::span(slots).first(count), scores);
      for (std::size_t at = 0; at < count; ++at) heap.add({scores[at], file_.ids_[slots[at]]});
      count = 0;
    }
  }

  [[nodiscard]] auto found(std::vector<neighbour> all) const -> nearest_found {
    std::ranges::sort(all, is_nearer);
    return {.all = std::move(all), .looked_at = looked_at_};
  }

  const vector_file& file_;
  nearest_options options_;
  prepared_query query_;
  std::vector<piece> pieces_;
  std::uint64_t looked_at_ = 0;
};

/// Searches the graph. If not all nodes of the graph are connected, may find fewer vectors than requested.
auto vector_file::search_graph(std::string_view vector, const nearest_options& options) const -> nearest_found {
  const vector_graph settings = *graph();
  const prepared_query prepared(vector);
  const detail::graph_links links{detail::graph_layers(size(), settings.m), links_};
  const std::size_t width = std::max(options.ef_search, options.count);
  graph_query query(*this, prepared, options);
  detail::graph_search search(links, query, width);
  nearest_found out;
  for (const detail::scored_node& each : search.find(0, search.descend(0), width))
    out.all.push_back({each.score, ids_[each.node]});
  std::ranges::sort(out.all, is_nearer);
  out.all.resize(std::min(out.all.size(), options.count));
  out.looked_at = search.looked_at();
  return out;
}

/// Returns whether a search through the graph probably compares fewer vectors than an exact search of the allowed
/// vectors. The graph search compares about `m` vectors around each vector that it finds, and around each vector on its
/// way that the filter refuses.
auto vector_file::is_graph_faster(const nearest_options& options) const noexcept -> bool {
  const auto settings = graph();
  if (!settings || options.ef_search == 0) return false;
  const std::uint64_t allowed = options.allowed != nullptr ? options.allowed->size() : size();
  const std::uint64_t width = std::max(options.ef_search, options.count);
  return allowed * allowed > width * settings->m * size();
}

auto vector_file::looked_at(const nearest_options& options) const noexcept -> std::uint64_t {
  if (is_graph_faster(options)) return std::max(options.ef_search, options.count) * graph()->m;
  const std::uint32_t all = lists();
  if (options.lists == 0 || options.lists >= all) return size();
  return size() * options.lists / all + all;
}

auto vector_file::nearest(std::string_view vector, const nearest_options& options) const -> nearest_found {
  BRAID_EXPECTS(vector_size(vector) == dimensions(), "a query must have as many dimensions as the vectors of the file");
  std::uint64_t looked_at = 0;
  if (is_graph_faster(options)) {
    nearest_found found = search_graph(vector, options);
    const std::uint64_t allowed = options.allowed != nullptr ? options.allowed->size() : size();
    const bool is_stopped = options.stop != nullptr && options.stop->requested();
    if (is_stopped || found.all.size() >= std::min<std::uint64_t>(options.count, allowed)) return found;
    looked_at = found.looked_at;
  }
  nearest_found found = search(*this, vector, options).run();
  found.looked_at += looked_at;
  return found;
}

}  // namespace rankd
