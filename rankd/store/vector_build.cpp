// rankd/store/vector_build.cpp: clusters vectors by k-means with a seed, and writes the parts of a file of vectors.
#include <rankd/store/vector_build.hpp>

#include <rankd/registry/diagnostic.hpp>
#include <rankd/registry/vector_bytes.hpp>
#include <rankd/store/crc32c.hpp>
#include <rankd/store/detail/graph_build.hpp>
#include <rankd/store/detail/vector_layout.hpp>
#include <rankd/store/vector_file.hpp>

#include <braid/base/config.hpp>
#include <braid/base/random.hpp>
#include <braid/task/parallel.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>
#include <variant>

namespace rankd {
namespace {

using detail::place_in_blocks;
using detail::vector_header;
using detail::vector_layout;
using detail::vector_part;

constexpr std::size_t sample_for_list = 128;
constexpr std::size_t rounds = 8;
constexpr std::size_t grain = 256;  // vectors that a worker takes at a time

/// The centres of the lists, stored in the blocks that the kernels read.
class centroids {
 public:
  centroids(std::uint32_t count, std::uint32_t dimensions)
      : count_(count),
        dimensions_(dimensions),
        values_((count + vector_block - 1) / vector_block * vector_block * dimensions) {}

  void set(std::uint32_t list, std::uint32_t index, float value) {
    values_[place_in_blocks(list, index, dimensions_)] = value;
  }

  struct place {
    std::uint32_t list = 0;
    double distance = std::numeric_limits<double>::infinity();
  };

  /// Returns the nearest centre. If several centres are equally near, returns the first of them.
  [[nodiscard]] auto nearest_to(std::span<const float> vector) const -> place {
    const std::vector<double> query(vector.begin(), vector.end());
    const auto kernel = vector_kernels_here().squared_distance;
    place best;
    block_scores distances{};
    for (std::uint32_t first = 0; first < count_; first += vector_block) {
      kernel(values_.data() + std::size_t{first} * dimensions_, query.data(), dimensions_, distances.data());
      for (std::uint32_t at = 0; at < vector_block && first + at < count_; ++at)
        if (distances[at] < best.distance) best = {first + at, distances[at]};
    }
    return best;
  }

  [[nodiscard]] auto values() const -> std::span<const float> { return values_; }

 private:
  std::uint32_t count_;
  std::uint32_t dimensions_;
  std::vector<float> values_;
};

/// Implements k-means: runs Lloyd's iterations over a sample, and then assigns every vector to a list.
class clustering {
 public:
  clustering(const vector_table& table, const vector_lists& lists, const vector_progress& progress)
      : table_(table), lists_(lists), progress_(progress), centres_(lists.count, table.dimensions) {
    sample_ = draw_sample();
    total_ = rounds * sample_.size() + table.size();
    for (std::uint32_t list = 0; list < lists_.count; ++list) set_centre(list, table_.at(sample_[list]));
  }

  /// Returns the list of each vector.
  auto run() -> std::vector<std::uint32_t> {
    for (std::size_t round = 0; round < rounds; ++round) move_centres(find_places(sample_));
    std::vector<std::size_t> all(table_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const auto places = find_places(all);
    std::vector<std::uint32_t> lists;
    lists.reserve(places.size());
    for (const centroids::place& each : places) lists.push_back(each.list);
    return lists;
  }

  [[nodiscard]] auto centres() const -> std::span<const float> { return centres_.values(); }

 private:
  /// Returns the rows of the sample, without duplicates, in random order.
  [[nodiscard]] auto draw_sample() const -> std::vector<std::size_t> {
    std::vector<std::size_t> rows(table_.size());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    const std::size_t wanted = std::min(rows.size(), lists_.count * sample_for_list);
    braid::random_source random(lists_.seed);
    for (std::size_t at = 0; at < wanted; ++at) std::swap(rows[at], rows[at + random.below(rows.size() - at)]);
    rows.resize(wanted);
    return rows;
  }

  void set_centre(std::uint32_t list, std::span<const float> vector) {
    for (std::uint32_t at = 0; at < vector.size(); ++at) centres_.set(list, at, vector[at]);
  }

  [[nodiscard]] auto find_places(std::span<const std::size_t> rows) -> std::vector<centroids::place> {
    std::vector<centroids::place> places(rows.size());
    constexpr std::size_t step = 64 * grain;  // between two reports
    for (std::size_t first = 0; first < rows.size(); first += step) {
      const std::size_t end = std::min(rows.size(), first + step);
      braid::parallel_for(first, end,
                          [&](std::size_t index) { places[index] = centres_.nearest_to(table_.at(rows[index])); },
                          {.grain = grain});
      done_ += end - first;
      if (progress_) progress_(done_, total_);
    }
    return places;
  }

  /// Moves each centre to the mean of the vectors assigned to it. A centre without vectors moves to the vector whose
  /// distance from its nearest centre is the greatest.
  void move_centres(std::span<const centroids::place> places) {
    const std::size_t size = table_.dimensions;
    std::vector<double> sums(lists_.count * size);
    std::vector<std::uint64_t> counts(lists_.count);
    for (std::size_t at = 0; at < places.size(); ++at) {
      const std::span<const float> vector = table_.at(sample_[at]);
      ++counts[places[at].list];
      for (std::size_t i = 0; i < size; ++i) sums[places[at].list * size + i] += vector[i];
    }
    std::vector<std::size_t> farthest(places.size());
    std::iota(farthest.begin(), farthest.end(), std::size_t{0});
    std::ranges::sort(farthest, [places](std::size_t a, std::size_t b) {
      return places[a].distance > places[b].distance || (places[a].distance == places[b].distance && a < b);
    });
    std::size_t taken = 0;
    for (std::uint32_t list = 0; list < lists_.count; ++list) {
      if (counts[list] == 0) {
        set_centre(list, table_.at(sample_[farthest[taken++]]));
        continue;
      }
      for (std::uint32_t i = 0; i < size; ++i)
        centres_.set(list, i, static_cast<float>(sums[list * size + i] / static_cast<double>(counts[list])));
    }
  }

  const vector_table& table_;
  vector_lists lists_;
  const vector_progress& progress_;
  centroids centres_;
  std::vector<std::size_t> sample_;  // rows
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
};

/// Builds the bytes of a file, part by part.
class file_maker {
 public:
  file_maker(vector_header header, const vector_table& table) : header_(header), layout_(header), table_(table) {
    bytes_.resize(layout_.bytes);
  }

