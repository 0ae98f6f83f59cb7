// rankd/engine/explain/id_fates.cpp: finds the nodes at which rows with an id appear and disappear.
#include <rankd/engine/detail/explain.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace rankd {
namespace {

/// The number of a node's rows that have a certain id, and the position of the first of these rows.
struct sighting {
  std::size_t rows = 0;
  std::size_t position = 0;  // from 0
};

/// The positions of all explained ids in the rows of each node. The rows of each node are read only once for all ids,
/// because this work blocks the loop.
class sighting_table {
 public:
  explicit sighting_table(const run_picture& run)
      : ids_(run.state.request.explain_ids), positions_(ids_.size()), seen_(ids_.size() * run.nodes.size()) {
    std::ranges::sort(ids_);
    if (ids_.empty()) return;
    for (node_index node = 0; node < run.nodes.size(); ++node)
      if (const row_set* const rows = rows_given(run, node))
        each_asked(*rows, [&](std::size_t id, std::size_t position) {
          sighting& here = seen_[node * ids_.size() + id];
          if (here.rows++ == 0) here.position = position;
        });
    each_asked(run.candidates, [&](std::size_t id, std::size_t position) { positions_[id].push_back(position + 1); });
  }

  [[nodiscard]] auto in(node_index node, const row_id& id) const -> const sighting& {
    return seen_[node * ids_.size() + find_place(id)];
  }
  [[nodiscard]] auto among_candidates(const row_id& id) const -> const std::vector<std::size_t>& {
    return positions_[find_place(id)];
  }

 private:
  static constexpr auto number_of = [](const row_id& id) { return std::get<std::int64_t>(id); };
  static constexpr auto text_of = [](const row_id& id) { return std::string_view(std::get<std::string>(id)); };

  [[nodiscard]] auto find_place(const row_id& id) const -> std::size_t {
    return static_cast<std::size_t>(std::ranges::lower_bound(ids_, id) - ids_.begin());
  }

  /// Returns the index of an id among the explained ids. Returns the number of explained ids if the id is not one of
  /// them.
  template <typename Id, typename IdOf>
  [[nodiscard]] auto find(const Id& id, IdOf id_of) const -> std::size_t {
    const auto at = std::ranges::lower_bound(ids_, id, {}, id_of);
    return at != ids_.end() && id_of(*at) == id ? static_cast<std::size_t>(at - ids_.begin()) : ids_.size();
  }

  template <typename Fn>
  void each_asked(const row_set& rows, Fn fn) const {
    const auto texts = rows.table().text_ids();
    std::vector<std::size_t> places;  // of each word of the dictionary
    if (texts)
      for (const std::string_view word : texts->words->entries()) places.push_back(find(word, text_of));
    for (std::size_t position = 0; position < rows.size(); ++position) {
      const std::size_t place = texts ? places[texts->codes[rows.row(position)]] : find(rows.id(position), number_of);
      if (place < ids_.size()) fn(place, position);
    }
  }

  std::vector<row_id> ids_;                          // ascending, all of one type
  std::vector<std::vector<std::size_t>> positions_;  // per id
  std::vector<sighting> seen_;                       // per node and id
};

/// Describes those input rows of a node that have the explained id.
struct arrival {
  std::size_t rows = 0;
  std::size_t position = 0;  // of the first
  row_set in;                // the rows that contain the first
};

auto find_reason(row_change change) -> drop_reason {
  switch (change) {
    case row_change::dense_source: return drop_reason::replaced;
    case row_change::stable_filter: return drop_reason::predicate;
    case row_change::distinct: return drop_reason::duplicate;
    case row_change::matched: return drop_reason::match;
    case row_change::prefix:
    case row_change::selection: return drop_reason::count;
    case row_change::diversified: return drop_reason::diversity;
    case row_change::merged: return drop_reason::merged;
    case row_change::preserves_view:
    case row_change::permutation:
    case row_change::concatenation: break;
  }
  return drop_reason::other;
}

/// Follows one id through the nodes of a run.
class tracer {
 public:
  tracer(const run_picture& run, const registries& declared, const sighting_table& seen, const row_id& id)
      : run_(&run), declared_(&declared), seen_(&seen) {
    fate_.id = id;
  }

  auto trace() && -> id_fate {
    for (const node_index node : run_->state.plan->whole.shape.order())
      if (run_->nodes[node] != node_state::bypassed) visit(node);
    fate_.positions = seen_->among_candidates(fate_.id);
    return std::move(fate_);
  }

 private:
  [[nodiscard]] auto is_done(node_index node) const -> bool { return run_->nodes[node] == node_state::done; }

  /// Returns how many input rows of a node have the id, and the position of the first of these rows. If a node only
  /// passes on rows of its first input, the other inputs do not count.
  [[nodiscard]] auto arriving(node_index index) const -> arrival {
    arrival all;
    const bound_node& node = run_->state.plan->nodes[index];
    const std::span<const node_index> sources = run_->state.find_sources(index);
    for (const node_index source : makes_rows(node.change) || sources.empty() ? sources : sources.first(1)) {
      const sighting& seen = seen_->in(source, fate_.id);
      if (all.rows == 0 && seen.rows != 0)
        all = {.rows = 0, .position = seen.position, .in = *rows_given(*run_, source)};
      all.rows += seen.rows;
    }
    return all;
  }

