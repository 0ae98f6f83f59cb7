// rankd/engine/captured_rows.cpp: captures the rows of nodes in a run, and writes them as JSON.
#include <rankd/engine/captured_rows.hpp>

#include <rankd/engine/detail/capture_rows.hpp>
#include <rankd/engine/detail/json_parts.hpp>
#include <rankd/registry/digest.hpp>
#include <rankd/registry/json_members.hpp>
#include <rankd/registry/json_text.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace rankd {
namespace {

/// Collects the rows that are captured at the nodes of one run.
class capturer {
 public:
  capturer(const run_picture& run, const registries& declared, std::size_t max_rows)
      : run_(&run), declared_(&declared), left_(max_rows) {}

  void add(node_index node, const row_capture& capture) {
    const auto& sources = run_->state.plan->nodes[node].sources;
    if (capture.side != capture_side::out) {
      const auto taken = run_->state.find_sources(node);
      for (const node_index source : run_->nodes[node] == node_state::bypassed ? std::span(sources) : taken)
        add_input(node, source, capture);
    }
    if (capture.side != capture_side::in) add_output(node, capture);
  }

  auto take() -> std::vector<captured_rows> { return std::move(out_); }

 private:
  auto start(node_index node, capture_side side) -> captured_rows& {
    const bound_plan& plan = *run_->state.plan;
    captured_rows& made = out_.emplace_back();
    made.node = plan.nodes[node].node_id;
    made.side = side;
    made.state = run_->nodes[node];
    if (const std::string_view failure = run_->state.failure_of(node); !failure.empty()) {
      made.failure = failure;
      made.used = find_substitute(plan, node);
    }
    return made;
  }

  void add_output(node_index node, const row_capture& capture) {
    const bound_plan& plan = *run_->state.plan;
    captured_rows& made = start(node, capture_side::out);
    const auto other = plan.nodes[node].fused_with;
    if (other && is_source(node, *other)) {
      made.fused_with = plan.nodes[*other].node_id;
      return;
    }
    if (made.state == node_state::done) fill(made, run_->state.nodes[node].output, capture);
  }

  void add_input(node_index node, node_index source, const row_capture& capture) {
    const bound_plan& plan = *run_->state.plan;
    captured_rows& made = start(node, capture_side::in);
    made.source = plan.nodes[source].node_id;
    if (plan.nodes[node].fused_with == source) {
      made.fused_with = made.source;
      return;
    }
    if (made.state == node_state::bypassed || made.state == node_state::skipped) return;
    if (const row_set* rows = rows_given(*run_, source)) fill(made, *rows, capture);
  }

  [[nodiscard]] auto is_source(node_index node, node_index reader) const -> bool {
    return std::ranges::find(run_->state.plan->nodes[reader].sources, node) !=
           run_->state.plan->nodes[reader].sources.end();
  }

  void fill(captured_rows& made, const row_set& rows, const row_capture& capture) {
    made.rows = rows.take(std::min(capture.max_rows, left_));
    made.cut = rows.size() - made.rows->size();
    left_ -= made.rows->size();
    made.keys = shown_fields(rows.table(), *declared_);
    std::erase_if(made.keys, [&](const key_entry* key) {
      return key->key_id == registries::id_key ||
             (capture.key_ids && std::ranges::find(*capture.key_ids, key->key_id) == capture.key_ids->end());
    });
  }