  template <typename T>
  [[nodiscard]] auto part(vector_part kind) -> T* {
    return reinterpret_cast<T*>(bytes_.data() + layout_.of(kind).begin);
  }

  /// Writes the texts of the ids: first the end of each text, then all texts.
  void add_texts() {
    auto* const ends = part<std::uint64_t>(vector_part::texts);
    char* const begin = reinterpret_cast<char*>(ends + table_.texts.size());
    std::uint64_t end = 0;
    for (std::size_t row = 0; row < table_.texts.size(); ++row) {
      std::ranges::copy(table_.texts[row], begin + end);
      ends[row] = end += table_.texts[row].size();
    }
  }

  void add(std::uint64_t slot, std::size_t row) {
    part<std::int64_t>(vector_part::ids)[slot] = table_.ids[row];
    double square = 0;
    float* const values = part<float>(vector_part::values);
    const std::span<const float> vector = table_.at(row);
    for (std::uint64_t at = 0; at < vector.size(); ++at) {
      values[place_in_blocks(slot, at, table_.dimensions, header_.block)] = vector[at];
      square += static_cast<double>(vector[at]) * static_cast<double>(vector[at]);
    }
    part<double>(vector_part::squares)[slot] = square;
  }

  auto finish() && -> std::string {
    for (std::size_t at = 0; at < detail::vector_parts; ++at) {
      const detail::vector_span where = layout_.parts[at];
      header_.checksum_of(at) = crc32c(std::as_bytes(std::span(bytes_)).subspan(where.begin, where.bytes));
    }
    header_.checksum = 0;
    header_.checksum = crc32c(std::as_bytes(std::span(&header_, 1)));
    std::memcpy(bytes_.data(), &header_, sizeof(header_));
    return std::move(bytes_);
  }