  void visit(node_index index) {
    const bound_node& node = run_->state.plan->nodes[index];
    const arrival in = arriving(index);
    const std::size_t out = seen_->in(index, fate_.id).rows;
    if (!is_done(index)) {  // its fallback may produce rows with the id
      if (out < in.rows) drop(node, in, in.rows - out, drop_reason::not_done);
      return;
    }
    if (run_->state.nodes[index].merged != nullptr) return visit_merged(index, *run_->state.nodes[index].merged);
    const bool is_source = node.change == row_change::dense_source;
    if (is_source && out != 0) fate_.produced_by.push_back(node.node_id);
    if (is_source && in.rows != 0) drop(node, in, in.rows, drop_reason::replaced);
    if (!is_source && out < in.rows)
      drop(node, out == 0 ? in : first_missing(in, index), in.rows - out, find_reason(node.change));
  }

  /// Reports on a node that merges its inputs. Lists the rows that the node takes from each input, the rows that it
  /// drops, and the rows that it adds itself.
  void visit_merged(node_index index, const merged_rows& from) {
    const bound_node& node = run_->state.plan->nodes[index];
    const batch& given = run_->state.nodes[index].output.table();
    std::uint32_t row = 0;
    const std::span<const node_index> sources = run_->state.find_sources(index);
    for (std::size_t side = 0; side < sources.size(); ++side) {
      std::vector<std::uint32_t> kept;
      for (const std::uint32_t end = row + from.of_input[side]; row < end; ++row)
        if (given.id(row) == fate_.id) kept.push_back(from.origins[row]);
      const std::string& source = run_->state.plan->nodes[sources[side]].node_id;
      if (!kept.empty()) fate_.merges.push_back({.node_id = node.node_id, .from = source, .rows = kept.size()});
      leave(node, sources[side], kept);
    }
    for (; row < given.size(); ++row)
      if (given.id(row) == fate_.id) return fate_.produced_by.push_back(node.node_id);
  }

  /// Reports the rows of a source that have the explained id but are not taken by a node. `kept` lists the rows that
  /// the node takes.
  void leave(const bound_node& node, node_index source, const std::vector<std::uint32_t>& kept) {
    const sighting& seen = seen_->in(source, fate_.id);
    if (seen.rows <= kept.size()) return;
    arrival in{.rows = seen.rows, .position = seen.position, .in = *rows_given(*run_, source)};
    while (in.in.table().id(in.in.row(in.position)) != fate_.id ||
           std::ranges::find(kept, in.in.row(in.position)) != kept.end())
      ++in.position;
    drop(node, in, seen.rows - kept.size(), drop_reason::merged);
    fate_.drops.back().from = run_->state.plan->nodes[source].node_id;
  }

  /// Returns the first input row that has the id and is not in the node's output.
  [[nodiscard]] auto first_missing(arrival arrived, node_index node) const -> arrival {
    const row_set& kept = run_->state.nodes[node].output;
    for (std::size_t position = arrived.position; position < arrived.in.size(); ++position) {
      if (arrived.in.table().id(arrived.in.row(position)) != fate_.id) continue;
      bool stays = false;
      kept.for_each_row([&](std::uint32_t row) { stays = stays || row == arrived.in.row(position); });
      if (stays) continue;
      arrived.position = position;
      break;
    }
    return arrived;
  }

  void drop(const bound_node& node, const arrival& arrived, std::size_t rows, drop_reason reason) {
    // If a sort and a take are fused, the input is not sorted yet, so a position in the input has no meaning.
    const bool is_placed = reason != drop_reason::count || !node.fused_with;
    fate_.drops.push_back({.node_id = node.node_id,
                           .op = node.op_name,
                           .reason = reason,
                           .rows = rows,
                           .position = is_placed ? arrived.position + 1 : 0,
                           .input = arrived.in,
                           .row = arrived.in.row(arrived.position),
                           .fields = shown_fields(arrived.in.table(), *declared_)});
  }

  const run_picture* run_;
  const registries* declared_;
  const sighting_table* seen_;
  id_fate fate_;
};

}  // namespace

auto rows_given(const run_picture& run, node_index node) -> const row_set* {
  while (!run.state.failure_of(node).empty()) {
    const node_fallback& fallback = *run.state.plan->nodes[node].fallback;
    if (fallback.kind != fallback_kind::node) return &run.state.fallen[node].output;
    node = fallback.node;
  }
  return run.nodes[node] == node_state::done ? &run.state.nodes[node].output : nullptr;
}

auto find_fates(const run_picture& run, const registries& declared) -> std::vector<id_fate> {
  std::vector<id_fate> all;
  const sighting_table seen(run);
  for (const row_id& id : run.state.request.explain_ids) all.push_back(tracer(run, declared, seen, id).trace());
  return all;
}

}  // namespace rankd
