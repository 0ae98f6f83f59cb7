// rankd/engine/id_fates.cpp: at which node rows with an id appear, and at which they vanish.
#include <rankd/engine/detail/explain.hpp>

#include <algorithm>
#include <utility>

namespace rankd {
namespace {

/// The first row of an id in a row set, and how many there are.
struct sighting {
  std::size_t rows = 0;
  std::size_t position = 0;  // from 0
  row_set in;
};

auto look_for(std::int64_t id, const row_set& rows) -> sighting {
  sighting seen{.rows = 0, .position = 0, .in = rows};
  for (std::size_t at = 0; at < rows.size(); ++at) {
    if (rows.id(at) != id) continue;
    if (seen.rows++ == 0) seen.position = at;
  }
  return seen;
}

auto reason_of(row_change change) -> drop_reason {
  switch (change) {
    case row_change::dense_source: return drop_reason::replaced;
    case row_change::stable_filter: return drop_reason::predicate;
    case row_change::prefix:
    case row_change::selection: return drop_reason::count;
    case row_change::preserves_view:
    case row_change::permutation:
    case row_change::concatenation: break;
  }
  return drop_reason::other;
}

/// One id on its way through the nodes of a run.
class tracer {
 public:
  tracer(const run_picture& run, const registries& declared, std::int64_t id) : run_(&run), declared_(&declared) {
    fate_.id = id;
  }

  auto trace() && -> id_fate {
    for (const node_index node : run_->state.plan->shape.order()) visit(node);
    for (std::size_t at = 0; at < run_->candidates.size(); ++at)
      if (run_->candidates.id(at) == fate_.id) fate_.positions.push_back(at + 1);
    return std::move(fate_);
  }

 private:
  [[nodiscard]] auto is_done(node_index node) const -> bool { return run_->nodes[node] == node_state::done; }

  /// All rows with the id that go into a node, and the first of them.
  auto arriving(const bound_node& node) const -> sighting {
    sighting all;
    for (const node_index source : node.sources) {
      if (!is_done(source)) continue;
      const sighting seen = look_for(fate_.id, run_->state.nodes[source].output);
      if (all.rows == 0 && seen.rows != 0) all = {.rows = 0, .position = seen.position, .in = seen.in};
      all.rows += seen.rows;
    }
    return all;
  }

  void visit(node_index at) {
    const bound_node& node = run_->state.plan->nodes[at];
    const sighting in = arriving(node);
    if (!is_done(at)) {
      if (in.rows != 0) drop(node, in, in.rows, drop_reason::not_done);
      return;
    }
    const std::size_t out = look_for(fate_.id, run_->state.nodes[at].output).rows;
    const bool is_source = node.change == row_change::dense_source;
    if (is_source && out != 0) fate_.produced_by.push_back(node.node_id);
    if (is_source && in.rows != 0) drop(node, in, in.rows, drop_reason::replaced);
    if (!is_source && out < in.rows) drop(node, first_missing(in, at), in.rows - out, reason_of(node.change));
  }

  /// The first row with the id that goes in and is not among those that come out.
  [[nodiscard]] auto first_missing(sighting in, node_index at) const -> sighting {
    const row_set& kept = run_->state.nodes[at].output;
    for (std::size_t position = in.position; position < in.in.size(); ++position) {
      if (in.in.id(position) != fate_.id) continue;
      bool stays = false;
      kept.for_each_row([&](std::uint32_t row) { stays = stays || row == in.in.row(position); });
      if (stays) continue;
      in.position = position;
      break;
    }
    return in;
  }

  void drop(const bound_node& node, const sighting& in, std::size_t rows, drop_reason why) {
    // Of a sort and a take that are one, the rows come in as they were before the sort.
    const bool is_placed = why != drop_reason::count || !node.fused_with;
    fate_.drops.push_back({.node_id = node.node_id,
                           .op = node.op_name,
                           .reason = why,
                           .rows = rows,
                           .position = is_placed ? in.position + 1 : 0,
                           .input = in.in,
                           .row = in.in.row(in.position),
                           .fields = shown_fields(in.in.table(), *declared_)});
  }

  const run_picture* run_;
  const registries* declared_;
  id_fate fate_;
};

}  // namespace

auto fates_of(const run_picture& run, const registries& declared) -> std::vector<id_fate> {
  std::vector<id_fate> all;
  for (const std::int64_t id : run.state.request.explain_ids) all.push_back(tracer(run, declared, id).trace());
  return all;
}

}  // namespace rankd