 private:
  vector_header header_;
  vector_layout layout_;
  const vector_table& table_;
  std::string bytes_;
};

/// Returns the rows in the order of their ids, so that the order of the input does not matter. If ids are strings, the
/// returned rows are numbered by their positions.
auto sorted_by_id(vector_table table) -> vector_table {
  std::vector<std::size_t> order(table.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const bool has_texts = !table.texts.empty();
  if (!has_texts && std::ranges::is_sorted(table.ids)) return table;
  if (has_texts)
    std::ranges::sort(order, {}, [&table](std::size_t row) -> const std::string& { return table.texts[row]; });
  else
    std::ranges::sort(order, {}, [&table](std::size_t row) { return table.ids[row]; });
  vector_table out{.dimensions = table.dimensions, .ids = {}, .texts = {}, .numbers = {}};
  out.ids.reserve(table.size());
  out.texts.reserve(table.texts.size());
  out.numbers.reserve(table.numbers.size());
  for (const std::size_t row : order) {
    out.ids.push_back(has_texts ? static_cast<std::int64_t>(out.ids.size()) : table.ids[row]);
    if (has_texts) out.texts.push_back(std::move(table.texts[row]));
    const std::span<const float> vector = table.at(row);
    out.numbers.insert(out.numbers.end(), vector.begin(), vector.end());
  }
  return out;
}

/// Returns the header of a file of these vectors. The caller must set the remaining fields.
auto make_header(const vector_table& table) -> vector_header {
  vector_header header{.version = table.texts.empty() ? detail::version_of_numbers : detail::version_of_texts,
                       .dimensions = table.dimensions,
                       .count = table.size(),
                       .block = vector_block};
  std::ranges::copy(detail::vector_magic, header.magic.begin());
  for (const std::string& each : table.texts) header.text_bytes += sizeof(std::uint64_t) + each.size();
  return header;
}

/// Returns the number of slots that a list with this number of vectors occupies.
auto slots_for(std::size_t vectors) -> std::uint64_t {
  return (vectors + vector_block - 1) / vector_block * vector_block;
}

}  // namespace

auto apply_changes(const vector_file& base, vector_changes changes) -> vector_table {
  vector_filter kept = vector_filter::all(base);
  const bool has_texts = base.id_type() == value_type::string;
  for (const std::int64_t id : has_texts ? std::vector<std::int64_t>() : changes.changed.ids) kept.refuse(id);
  for (const std::string& id : changes.changed.texts) kept.refuse(std::string_view(id));
  for (const row_id& each : changes.deleted) {
    if (const auto* const number = std::get_if<std::int64_t>(&each))
      kept.refuse(*number);
    else
      kept.refuse(std::string_view(std::get<std::string>(each)));
  }
  vector_table out = std::move(changes.changed);
  base.for_each([&](std::int64_t id, std::string_view vector) {
    const std::uint64_t slot = *(has_texts ? base.find_slot(base.text(id)) : base.find_slot(id));
    if (!kept.allows(slot)) return;
    if (has_texts) out.texts.emplace_back(base.text(id));
    out.ids.push_back(has_texts ? static_cast<std::int64_t>(out.ids.size()) : id);
    for (std::size_t at = 0; at < base.dimensions(); ++at) out.numbers.push_back(vector_item(vector, at));
  });
  return out;
}

auto find_index(const vector_file& file) -> vector_index {
  if (const auto graph = file.graph()) return *graph;
  return vector_lists{.count = file.lists(), .seed = file.seed()};
}

auto build_vectors(vector_table table, const vector_index& index, const vector_progress& progress)
    -> braid::checked<built_vectors> {
  constexpr std::size_t max_vectors = detail::max_vectors / vector_block;
  if (table.size() > max_vectors)
    return refused("too_many_vectors", "a file may have at most " + std::to_string(max_vectors) + " vectors");
  built_vectors out{.bytes = {}, .vectors = table.size(), .index = index};
  out.bytes = std::visit([&](const auto& each) { return vector_file_bytes(std::move(table), each, progress); }, index);
  return out;
}

auto vector_file_bytes(vector_table unsorted, const vector_lists& lists, const vector_progress& progress)
    -> std::string {
  BRAID_EXPECTS(lists.count <= unsorted.size() && lists.count <= detail::max_lists,
                "a vector file must not have more lists than vectors");
  const vector_table table = sorted_by_id(std::move(unsorted));
  std::vector<std::uint32_t> list_index(table.size());
  std::vector<float> centres;
  if (lists.count != 0) {
    clustering made(table, lists, progress);
    list_index = made.run();
    centres.assign(made.centres().begin(), made.centres().end());
  }
  std::vector<std::vector<std::size_t>> rows(std::max<std::size_t>(lists.count, 1));
  for (std::size_t row = 0; row < table.size(); ++row) rows[list_index[row]].push_back(row);
  vector_header header = make_header(table);
  header.lists = lists.count;
  header.seed = lists.count == 0 ? 0 : lists.seed;
  for (const auto& list : rows) header.slots += slots_for(list.size());

  file_maker out(header, table);
  std::ranges::copy(centres, out.part<float>(vector_part::centroids));
  out.add_texts();
  std::uint64_t slot = 0;
  for (std::size_t list = 0; list < rows.size(); ++list) {
    std::uint64_t* const entry = out.part<std::uint64_t>(vector_part::lists) + 2 * list;
    entry[0] = slot;
    entry[1] = rows[list].size();
    for (std::size_t at = 0; at < rows[list].size(); ++at) out.add(slot + at, rows[list][at]);
    slot += slots_for(rows[list].size());
  }
  return std::move(out).finish();
}

auto vector_file_bytes(vector_table unsorted, const vector_graph& graph, const vector_progress& progress)
    -> std::string {
  BRAID_EXPECTS(unsorted.size() != 0 && graph.m >= min_m && graph.m <= max_m,
                "a graph must have at least one node, and 2 to 128 links for each node");
  const vector_table table = sorted_by_id(std::move(unsorted));
  const detail::built_graph built = detail::build_graph(table, graph, progress);
  vector_header header = make_header(table);
  header.version = detail::version_of_graphs;
  header.slots = slots_for(table.size());
  header.block = 1;
  header.seed = graph.seed;
  header.m = graph.m;
  header.ef_construction = graph.ef_construction;
  header.metric = static_cast<std::uint32_t>(graph.metric);

  file_maker out(header, table);
  out.add_texts();
  out.part<std::uint64_t>(vector_part::lists)[1] = table.size();
  for (std::size_t node = 0; node < built.rows.size(); ++node) out.add(node, built.rows[node]);
  std::ranges::copy(built.links, out.part<std::uint32_t>(vector_part::links));
  return std::move(out).finish();
}

}  // namespace rankd