  const run_picture* run_;
  const registries* declared_;
  std::size_t left_;
  std::vector<captured_rows> out_;
};

void append_cell(std::string& out, const column& values, std::uint32_t row) {
  if (values.is_null(row))
    out += "null";
  else
    detail::append_value(out, values, row);
}

void append_column(std::string& out, const column& values, const row_set& rows) {
  out += '[';
  bool is_first = true;
  rows.for_each_row([&](std::uint32_t row) {
    if (!std::exchange(is_first, false)) out += ',';
    append_cell(out, values, row);
  });
  out += ']';
}

/// If all rows have the same value, returns this value as JSON. Returns an empty text if the values differ, or if there
/// are fewer than two rows.
auto find_shared_value(const column& values, const row_set& rows) -> std::string {
  std::string first;
  std::string other;
  bool is_shared = rows.size() > 1;
  rows.for_each_row([&](std::uint32_t row) {
    if (!is_shared) return;
    std::string& text = first.empty() ? first : other;
    text.clear();
    append_cell(text, values, row);
    is_shared = &text == &first || text == first;
  });
  return is_shared ? first : std::string();
}

void append_rows(std::string& out, const row_set& rows, const std::vector<const key_entry*>& keys,
                 std::string* shared) {
  append_json_name(out, "rows");
  out += "{\"id\":";
  append_column(out, *rows.table().find(registries::id_key), rows);
  for (const key_entry* key : keys) {
    const auto values = rows.table().find(key->key_id);
    if (!values) continue;
    if (shared != nullptr)
      if (const std::string value = find_shared_value(*values, rows); !value.empty()) {
        append_json_name(*shared, key->name);
        *shared += value;
        continue;
      }
    append_json_name(out, key->name);
    append_column(out, *values, rows);
  }
  out += '}';
}

}  // namespace

void append_rows(std::string& out, const row_set& rows, const std::vector<const key_entry*>& keys) {
  append_rows(out, rows, keys, nullptr);
}

void append_compact_rows(std::string& out, const row_set& rows, const std::vector<const key_entry*>& keys) {
  std::string shared = "{";
  append_rows(out, rows, keys, &shared);
  if (shared.size() > 1) out += ",\"shared\":" + shared + "}";
}

void append_members(std::string& out, const captured_rows& rows) {
  out += "\"node\":";
  append_json_string(out, rows.node);
  append_json_member(out, "side", capture_side_names[static_cast<std::size_t>(rows.side)]);
  const auto add = [&out](std::string_view name, std::string_view text) {
    if (text.empty()) return;
    append_json_member(out, name, text);
  };
  add("of", rows.source);
  add("state", to_string(rows.state));
  add("code", rows.failure);
  add("used", rows.used);
  add("fused_with", rows.fused_with);
  if (!rows.rows) return;
  append_rows(out, *rows.rows, rows.keys);
  append_json_count(out, "cut", rows.cut);
}

auto captured_for_request(const run_picture& run, const registries& declared) -> std::vector<captured_rows> {
  capturer all(run, declared, max_captured_rows);
  const auto& nodes = run.state.plan->nodes;
  for (const asked_capture& asked : run.state.request.captures)
    if (const auto node = std::ranges::find(nodes, asked.node, &bound_node::node_id); node != nodes.end())
      all.add(static_cast<node_index>(node - nodes.begin()), asked.what);
  return all.take();
}

auto captures_request(const bound_plan& plan, std::string_view request_id) -> bool {
  double share = 0;
  for (const node_index node : plan.captures) share = std::max(share, plan.stated->nodes[node].capture->sample);
  return share > 0 && is_sampled(request_id, share);
}

auto captured_by_plan(const run_picture& run, const registries& declared) -> std::vector<captured_rows> {
  const bound_plan& plan = *run.state.plan;
  std::vector<captured_rows> out;
  for (const node_index node : plan.captures) {
    const node_capture& what = *plan.stated->nodes[node].capture;
    if (!is_sampled(run.state.request.request_id, what.sample)) continue;
    capturer one(run, declared, std::numeric_limits<std::size_t>::max());
    one.add(node, what.what);
    for (captured_rows& each : one.take()) out.push_back(std::move(each));
  }
  return out;
}

auto is_sampled(std::string_view request_id, double share) -> bool {
  if (share >= 1) return true;
  constexpr double all = 0x1p64;
  return static_cast<double>(sha256_head(request_id)) < share * all;
}

}  // namespace rankd
